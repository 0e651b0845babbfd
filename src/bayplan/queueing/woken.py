"""Which of the parked pods an event wakes: each plugin that turned pods down is asked, class by class.

Called by ``queueing.scheduling`` for every event that somebody wants to hear of; nothing is moved here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from bayplan.queueing.hints import Listener, OneOfMany, Strategy

if TYPE_CHECKING:
    from bayplan.framework.events import ClusterEvent
    from bayplan.queueing.entry import Queued
    from bayplan.queueing.parked import Parked


def woken_by(
    event: ClusterEvent,
    listeners: tuple[Listener, ...],
    parked: Parked,
    perhaps_let_in: Callable[[Iterable[Queued], str, str], list[Queued]],
    judge: Callable[[Queued, ClusterEvent], Strategy],
) -> dict[Queued, Strategy]:
    """The pods that deserve another attempt; all are judged before any is moved.

    Args:
        event: what happened.
        listeners: the plugins that want to hear of it.
        parked: the pods that wait.
        perhaps_let_in: those of the pods behind a gate whose gate may be open now; plugin and profile say which gate.
        judge: what the event means for one pod.
    """
    woken: dict[Queued, Strategy] = {}
    for listener in listeners:
        for alike in parked.pending(listener.profile, listener.name):
            _ask(listener, event, alike, woken, Strategy.IMMEDIATELY)
    for listener in listeners:
        for alike in parked.unschedulable(listener.profile, listener.name):
            _ask(listener, event, alike, woken, Strategy.AFTER_BACKOFF)
    for listener in listeners:
        # Only what its gate wants to hear of can open it.
        gated = parked.gated_by(listener.profile, listener.name)
        # A thousand pods may wait for their victims to go, each of which is such an event.
        for queued in perhaps_let_in(gated, listener.name, listener.profile):
            if strategy := judge(queued, event):
                woken[queued] = strategy
    return woken


def _ask(
    listener: Listener,
    event: ClusterEvent,
    alike: Mapping[Queued, None],
    woken: dict[Queued, Strategy],
    strategy: Strategy,
) -> None:
    """Ask a plugin of one class of pods; of each of them only where it looks at what sets them apart."""
    if len(alike) > 1:
        one = OneOfMany(next(iter(alike)).pod, event)
        said = listener.says_queue(one, event)
        if not one.asked_apart:
            if said:
                for queued in alike:
                    woken.setdefault(queued, strategy)
            return
    # Copied: hints are foreign code, and what they set in motion may come back to the queue.
    for queued in tuple(alike):
        if queued not in woken and listener.says_queue(queued.pod, event):
            woken[queued] = strategy
