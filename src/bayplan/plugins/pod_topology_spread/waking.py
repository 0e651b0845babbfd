"""Which events may cure a pod that would have made the spread too uneven."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from bayplan.framework.events import Hint

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.model.node import Node
    from bayplan.model.pod import Pod
    from bayplan.plugins.pod_topology_spread.constraints import Constraint

Constraints = tuple["Constraint", ...]


def after_pod_change(
    pod: PodInfo, constraints: Constraints, old: Pod | None, new: Pod | None
) -> Hint:
    """A pod came, went or got other labels; or the pending pod got other tolerations."""
    if any(other is not None and not _is_involved(other, pod) for other in (new, old)):
        return Hint.SKIP
    if new is None or old is None:
        other = old if new is None else new
        assert other is not None
        return _queue_if(_is_counted(constraints, other.metadata.labels))
    if (
        new.metadata.uid == pod.uid
        and new.spec.tolerations != old.spec.tolerations
        and any(constraint.honors_taints for constraint in constraints)
    ):
        return Hint.QUEUE
    return _queue_if(
        any(
            c.selector.matches(old.metadata.labels) != c.selector.matches(new.metadata.labels)
            for c in constraints
        )
    )


def after_node_change(constraints: Constraints, old: Node | None, new: Node | None) -> Hint:
    """A node came, went, or got other labels or taints."""
    before = old is not None and _has_labels(old.metadata.labels, constraints)
    after = new is not None and _has_labels(new.metadata.labels, constraints)
    if old is None or new is None:
        return _queue_if(before or after)
    if before != after:
        return Hint.QUEUE
    moved = any(
        old.metadata.labels.get(c.key, "") != new.metadata.labels.get(c.key, "")
        for c in constraints
    )
    return _queue_if(after and (moved or old.spec.taints != new.spec.taints))


def _is_involved(other: Pod, pod: PodInfo) -> bool:
    if other.metadata.uid == pod.uid:
        return True
    if not other.spec.node_name and not other.status.nominated_node_name:
        return False
    return other.metadata.namespace == pod.namespace


def _is_counted(constraints: Iterable[Constraint], labels: Mapping[str, str]) -> bool:
    return any(constraint.selector.matches(labels) for constraint in constraints)


def _has_labels(labels: Mapping[str, str], constraints: Iterable[Constraint]) -> bool:
    return all(constraint.key in labels for constraint in constraints)


def _queue_if(condition: bool) -> Hint:  # noqa: FBT001 - a plain yes or no
    return Hint.QUEUE if condition else Hint.SKIP
