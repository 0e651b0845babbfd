"""Annotations that a binding puts on its pod: the time it took, the shared GPUs it got and, where it asks, why this node.

Filled by ``runtime.binding`` around each Bind; read when the request is built. The API server merges them into the pod,
so that they cost no call of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from bayplan.clock import Clock
    from bayplan.cycle.record import Decision

#: Seconds from the first attempt to the binding.
LATENCY: Final = "bayplan.io/schedulerLatency"
#: ``true`` on a pod asks for it; the binding answers under the same name.
WHY: Final = "bayplan.io/why"
#: Which reading of the configuration decided; 1 is that of the start.
GENERATION: Final = "bayplan.io/generation"
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class Notes:
    """The annotations of the bindings under way, by uid."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._notes: dict[str, dict[str, str]] = {}

    def of(self, uid: str) -> Mapping[str, str]:
        """What the binding of this pod is to carry."""
        return self._notes.get(uid, {})

    @contextmanager
    def about(
        self, decision: Decision, began: float, devices: Mapping[str, str] = _NOTHING
    ) -> Iterator[None]:
        """Have the annotations at hand while Bind runs; ``began``: the first attempt, monotonic."""
        pod = decision.pod
        notes = {
            LATENCY: f"{self._clock.monotonic() - began:.6f}s",
            GENERATION: str(decision.evaluation.plan.profile.generation),
            **devices,
        }
        if pod.annotations.get(WHY) == "true":
            notes[WHY] = json.dumps(why(decision), separators=(",", ":"))
        self._notes[pod.uid] = notes
        try:
            yield
        finally:
            self._notes.pop(pod.uid, None)


def why(decision: Decision) -> dict[str, Any]:
    """The choice in short: what the node scored by plugin, how many were as good, why the others were out."""
    picture = decision.picture()
    scores = picture.scores(decision.chosen)
    return {
        "node": decision.node,
        "score": sum(score.weighted for score in scores.values()),
        "scores": {name: score.weighted for name, score in scores.items() if score.weighted},
        "equals": decision.ties,
        "rejected": dict(picture.reasons()),
    }
