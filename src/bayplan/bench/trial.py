"""One run: one scheduler, one workload, one API server of its own.

What is there before is created once per workload and kept as etcd's files (``prepare``); every run starts from a copy, so
that all schedulers find the same. Called by ``campaign``.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from bayplan.bench import gangs
from bayplan.bench.audit import audit
from bayplan.bench.costs import Cost, cost_of
from bayplan.bench.filling import create, create_all
from bayplan.bench.meanwhile import keep_creating
from bayplan.bench.recorder import Recorder
from bayplan.bench.scene import PROBE, New, Scene, pod, pods_in
from bayplan.bench.subjects import SUBJECTS
from bayplan.bench.workload import PodShape
from bayplan.client.api import Api
from bayplan.client.config import load
from bayplan.clock import Clock
from bayplan.errors import BayplanError
from bayplan.testing.control_plane import ControlPlane, Process
from bayplan.testing.control_plane.users import ADMINISTRATORS

Mode = Literal["drain", "stream"]

#: As much as a control plane of this size would be allowed, and no less for anybody.
API_FLAGS: Final = ("--max-requests-inflight=4000", "--max-mutating-requests-inflight=2000")
#: Until a scheduler has placed one pod that has a cluster to itself.
_PROBE_S: Final = 45.0
#: A run that takes longer is broken off and counted as far as it came.
_TIMEOUT_S: Final = 600.0


class NotMeasured(BayplanError):
    """A run that gives no figures."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one run."""

    workload: str
    mode: Mode
    scheduler: str
    wanted: int
    bound: int
    #: When pods were bound, in seconds after the start; ascending.
    times: list[float] = field(repr=False)
    #: From creation to bound, or from the start where they were there before; ascending.
    latencies: list[float] = field(repr=False)
    scheduler_cost: Cost
    api_cost: Cost
    #: What is wrong with the outcome.
    wrong: list[str]
    #: Whether much is to be written before the first pod can be bound, as in preemption: then the start counts.
    from_start: bool = False
    #: When gangs were complete, in seconds after the start, ascending; None where pods are in none.
    gangs: list[float] | None = field(default=None, repr=False)


def prepare(scene: Scene, mode: Mode, folder: Path, clock: Clock) -> Path:
    """A folder with etcd's files in which everything is that a run starts from."""
    with _plane(scene, folder, clock) as plane:
        asyncio.run(_fill(plane, scene, mode, clock))
    return folder / "etcd"


async def _fill(plane: ControlPlane, scene: Scene, mode: Mode, clock: Clock) -> None:
    async with _api(plane, clock) as api:
        for objects in (scene.foundation(), scene.groups(), scene.nodes(), scene.before()):
            await create_all(api, objects)
        if mode == "drain":
            await create_all(api, scene.measured())


@dataclass(frozen=True, slots=True)
class Setting:
    """What a run is of."""

    scene: Scene
    mode: Mode
    scheduler: str


def run(
    setting: Setting,
    start_from: Path,
    folder: Path,
    clock: Clock,
    on_progress: Callable[[int], None],
) -> Result:
    """Measure one scheduler; ``start_from`` is what ``prepare`` gave."""
    shutil.copytree(start_from, folder / "etcd")
    with _plane(setting.scene, folder, clock) as plane:
        trial = _Trial(plane, setting, clock)
        trial.recorder.on_progress = on_progress
        result = asyncio.run(trial.run())
    shutil.rmtree(folder / "etcd")
    return result


class _Trial:
    def __init__(self, plane: ControlPlane, setting: Setting, clock: Clock) -> None:
        self.recorder = Recorder(clock)
        self._plane = plane
        self._scene = setting.scene
        self._mode = setting.mode
        self._scheduler = setting.scheduler
        self._clock = clock
        self._wanted = sum(1 for _ in setting.scene.measured())

    async def run(self) -> Result:
        async with _api(self._plane, self._clock) as api, asyncio.TaskGroup() as tasks:
            following = [await self.recorder.watch(api, self._scene.workload.namespace, tasks)]
            try:
                return await self._measure(api, following, tasks)
            finally:
                for task in following:
                    task.cancel()

    async def _measure(
        self, api: Api, following: list[asyncio.Task[None]], tasks: asyncio.TaskGroup
    ) -> Result:
        workload, recorder, clock = self._scene.workload, self.recorder, self._clock
        before = {name: cost_of(pid) for name, pid in self._plane.pids.items()}
        process = SUBJECTS[self._scheduler](self._plane, workload)
        start = clock.monotonic()
        if self._mode == "stream":
            await self._until_it_binds(api, process)
            before = {name: cost_of(pid) for name, pid in self._plane.pids.items()}
            start = clock.monotonic()
        following += keep_creating(api, workload, tasks)
        if self._mode == "stream":
            await create_all(api, self._scene.measured())
        await recorder.wait(
            lambda: recorder.bound >= self._wanted or not process.running,
            _TIMEOUT_S,
            workload.patience_s,
        )
        api_cost = cost_of(self._plane.pids["kube-apiserver"]).since(before["kube-apiserver"])
        cost = cost_of(process.pid)
        # Where it does not run any more, that is what went wrong.
        problems = []
        if not process.running:
            problems.append(f"it ended with {process.exit_code}: {process.tail(3)}")
        process.stop()
        problems += await audit(api, recorder)
        if workload.gang_size:
            problems += gangs.partial(recorder.pods, workload.gang_size)
        return self._result(start, cost, api_cost, problems)

    async def _until_it_binds(self, api: Api, process: Process) -> None:
        """A scheduler is ready for the stream once it has placed one pod."""
        recorder = Recorder(self._clock)
        async with asyncio.TaskGroup() as tasks:
            following = await recorder.watch(api, PROBE, tasks)
            await create(api, New(pods_in(PROBE), pod(PROBE, "probe", PodShape())))
            bound = await recorder.wait(lambda: recorder.bound > 0, _TIMEOUT_S, _PROBE_S)
            following.cancel()
        if not bound:
            raise NotMeasured(f"{self._scheduler} bound nothing at all:\n{process.tail()}")

    def _result(self, start: float, cost: Cost, api_cost: Cost, problems: list[str]) -> Result:
        bound = [seen for seen in self.recorder.pods.values() if seen.bound]
        size = self._scene.workload.gang_size
        complete = gangs.completed(self.recorder.pods, size) if size else []
        return Result(
            workload=self._scene.workload.name,
            mode=self._mode,
            scheduler=self._scheduler,
            wanted=self._wanted,
            bound=len(bound),
            times=sorted(seen.bound - start for seen in bound),
            latencies=sorted(seen.bound - max(seen.came, start) for seen in bound),
            scheduler_cost=cost,
            api_cost=api_cost,
            wrong=problems,
            from_start=bool(self._scene.workload.victims),
            gangs=[moment - start for moment in complete] if size else None,
        )


def _plane(scene: Scene, folder: Path, clock: Clock) -> ControlPlane:
    """With what the workload needs switched on, for all schedulers alike."""
    flags = (*API_FLAGS, *(gangs.API_FLAGS if scene.workload.gang_size else ()))
    return ControlPlane(folder, clock=clock, api_flags=flags)


@contextlib.asynccontextmanager
async def _api(plane: ControlPlane, clock: Clock) -> AsyncIterator[Api]:
    login = plane.user("bench", [ADMINISTRATORS]).kubeconfig
    api = Api.open(load(kubeconfig=login), clock, random.Random(0))
    try:
        yield api
    finally:
        await api.close()
