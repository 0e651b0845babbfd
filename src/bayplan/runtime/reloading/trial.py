"""Trying a new configuration on pods before it is taken over: does it decide at all, and what does it decide otherwise?

Run by ``reloader``. Nothing comes of a trial: plugins are read-only while they judge, and the dice that are thrown are others.
It goes on in slices, so that the pods that are being scheduled meanwhile wait little.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

from bayplan.cycle import custom
from bayplan.cycle.attempt import evaluate
from bayplan.errors import PluginError
from bayplan.framework.dice import Dice

if TYPE_CHECKING:
    from bayplan.clock import Clock
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cycle.desk import Desk
    from bayplan.cycle.record import Decision
    from bayplan.runtime.scheduler import Scheduler

#: The length of a slice; as long again everybody else has their turn.
SLICE_S: Final = 0.020


@dataclass(slots=True)
class Trial:
    """What came of it."""

    pods: int = 0
    #: Pods that fit now and would not, and the other way round.
    lost: int = 0
    won: int = 0
    #: What plugins of the new configuration broke, where the present ones break nothing.
    errors: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        text = f"{self.pods} pods tried"
        if self.lost or self.won:
            text += f", {self.lost} fit no more, {self.won} fit now"
        return text


def pods_to_try(scheduler: Scheduler, most: int) -> list[PodInfo]:
    """Pending pods, each class of alike ones once; where there are few, pods that were decided lately, too."""
    desks = [counter.desk for counter in scheduler.counters.values()]
    lately = (decision.pod for desk in desks[:1] for decision in reversed(list(desk.ring)))
    waiting = (queued.pod for queued in scheduler.board.queue.pods())
    return list(islice(_unlike(waiting, lately), most))


def _unlike(*pods: Iterable[PodInfo]) -> Iterator[PodInfo]:
    seen = set()
    for several in pods:
        for pod in several:
            if pod.alike not in seen:
                seen.add(pod.alike)
                yield pod


async def try_out(
    desks: Mapping[str, Desk], present: Mapping[str, Desk], pods: Iterable[PodInfo], clock: Clock
) -> Trial:
    """Decide pods by new desks, and by the present ones for comparison."""
    trial = Trial()
    ends = clock.monotonic() + SLICE_S
    for pod in pods:
        name = pod.spec.scheduler_name or "default-scheduler"
        if name not in desks:
            continue
        if clock.monotonic() >= ends:
            await asyncio.sleep(SLICE_S)
            ends = clock.monotonic() + SLICE_S
        trial.pods += 1
        _compare(pod, desks[name], present.get(name), trial)
    return trial


def _compare(pod: PodInfo, new: Desk, present: Desk | None, trial: Trial) -> None:
    error: PluginError | None = None
    fits = fitted = False
    try:
        fits = look(pod, new).fits
    except PluginError as raised:
        error = raised
    if present is not None:
        try:
            fitted = look(pod, present).fits
        except PluginError:
            return  # no worse than before
    if error is not None:
        trial.errors.append(f"{pod.key}: {error}")
    elif present is not None:
        trial.lost += fitted and not fits
        trial.won += fits and not fitted


def look(pod: PodInfo, desk: Desk) -> Decision:
    """What a desk would decide, without anything coming of it.

    Raises:
        PluginError: a plugin failed.
    """
    dice, desk.dice = desk.dice, Dice(0)
    desk.handle.deciding = True
    try:
        if desk.algorithm is not None:
            return custom.decide(pod, desk.algorithm, desk.profile, desk.view)
        return evaluate(pod, desk)
    finally:
        desk.handle.deciding = False
        desk.dice = dice
