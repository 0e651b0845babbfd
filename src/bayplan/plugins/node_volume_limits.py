"""NodeVolumeLimits: a node takes so many volumes of a CSI driver and no more.

Reads:  the pod's claims and in-tree volumes; limits of CSINodes, volumes of the pods on each node, VolumeAttachments.
Says:   one bool per node. A pod with volumes may be evicted, so it is UNSCHEDULABLE; a claim that does not exist is
        UNRESOLVABLE, one that is not what it should be an ERROR.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.cluster import csi_migration, pod_volumes
from bayplan.cluster.attachments import uses_of
from bayplan.cluster.changes import Reads
from bayplan.cluster.csi_nodes import NO_LIMIT, limits_of
from bayplan.cluster.pod_volumes import InlineVolume
from bayplan.cluster.view import TrialNodes
from bayplan.framework.events import Action, Hint, Resource, WakeOn
from bayplan.framework.plugin import FilterPlugin, PreFilterPlugin
from bayplan.framework.state import StateKey
from bayplan.framework.status import (
    SKIP,
    Code,
    Mask,
    Rejected,
    Skip,
    Verdicts,
    unresolvable,
)

if TYPE_CHECKING:
    from bayplan.cluster.csi_migration import CSIVolume
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.storage import Storage
    from bayplan.cluster.view import ClusterView, Nodes
    from bayplan.framework.state import CycleState
    from bayplan.model.pod import Pod
    from bayplan.model.storage import CSINode, PersistentVolumeClaim, VolumeAttachment


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the pod brings to a node."""

    volumes: frozenset[CSIVolume] = frozenset()
    #: What is wrong with its claims, on any node.
    problem: Rejected | None = None
    #: What is wrong with its in-tree volumes, on nodes with a CSINode.
    inline_problem: Rejected | None = None


_WANTED: Final = StateKey[_Wanted]("NodeVolumeLimits")
_FULL: Final = Rejected("node(s) exceed max volume count")


class NodeVolumeLimits(PreFilterPlugin, FilterPlugin):
    """Keeps nodes that can hold the pod's volumes in addition to those they have."""

    name = "NodeVolumeLimits"
    reads = Reads.VOLUMES | Reads.STORAGE
    rejection = _FULL

    def sign(self, pod: PodInfo) -> Hashable:
        """Claims of generic ephemeral volumes are named after their pod and owned by it."""
        return (pod.name, pod.uid) if pod_volumes.of(pod).has_ephemeral else None

    def stamp(self, pod: PodInfo, view: ClusterView, state: CycleState) -> Hashable:
        """Pods without such volumes need not care about storage."""
        return view.versions(Reads.STORAGE) if pod_volumes.of(pod).attached else None

    def prefilter(self, pod: PodInfo, view: ClusterView, state: CycleState) -> Skip | None:
        if not pod_volumes.of(pod).attached:
            return SKIP
        state[_WANTED] = _wanted(pod, view.cluster.storage)
        return None

    def filter(
        self, pod: PodInfo, nodes: Nodes, state: CycleState
    ) -> Mask | Verdicts | Rejected | None:
        wanted = state[_WANTED]
        storage = nodes.cluster.storage
        storage.csi_nodes.refresh(nodes.cluster.nodes)
        if wanted.inline_problem is not None:
            return _only_without_csi_node(wanted, nodes)
        if wanted.problem is not None:
            return wanted.problem
        if not wanted.volumes or not storage.csi_nodes.limited_drivers():
            return None
        storage.attachments.refresh(nodes.cluster.nodes)
        mask = _room(wanted.volumes, nodes)
        problems = _uncountable(nodes)
        if isinstance(nodes, TrialNodes) and nodes.supposed:
            _suppose(wanted.volumes, nodes, mask, problems)
        return _with_problems(mask, problems) if problems else mask

    def wakes_on(self) -> Sequence[WakeOn]:
        return (
            WakeOn(Resource.CSI_NODE, Action.ADD),
            WakeOn(Resource.CSI_NODE, Action.UPDATE, _limit_raised),
            WakeOn(Resource.POD, Action.DELETE, _had_volumes),
            WakeOn(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD, _is_used),
            WakeOn(Resource.VOLUME_ATTACHMENT, Action.DELETE, _may_make_room),
        )


def _wanted(pod: PodInfo, storage: Storage) -> _Wanted:
    volumes: set[CSIVolume] = set()
    inline_problem: Rejected | None = None
    for use in uses_of(pod):
        if isinstance(use, InlineVolume):
            if use.volume is not None:
                volumes.add(use.volume)
            elif inline_problem is None:
                inline_problem = Rejected(use.error, code=Code.ERROR)
            continue
        found = storage.csi_volumes.volume_of(use)
        if found is None and storage.claims.confirmed(use.key) is None:
            name = use.key.partition("/")[2]
            missing = f'looking up PVC {use.key}: persistentvolumeclaim "{name}" not found'
            return _Wanted(problem=unresolvable(missing), inline_problem=inline_problem)
        if isinstance(found, str):
            return _Wanted(problem=Rejected(found, code=Code.ERROR), inline_problem=inline_problem)
        if found is not None:
            volumes.add(found)
    return _Wanted(frozenset(volumes), inline_problem=inline_problem)


