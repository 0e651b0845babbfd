"""What is new about a pod, aspect by aspect; and a pod as it was, made again from what is kept of it.

No Pod object is kept once it has been taken in, yet hints compare before and after. Used by the queue for pods that wait and by
``runtime.ingest`` for placed ones. (upstream: framework/events.go PodSchedulingPropertiesChange)
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import msgspec

from bayplan.framework.events import Action
from bayplan.model.meta import Condition, ObjectMeta
from bayplan.model.pod import Pod, PodStatus

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo

#: When a deletion began is not kept, only that it did.
_SOME_TIME: Final = datetime.fromtimestamp(0, UTC)
_DISRUPTED: Final = Condition("DisruptionTarget", "True", "PreemptionByScheduler")


def changes(before: PodInfo, after: PodInfo) -> list[Action]:
    """The aspects that changed; where none that has a name did, a change it was nevertheless."""
    found = []
    if before.labels != after.labels:
        found.append(Action.UPDATE_POD_LABEL)
    if before.shape is not after.shape:
        asked, asks = before.shape.placed.requests, after.shape.placed.requests
        if any(amount > asks.get(name, -1) for name, amount in asked.items()):
            found.append(Action.UPDATE_POD_SCALE_DOWN)
        if before.spec.scheduling_gates and not after.spec.scheduling_gates:
            found.append(Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
        # Tolerations can be added, and neither changed nor taken away.
        if len(before.spec.tolerations) != len(after.spec.tolerations):
            found.append(Action.UPDATE_POD_TOLERATION)
    return found or [Action.UPDATE]


def pod_of(info: PodInfo) -> Pod:
    """The pod that an info was made from, as far as hints read it."""
    spec = info.spec
    if info.node_name:
        spec = msgspec.structs.replace(spec, node_name=info.node_name)
    return Pod(
        metadata=ObjectMeta(
            name=info.name,
            namespace=info.namespace,
            uid=info.uid,
            resource_version=info.resource_version,
            labels=dict(info.labels),
            annotations=dict(info.annotations),
            deletion_timestamp=_SOME_TIME if info.terminating else None,
            owner_references=(info.owner,) if info.owner is not None else (),
        ),
        spec=spec,
        status=PodStatus(
            nominated_node_name=info.nominated_node,
            conditions=(_DISRUPTED,) if info.disrupted else (),
        ),
    )
