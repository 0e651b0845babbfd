"""Writing what was decided about a pod's volumes, and waiting until it has come about.

Runs off the decision path, in PreBind. The claim's controller and the provisioner do the work: a volume is promised to a
claim, or a node is written on a claim, and then both are watched until the claim is bound or somebody has backed out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from bayplan.cluster.claims import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    is_fully_bound,
    key_of,
)
from bayplan.cluster.csi_migration import TranslationError, migrated_plugin, translated_affinity
from bayplan.cluster.csi_nodes import migrated_plugins
from bayplan.cluster.volume_nodes import nodes_of
from bayplan.errors import BayplanError
from bayplan.framework.status import Code, Rejected

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.storage import Storage
    from bayplan.cluster.view import ClusterView
    from bayplan.cluster.volume_decisions import VolumeDecision
    from bayplan.framework.volume_writer import VolumeWriter
    from bayplan.model.meta import KubeObject
    from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim

K = TypeVar("K", bound="KubeObject")


class _BackedOutError(BayplanError):
    """It will not come about: the pod has to be scheduled again."""


async def bind_volumes(
    pod: PodInfo,
    decision: VolumeDecision,
    view: ClusterView,
    writer: VolumeWriter,
    timeout_s: float,
) -> Rejected | None:
    """Write a decision and wait for it; None once all of the pod's claims are bound."""
    storage = view.cluster.storage
    written = _Written()
    try:
        for volume, _ in decision.bindings:
            written.volumes.append(await writer.patch_volume(volume.name, volume_patch(volume)))
        for claim in decision.provisions:
            patch = claim_patch(claim)
            written.claims.append(await writer.patch_claim(claim.namespace, claim.name, patch))
    except BayplanError as error:
        storage.give_up(pod.key, len(written.volumes), len(written.claims))
        return Rejected(str(error), code=Code.ERROR)
    storage.settle(pod.key)
    try:
        in_time = await writer.wait_until(
            lambda: _come_about(pod, decision, written, view), timeout_s
        )
    except _BackedOutError as error:
        return Rejected(f"binding volumes: {error}", code=Code.ERROR)
    if not in_time:
        return Rejected("binding volumes: context deadline exceeded", code=Code.ERROR)
    return None


class _Written:
    """Objects as the API server returned them."""

    def __init__(self) -> None:
        self.volumes: list[PersistentVolume] = []
        self.claims: list[PersistentVolumeClaim] = []


def volume_patch(volume: PersistentVolume) -> Mapping[str, Any]:
    """The promise that a volume holds, as a merge patch."""
    ref = volume.spec.claim_ref
    assert ref is not None
    patch = _for_version(volume)
    if BOUND_BY_CONTROLLER in volume.annotations:
        patch["metadata"]["annotations"] = {
            BOUND_BY_CONTROLLER: volume.annotations[BOUND_BY_CONTROLLER]
        }
    reference = {
        "kind": ref.kind,
        "apiVersion": ref.api_version,
        "namespace": ref.namespace,
        "name": ref.name,
        "uid": ref.uid,
        "resourceVersion": ref.resource_version,
    }
    patch["spec"] = {"claimRef": {name: value for name, value in reference.items() if value}}
    return patch


def claim_patch(claim: PersistentVolumeClaim) -> Mapping[str, Any]:
    """The node that was selected for a claim, as a merge patch."""
    patch = _for_version(claim)
    patch["metadata"]["annotations"] = {SELECTED_NODE: claim.annotations[SELECTED_NODE]}
    return patch


def _for_version(obj: KubeObject) -> dict[str, Any]:
    version = obj.metadata.resource_version
    return {"metadata": {"resourceVersion": version} if version else {}}


# --- waiting -------------------------------------------------------------------------------------------------------------


def _come_about(
    pod: PodInfo, decision: VolumeDecision, written: _Written, view: ClusterView
) -> bool:
    """Whether all claims are bound.

    Judges by what the API server shows, not by what is assumed: a later attempt may have assumed something new.

    Raises:
        _BackedOutError: it will not come about.
    """
    storage = view.cluster.storage
    if view.row_of(decision.node) is None:
        raise _BackedOutError(
            f'failed to get node "{decision.node}": node "{decision.node}" not found'
        )
    if view.pod(pod.namespace, pod.name) is None:
        raise _BackedOutError(f'pod does not exist any more: pod "{pod.name}" not found')
    for volume, (_, claim) in zip(written.volumes, decision.bindings, strict=True):
        if not _is_promised(volume, claim, decision.node, view):
            return False
    return all(_is_made(claim, decision.node, storage, view) for claim in written.claims)


def _is_promised(
    volume: PersistentVolume, claim: PersistentVolumeClaim, node: str, view: ClusterView
) -> bool:
    storage = view.cluster.storage
    shown = storage.volumes.confirmed(volume.name)
    if shown is None:
        raise _BackedOutError(
            f'failed to check binding: persistentvolumes "{volume.name}" not found'
        )
    current = storage.claims.confirmed(key_of(claim))
    if current is None:
        raise _BackedOutError(
            f'failed to check binding: persistentvolumeclaims "{key_of(claim)}" not found'
        )
    if _is_older(shown, volume):
        return False
    _check_reach(shown, node, view)
    if shown.spec.claim_ref is None or not shown.spec.claim_ref.uid:
        raise _BackedOutError(f'ClaimRef got reset for pv "{shown.name}"')
    return is_fully_bound(current)


def _is_made(claim: PersistentVolumeClaim, node: str, storage: Storage, view: ClusterView) -> bool:
    shown = storage.claims.confirmed(key_of(claim))
    if shown is None:
        raise _BackedOutError(
            f'failed to check provisioning pvc: persistentvolumeclaims "{key_of(claim)}" not found'
        )
    if _is_older(shown, claim):
        return False
    if not shown.annotations:
        raise _BackedOutError(f'selectedNode annotation reset for PVC "{shown.name}"')
    if shown.annotations.get(SELECTED_NODE, "") != node:
        # That is how a provisioner says that it could not.
        raise _BackedOutError(f'provisioning failed for PVC "{shown.name}"')
    if shown.spec.volume_name:
        volume = storage.volumes.confirmed(shown.spec.volume_name)
        if volume is None:
            return False
        _check_reach(volume, node, view)
    return is_fully_bound(shown)


def _is_older(shown: K, written: K) -> bool:
    """Whether the watch has not brought yet what was written."""
    known, wanted = shown.metadata.resource_version, written.metadata.resource_version
    return known.isdigit() and wanted.isdigit() and int(known) < int(wanted)


def _check_reach(volume: PersistentVolume, node: str, view: ClusterView) -> None:
    """A node can lose a label while a volume is bound."""
    csi_node = view.cluster.storage.csi_nodes.objects.get(node)
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity is not None else None
    plugin = migrated_plugin(volume.spec)
    if plugin is not None and csi_node is not None and plugin in migrated_plugins(csi_node):
        try:
            required = translated_affinity(volume)
        except TranslationError as error:
            raise _BackedOutError(
                f"failed to translate pv to csi: could not translate pv: {error}"
            ) from error
    usable = nodes_of(required)
    info = view.node(node)
    if usable is None or info is None or usable.matcher.matches(info.labels, ""):
        return
    raise _BackedOutError(
        f'pv "{volume.name}" node affinity doesn\'t match node "{node}": no matching NodeSelectorTerms'
    )
