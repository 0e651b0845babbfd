"""The three ways to write a group of pods, each read into one ``Group``.

What an API has no field for is an annotation on the group: the domain that all its members are to share. Our own spelling
goes before Kueue's, which is read as well so that a job need not be written twice.

Fed by whoever watches groups or reads them from a dump; read by ``cluster.gangs``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from bayplan.model.groups import CoschedulingPodGroup, CoschedulingStatus, PodGroup
from bayplan.model.pod_group import Group, GroupApi, GroupKey, GroupStatus, GroupTopology

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

#: The label of nodes whose value all members are to share.
TOPOLOGY: Final = "bayplan.io/gang-topology"
#: ``required``, which is meant where it is missing, or ``preferred``.
TOPOLOGY_MODE: Final = "bayplan.io/gang-topology-mode"

_REQUIRED_BY_KUEUE: Final = "kueue.x-k8s.io/podset-required-topology"
_PREFERRED_BY_KUEUE: Final = "kueue.x-k8s.io/podset-preferred-topology"
#: Volcano and Kueue users say it otherwise.
_PREFERRED: Final = frozenset({"preferred", "soft"})

#: Of a native group: its pods go together or stay together.
_WHOLE: Final = "PodGroup"


def group_from(
    written: PodGroup | CoschedulingPodGroup, api: GroupApi = GroupApi.COSCHEDULING
) -> Group:
    """The group that an object stands for; ``api`` tells the two forms of the coscheduling plugin apart."""
    match written:
        case PodGroup():
            return _native(written)
        case CoschedulingPodGroup():
            return _coscheduling(written, api)
    assert_never(written)


def _native(written: PodGroup) -> Group:
    meta, spec = written.metadata, written.spec
    constraints = spec.scheduling_constraints
    # The API allows one constraint at most.
    keys = [one.key for one in constraints.topology if one.key] if constraints else []
    return Group(
        key=GroupKey(meta.namespace, meta.name, native=True),
        api=GroupApi.NATIVE,
        min_member=written.min_count,
        priority=spec.priority,
        priority_class=spec.priority_class_name,
        topology=GroupTopology(keys[0]) if keys else topology_of(meta.annotations),
        disrupted_whole=spec.disruption_mode == _WHOLE,
        uid=meta.uid,
        resource_version=meta.resource_version,
        created=_seconds(meta.creation_timestamp) or 0.0,
        terminating=written.is_terminating,
        status=GroupStatus(conditions=written.status.conditions),
    )


def _coscheduling(written: CoschedulingPodGroup, api: GroupApi) -> Group:
    meta, spec = written.metadata, written.spec
    timeout = spec.schedule_timeout_seconds
    return Group(
        key=GroupKey(meta.namespace, meta.name),
        api=api,
        min_member=spec.min_member,
        min_resources=spec.min_resources,
        # The plugin takes zero and less for "not given", and so do manifests written for it.
        timeout_s=float(timeout) if timeout is not None and timeout > 0 else None,
        topology=topology_of(meta.annotations),
        uid=meta.uid,
        resource_version=meta.resource_version,
        created=_seconds(meta.creation_timestamp) or 0.0,
        terminating=written.is_terminating,
        status=_status(written.status),
    )


def _status(status: CoschedulingStatus) -> GroupStatus:
    return GroupStatus(
        phase=status.phase,
        running=status.running,
        succeeded=status.succeeded,
        failed=status.failed,
        schedule_start_time=_seconds(status.schedule_start_time),
    )


def topology_of(annotations: Mapping[str, str]) -> GroupTopology | None:
    """What a group's annotations ask for; a mode that nobody knows is the stricter one."""
    if key := annotations.get(TOPOLOGY):
        mode = annotations.get(TOPOLOGY_MODE, "").strip().lower()
        return GroupTopology(key, required=mode not in _PREFERRED)
    if key := annotations.get(_REQUIRED_BY_KUEUE):
        return GroupTopology(key)
    if key := annotations.get(_PREFERRED_BY_KUEUE):
        return GroupTopology(key, required=False)
    return None


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
