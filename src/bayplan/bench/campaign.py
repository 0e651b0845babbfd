"""All runs of a benchmark: workload by workload, in each of them round by round, all schedulers in every round.

Interleaved, so that whatever else the machine does meets all of them. Called by ``cli.bench``.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bayplan.bench.scene import Scene
from bayplan.bench.trial import Mode, Result, Setting, prepare, run
from bayplan.bench.workload import Workload
from bayplan.clock import Clock


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be run."""

    workloads: Sequence[Workload]
    modes: Sequence[Mode]
    schedulers: Sequence[str]
    rounds: int

    @property
    def runs(self) -> int:
        return len(self.workloads) * len(self.modes) * len(self.schedulers) * self.rounds


#: Told what is being done, how many pods of it are bound and how many there are.
Progress = Callable[[str, int, int], None]


def carry_out(plan: Plan, clock: Clock, progress: Progress) -> Iterator[Result]:
    """The results, as they come."""
    for workload in plan.workloads:
        for mode in plan.modes:
            scene = Scene(workload)
            with tempfile.TemporaryDirectory(prefix="bayplan-bench-") as folder:
                yield from _rounds(plan, scene, mode, Path(folder), clock, progress)


def _rounds(
    plan: Plan, scene: Scene, mode: Mode, folder: Path, clock: Clock, progress: Progress
) -> Iterator[Result]:
    name, wanted = scene.workload.name, sum(1 for _ in scene.measured())
    progress(f"{name}: creating nodes and pods", 0, wanted)
    start_from = prepare(scene, mode, folder / "prepared", clock)
    for number in range(plan.rounds):
        for scheduler in plan.schedulers:
            what = f"{name}, {mode}, {scheduler}, round {number + 1} of {plan.rounds}"
            place = folder / f"{scheduler}-{number}"
            progress(what, 0, wanted)
            on_progress = partial(_tell, progress, what, wanted)
            yield run(Setting(scene, mode, scheduler), start_from, place, clock, on_progress)
            shutil.rmtree(place)


def _tell(progress: Progress, what: str, wanted: int, bound: int) -> None:
    progress(what, bound, wanted)
