"""VolumeBinding: the node must be able to use the pod's volumes, those that exist and those that are still to be found.

Reads:  the pod's claims, volumes, classes, drivers and what room they have; the nodes' labels.
Says:   one verdict per node with all its reasons. No eviction cures it: UNRESOLVABLE.
Does:   in Reserve it decides which volume each claim gets; in PreBind it writes that and waits until it is so.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bayplan.cluster import csi_migration, pod_volumes
from bayplan.cluster.changes import Reads
from bayplan.framework.events import Action, Resource, WakeOn
from bayplan.framework.plugin import (
    FilterPlugin,
    PreBindPlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
)
from bayplan.framework.state import StateKey
from bayplan.framework.status import SKIP, Code, Mask, Rejected, Skip, Verdicts
from bayplan.plugins.volume_binding import hints
from bayplan.plugins.volume_binding.args import VolumeBindingArgs, problems
from bayplan.plugins.volume_binding.binding import bind_volumes
from bayplan.plugins.volume_binding.pod_claims import PodClaims, claims_of
from bayplan.plugins.volume_binding.search import search

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.storage import Storage
    from bayplan.cluster.view import ClusterView, Nodes
    from bayplan.framework.state import CycleState

_CLAIMS: Final = StateKey[PodClaims]("VolumeBinding")


class VolumeBinding(
    PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin, ReservePlugin, PreBindPlugin
):
    """Matches claims with volumes, and both with nodes."""

    name = "VolumeBinding"
    args_type = VolumeBindingArgs
    reads = Reads.LABELS | Reads.STORAGE

    bind_timeout_seconds: int

    @classmethod
    def check_args(cls, args: VolumeBindingArgs) -> Iterator[tuple[str, str]]:
        yield from problems(args)

    def sign(self, pod: PodInfo) -> Hashable:
        """Claims of generic ephemeral volumes are named after their pod and owned by it."""
        return (pod.name, pod.uid) if pod_volumes.of(pod).has_ephemeral else None

    def stamp(self, pod: PodInfo, view: ClusterView, state: CycleState) -> Hashable:
        """A pod without claims needs nothing of storage, one whose claims are bound only what they are bound to."""
        if not pod_volumes.of(pod).claims:
            return None
        storage = view.cluster.storage
        claims = claims_of(pod, storage)
        if isinstance(claims, Rejected):
            return claims
        return _bound_to(claims, storage) or view.versions(Reads.STORAGE)

    def prefilter(
        self, pod: PodInfo, view: ClusterView, state: CycleState
    ) -> Skip | Rejected | None:
        if not pod_volumes.of(pod).claims:
            return SKIP
        claims = claims_of(pod, view.cluster.storage)
        if isinstance(claims, Rejected):
            return claims
        state[_CLAIMS] = claims
        return None

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Verdicts | None:
        return search(state[_CLAIMS], nodes).verdicts()

    def prescore(
        self, pod: PodInfo, nodes: Nodes, feasible: Mask, state: CycleState
    ) -> Skip | None:
        """Volumes rank nodes only under StorageCapacityScoring, an alpha feature."""
        return SKIP

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> int:
        return 0

    def reserve(self, pod: PodInfo, node: str, state: CycleState) -> Rejected | None:
        claims = state.get(_CLAIMS)
        if claims is None or not claims.undecided:
            return None
        view = self.handle.view
        row = view.row_of(node)
        if row is None:
            return Rejected(f'node "{node}" not found', code=Code.ERROR)
        found = search(claims, view.rows(np.array([row], np.intp)))
        verdicts = found.verdicts()
        if verdicts is not None:
            return verdicts.outcomes[0]
        problem = view.cluster.storage.assume(pod.key, found.decision(0))
        return Rejected(problem, code=Code.ERROR) if problem else None

    def unreserve(self, pod: PodInfo, node: str, state: CycleState) -> None:
        self.handle.view.cluster.storage.give_up(pod.key)

    def preflight(self, pod: PodInfo, node: str, state: CycleState) -> Skip | None:
        return None if pod.key in self.handle.view.cluster.storage.decisions else SKIP

    async def prebind(self, pod: PodInfo, node: str, state: CycleState) -> Rejected | None:
        view = self.handle.view
        decision = view.cluster.storage.decisions.get(pod.key)
        if decision is None:
            return None
        return await bind_volumes(
            pod, decision, view, self.handle.volumes, self.bind_timeout_seconds
        )

    def wakes_on(self) -> Sequence[WakeOn]:
        add_or_update = Action.ADD | Action.UPDATE
        return (
            WakeOn(Resource.STORAGE_CLASS, add_or_update, hints.after_storage_class),
            WakeOn(Resource.PERSISTENT_VOLUME_CLAIM, add_or_update, hints.after_claim),
            WakeOn(Resource.PERSISTENT_VOLUME, add_or_update),
            WakeOn(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
            WakeOn(Resource.CSI_NODE, add_or_update, hints.after_csi_node),
            WakeOn(Resource.CSI_DRIVER, Action.UPDATE, hints.after_driver),
            WakeOn(Resource.CSI_STORAGE_CAPACITY, add_or_update, hints.after_capacity),
        )


def _bound_to(claims: PodClaims, storage: Storage) -> tuple[Any, ...] | None:
    """The nodes of the volumes of a pod that has nothing left to decide; None where more matters than that."""
    if claims.undecided:
        return None
    found: list[Any] = []
    for claim in claims.bound:
        volume = storage.volumes.get(claim.spec.volume_name)
        if volume is None:
            found.append((claim.spec.volume_name,))
        elif csi_migration.migrated_plugin(volume.spec) is not None:
            return None
        else:
            affinity = volume.spec.node_affinity
            found.append((volume.name, affinity.required if affinity is not None else None))
    return tuple(found)