def _only_without_csi_node(wanted: _Wanted, nodes: Nodes) -> Verdicts:
    """In-tree volumes are translated only for nodes that have CSI drivers."""
    assert wanted.inline_problem is not None
    elsewhere = (wanted.problem,) if wanted.problem is not None else ()
    has_drivers = nodes.take(nodes.cluster.storage.csi_nodes.present)
    index = np.where(has_drivers, 1, 2 if elsewhere else 0)
    return Verdicts(index.astype(np.int16), (wanted.inline_problem, *elsewhere))


def _room(volumes: frozenset[CSIVolume], nodes: Nodes) -> Mask:
    """Nodes that can take the volumes, those that their pods use already not counted twice."""
    storage = nodes.cluster.storage
    room = np.ones(len(nodes), np.bool_)
    for driver, number in Counter(volume.driver for volume in volumes).items():
        if driver not in storage.csi_nodes.limited_drivers():
            continue
        counts = nodes.take(storage.attachments.counts(driver))
        limits = nodes.take(storage.csi_nodes.limits(driver))
        there = [
            i
            for volume in volumes
            if volume.driver == driver
            for i in _positions(nodes, storage.attachments.rows_with(volume))
        ]
        if there:
            more = np.full(len(nodes), number, np.int64)
            np.subtract.at(more, there, 1)
            # Where nothing is new, it does not matter how full the node is.
            room &= (counts + more <= limits) | (more == 0)
        else:
            room &= counts + number <= limits
    return room


def _positions(nodes: Nodes, rows: Collection[int]) -> Collection[int]:
    """Where some rows are in the set of nodes."""
    if nodes.full or not rows:
        return rows
    return [i for i, row in enumerate(nodes.rows.tolist()) if row in rows]


def _uncountable(nodes: Nodes) -> dict[int, str]:
    """Nodes with a limit on which a pod's volumes cannot be told, and why."""
    storage = nodes.cluster.storage
    errors = storage.attachments.errors
    if not errors:
        return {}
    limited = storage.csi_nodes.limited
    return {i: errors[nodes.row(i)] for i in _positions(nodes, errors) if limited[nodes.row(i)]}


def _suppose(
    volumes: frozenset[CSIVolume], nodes: TrialNodes, mask: Mask, problems: dict[int, str]
) -> None:
    """Judge the nodes again that are supposed to have other pods."""
    storage = nodes.cluster.storage
    for i, pods in nodes.supposed.items():
        attached = storage.attachments.on_node(nodes.name(i), pods)
        csi_node = storage.csi_nodes.objects.get(nodes.name(i))
        limits = limits_of(csi_node) if csi_node is not None else {}
        problems.pop(i, None)
        if limits and attached.error:
            problems[i] = attached.error
        more = Counter(volume.driver for volume in volumes - attached.volumes)
        mask[i] = all(
            attached.counts.get(driver, 0) + number <= limits.get(driver, NO_LIMIT)
            for driver, number in more.items()
        )


def _with_problems(mask: Mask, problems: dict[int, str]) -> Verdicts:
    index = np.where(mask, 0, 1).astype(np.int16)
    outcomes = [_FULL]
    for i, problem in problems.items():
        outcomes.append(Rejected(problem, code=Code.ERROR))
        index[i] = len(outcomes)
    return Verdicts(index, outcomes)


# --- what may cure a rejection -------------------------------------------------------------------------------------------


def _limit_raised(pod: PodInfo, old: CSINode | None, new: CSINode | None) -> Hint:
    if old is None or new is None:
        return Hint.QUEUE
    before, after = limits_of(old), limits_of(new)
    raised = any(limit > before.get(driver, 0) for driver, limit in after.items())
    return Hint.QUEUE if raised else Hint.SKIP


def _had_volumes(pod: PodInfo, old: Pod | None, new: Pod | None) -> Hint:
    """Whether the deleted pod was somewhere, and had volumes attached there."""
    if old is None:
        return Hint.QUEUE
    if not (old.spec.node_name or old.status.nominated_node_name):
        return Hint.SKIP
    had = any(
        volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or csi_migration.inline_driver(volume)
        for volume in old.spec.volumes
    )
    return Hint.QUEUE if had else Hint.SKIP


def _is_used(
    pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None
) -> Hint:
    """Whether the new claim is one of the pod's."""
    if new is None:
        return Hint.QUEUE
    mine = new.metadata.namespace == pod.namespace and any(
        claim.claim_name(pod.name) == new.metadata.name for claim in pod_volumes.of(pod).claims
    )
    return Hint.QUEUE if mine else Hint.SKIP


def _may_make_room(
    pod: PodInfo, old: VolumeAttachment | None, new: VolumeAttachment | None
) -> Hint:
    """Whether the detached volume's driver is one that the pod needs; of claims it is not known here."""
    if old is None:
        return Hint.QUEUE
    volumes = pod_volumes.of(pod)
    if volumes.named_claims:
        return Hint.QUEUE
    if any(isinstance(one, InlineVolume) and one.error for one in volumes.attached):
        return Hint.QUEUE
    drivers = map(csi_migration.inline_driver, pod.spec.volumes)
    return Hint.QUEUE if old.spec.attacher in drivers else Hint.SKIP
