"""``/debug/decisions/NAMESPACE/NAME``: one pod's story: where it waits, every attempt, why here, why not there, what would help.

The history is read where it is; the explanation takes long, and trying what would help changes the cluster: that is done in a
copy of the process (``runtime.aside``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from bayplan.errors import BayplanError
from bayplan.queueing.entry import DEFAULT_SCHEDULER
from bayplan.runtime.aside import Work
from bayplan.runtime.what_if import explanations
from bayplan.serve.debug.attempts import history_of, told
from bayplan.serve.debug.queue import under_way, waits
from bayplan.serve.debug.times import Times
from bayplan.serve.refusal import RefusedError
from bayplan.sim.explanation_json import to_json

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.framework.config import Configuration
    from bayplan.queueing.history import History
    from bayplan.runtime.chronicle import Try
    from bayplan.runtime.scheduler import Scheduler

Ask = Callable[[Work], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of a pod."""

    key: str
    #: Look closely at this one.
    node: str = ""
    #: Of fitting and of other nodes at most so many each; None: all.
    most: int | None = 20


async def pod_page(scheduler: Scheduler, config: Configuration, wanted: Wanted, ask: Ask) -> bytes:
    """The page.

    Raises:
        RefusedError: there is no such pod, or no such node.
    """
    times = Times(scheduler.board.clock)
    tries = scheduler.board.chronicle.of(wanted.key)
    pod = _find(scheduler, wanted.key)
    story = _story(scheduler, wanted.key, pod, tries, times)
    if pod is not None:
        await _explain(story, scheduler, config, pod, wanted, ask)
    return msgspec.json.encode(story) + b"\n"


# --- what is known without asking -------------------------------------------------------------------------------------


def _find(scheduler: Scheduler, key: str) -> PodInfo | None:
    """The pod, pending or placed."""
    pending = scheduler.pods.pending.get(key)
    if pending is not None:
        return pending
    cluster = scheduler.board.cluster
    row = cluster.pods.row_of.get(key)
    if row is None:
        return None
    return cluster.pods.info(row, cluster.nodes.names[int(cluster.pods.node_row.data[row])])


def _story(
    scheduler: Scheduler, key: str, pod: PodInfo | None, tries: list[Try], times: Times
) -> dict[str, Any]:
    queued = scheduler.board.queue.get(key)
    if pod is None and queued is None and not tries:
        raise RefusedError(404, _unknown(scheduler, key))
    history: History | None = queued.history if queued is not None else None
    story: dict[str, Any] = {"pod": key, "time": times.at(times.now), "state": "gone"}
    if queued is not None:
        story |= {"state": queued.place.value, "queue": waits(queued, times)}
    elif tries and not tries[-1].result:
        story |= {"state": tries[-1].stage, "inFlight": under_way(tries[-1], times)}
    elif pod is not None and pod.node_name:
        story |= {"state": "placed", "node": pod.node_name}
    elif pod is not None:
        story["state"] = "deciding"
    if history is None and tries:
        history = tries[-1].history
    if history is not None:
        story["history"] = history_of(history, times)
    story["latest"] = [told(attempt, times) for attempt in tries if attempt.result]
    return story


def _unknown(scheduler: Scheduler, key: str) -> str:
    names = ", ".join(sorted(scheduler.counters))
    if key in scheduler.pods.foreign:
        return f"pod {key} waits for another scheduler; this one serves {names}"
    return f"there is no pod {key} that waits for {names}, and none on a node"


# --- what has to be asked ---------------------------------------------------------------------------------------------


async def _explain(
    story: dict[str, Any],
    scheduler: Scheduler,
    config: Configuration,
    pod: PodInfo,
    wanted: Wanted,
    ask: Ask,
) -> None:
    name = pod.spec.scheduler_name or DEFAULT_SCHEDULER
    counter = scheduler.counters.get(name) or next(iter(scheduler.counters.values()))
    profile = config.profile(counter.desk.profile.name)
    if profile is None:
        return
    tries = scheduler.board.chronicle.of(wanted.key)
    kept = next((t for t in reversed(tries) if t.decision is not None and t.decision.kept), None)
    if kept is not None and kept.pod.uid != pod.uid:
        kept = None  # of a predecessor of the same name
    decision = kept.decision if kept is not None else None
    desk = counter.desk

    def work() -> Iterator[bytes]:
        try:
            for told_so_far in explanations(pod, desk, profile, decision, wanted.node):
                yield msgspec.json.encode(to_json(told_so_far, wanted.most))
        except BayplanError as error:
            yield msgspec.json.encode({"error": str(error)})

    try:
        answer = await ask(work)
    except BayplanError as error:
        story["trouble"] = str(error)
        return
    explanation = msgspec.json.decode(answer)
    if "error" in explanation:
        story["trouble"] = explanation["error"]
        return
    if kept is not None:
        explanation["asOf"] = Times(scheduler.board.clock).at(kept.decided_at)
    story["explanation"] = explanation
