"""PreemptionToleration: preemption that leaves pods alone for a while, as their PriorityClass has it.

Reads:  two annotations of the PriorityClass of each pod that could be evicted,

        ``preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority``
            pods of this priority or a higher one may evict them at once; by default one above their own;
        ``preemption-toleration.scheduling.x-k8s.io/toleration-seconds``
            so long after their start pods of lower priority may not; by default 0, below 0 for ever;

        and else what DefaultPreemption reads.
Says:   what DefaultPreemption says, of the pods that may go.

Put it in DefaultPreemption's place at postFilter. The rules are those of the plugin of this name in Kubernetes'
scheduler-plugins; the time runs from the pod's start, which follows its binding by a moment. An annotation that cannot be
read, or a class that is gone, protects nobody.
"""

from __future__ import annotations

import math
import re
from typing import Final

import numpy as np

from bayplan import (
    CycleState,
    Mask,
    PlacedPods,
    PodInfo,
    PreemptionPlugin,
    PriorityClass,
    Reads,
    Resource,
)

PREFIX: Final = "preemption-toleration.scheduling.x-k8s.io/"
MINIMUM: Final = f"{PREFIX}minimum-preemptable-priority"
SECONDS: Final = f"{PREFIX}toleration-seconds"
NOT_AT_ALL: Final = 0.0
FOR_EVER: Final = math.inf


class PreemptionToleration(PreemptionPlugin):
    """Evicts pods of lower priority that do not tolerate it."""

    reads = Reads.NOTHING
    watches = (Resource.PRIORITY_CLASS,)

    def evictable(self, pod: PodInfo, others: PlacedPods, state: CycleState) -> Mask:
        view = self.handle.view
        tolerated_s = others.by_spec(
            lambda spec: toleration_s(view.priority_class(spec.priority_class_name), pod.priority)
        )
        # A pod that has not started has all its time before it.
        age_s = np.nan_to_num(self.handle.now() - others.started, nan=0.0)
        may_go: Mask = (others.priority < pod.priority) & (
            (tolerated_s == 0) | (age_s >= tolerated_s)
        )
        return may_go


def toleration_s(found: PriorityClass | None, preemptor: int) -> float:
    """For how long after their start pods of a class are safe from a preemptor of this priority."""
    if found is None:
        return NOT_AT_ALL
    written = found.metadata.annotations
    minimum = number(written.get(MINIMUM, str(found.value + 1)), bits=32)
    seconds = number(written.get(SECONDS, "0"), bits=64)
    if minimum is None or seconds is None or preemptor >= minimum:
        return NOT_AT_ALL
    return FOR_EVER if seconds < 0 else float(seconds)


def number(text: str, bits: int) -> int | None:
    """An integer as Go reads it; None where it is none, or does not fit."""
    if not re.fullmatch(r"[+-]?[0-9]{1,20}", text):
        return None
    value = int(text)
    return value if -(1 << bits - 1) <= value < 1 << bits - 1 else None
