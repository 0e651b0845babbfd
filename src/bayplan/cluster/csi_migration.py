"""In-tree volumes as the CSI drivers see them that have taken over: names, handles, topology.

Kubernetes keeps translating the volumes of cloud plugins that left its tree. Facts of ``csi-translation-lib`` and of
the switch in the scheduler's plugins: seven sources have a translation, for five of them the migration counts as on.
Used by the storage tables, NodeVolumeLimits and VolumeBinding.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace

from bayplan.model.selectors import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Operator,
)

if TYPE_CHECKING:
    from bayplan.model.storage import PersistentVolume, PersistentVolumeSpec
    from bayplan.model.volumes import Volume

#: On a CSINode: the in-tree plugins whose volumes are attached by CSI drivers there, with commas between them.
MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"

ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"
#: Separates the zones of a volume that is in several.
ZONE_SEPARATOR: Final = "__"

_AWS: Final = "kubernetes.io/aws-ebs"
_GCE: Final = "kubernetes.io/gce-pd"
_AZURE_DISK: Final = "kubernetes.io/azure-disk"
_CINDER: Final = "kubernetes.io/cinder"
_PORTWORX: Final = "kubernetes.io/portworx-volume"

#: In-tree plugin to the CSI driver that took over, where the scheduler counts the migration as done.
DRIVERS: Final = {
    _AWS: "ebs.csi.aws.com",
    _GCE: "pd.csi.storage.gke.io",
    _AZURE_DISK: "disk.csi.azure.com",
    _CINDER: "cinder.csi.openstack.org",
    _PORTWORX: "pxd.portworx.com",
}
_AZURE_FILE: Final = "kubernetes.io/azure-file"
_VSPHERE: Final = "kubernetes.io/vsphere-volume"
#: The same for plugins that have a translation, but whose migration the scheduler does not count as done.
UNCOUNTED: Final = {_AZURE_FILE: "file.csi.azure.com", _VSPHERE: "csi.vsphere.vmware.com"}
#: The field of a volume that tells which plugin it is of.
_FIELDS: Final = (
    ("aws_elastic_block_store", _AWS),
    ("gce_persistent_disk", _GCE),
    ("azure_disk", _AZURE_DISK),
    ("cinder", _CINDER),
    ("portworx_volume", _PORTWORX),
)
#: The label by which a driver tells where a node is, where volumes carry a zone.
_TOPOLOGY_KEYS: Final = {
    _AWS: "topology.ebs.csi.aws.com/zone",
    _GCE: "topology.gke.io/zone",
    _CINDER: "topology.cinder.csi.openstack.org/zone",
}
_UNSPECIFIED: Final = "UNSPECIFIED"
_MANAGED: Final = "managed"
_GCE_ZONE_PARTS: Final = 3

_is_ebs_volume = re.compile("vol-[^/]*").fullmatch


class TranslationError(Exception):
    """An in-tree volume that has no CSI form."""


class CSIVolume(NamedTuple):
    """A volume as its driver knows it; equal ones are one volume."""

    driver: str
    handle: str


def migrated_plugin(volume: Volume | PersistentVolumeSpec) -> str | None:
    """The in-tree plugin of a volume that a CSI driver has taken over."""
    for field, plugin in _FIELDS:
        if getattr(volume, field) is not None:
            return plugin
    return None


def inline_driver(volume: Volume) -> str | None:
    """The driver that has a translation for a volume written into a pod, be its migration counted as done or not."""
    plugin = migrated_plugin(volume)
    if plugin is not None:
        return DRIVERS[plugin]
    if volume.azure_file is not None:
        return UNCOUNTED[_AZURE_FILE]
    return UNCOUNTED[_VSPHERE] if volume.vsphere_volume is not None else None


def inline_volume(volume: Volume) -> CSIVolume | None:
    """A volume written into a pod as the driver sees it, or None where no driver has taken over.

    Raises:
        TranslationError: the volume has no CSI form.
    """
    if volume.gce_persistent_disk is not None:
        return CSIVolume(
            DRIVERS[_GCE], _gce_handle("zones", _UNSPECIFIED, volume.gce_persistent_disk.pd_name)
        )
    return _plain(volume)


def persistent_volume(volume: PersistentVolume) -> CSIVolume | None:
    """A PersistentVolume as the driver sees it, or None where no driver has taken over.

    Raises:
        TranslationError: the volume has no CSI form.
    """
    disk = volume.spec.gce_persistent_disk
    if disk is None:
        return _plain(volume.spec)
    labels = volume.metadata.labels
    zones = (labels.get(BETA_ZONE) or labels.get(ZONE, "")).split(ZONE_SEPARATOR)
    if len(zones) > 1:
        handle = _gce_handle("regions", _gce_region(zones), disk.pd_name)
    else:
        handle = _gce_handle("zones", zones[0] or _UNSPECIFIED, disk.pd_name)
    return CSIVolume(DRIVERS[_GCE], handle)


def _plain(volume: Volume | PersistentVolumeSpec) -> CSIVolume | None:
    """Sources whose handle does not depend on where the volume is written."""
    if volume.aws_elastic_block_store is not None:
        return CSIVolume(DRIVERS[_AWS], _ebs_volume(volume.aws_elastic_block_store.volume_id))
    if volume.azure_disk is not None:
        kind = volume.azure_disk.kind
        if kind is not None and kind.lower() != _MANAGED:
            raise TranslationError(f"kind({kind}) is not supported in csi migration")
        return CSIVolume(DRIVERS[_AZURE_DISK], volume.azure_disk.disk_uri)
    if volume.cinder is not None:
        return CSIVolume(DRIVERS[_CINDER], volume.cinder.volume_id)
    if volume.portworx_volume is not None:
        return CSIVolume(DRIVERS[_PORTWORX], volume.portworx_volume.volume_id)
    return None


def _gce_handle(scope: str, place: str, disk: str) -> str:
    return f"projects/{_UNSPECIFIED}/{scope}/{place}/disks/{disk}"


def _gce_region(zones: list[str]) -> str:
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != _GCE_ZONE_PARTS:
            raise TranslationError(
                "failed to get region from zones: zone in unexpected format, expected: "
                f"{{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        listed = " ".join(f"{region}:{{}}" for region in sorted(regions))
        raise TranslationError(
            f"failed to get region from zones: multiple or no regions gotten from zones, got: map[{listed}]"
        )
    return regions.pop()


def _ebs_volume(volume_id: str) -> str:
    """``vol-…`` out of ``aws://zone/vol-…``, which is how people used to write it."""
    if not volume_id.startswith("aws://"):
        return volume_id
    try:
        bare = unquote(urlsplit(volume_id).path).strip("/")
    except ValueError as error:
        raise TranslationError(
            f"failed to translate Kubernetes ID to EBS Volume ID Invalid disk name ({volume_id}): {error}"
        ) from error
    if not _is_ebs_volume(bare):
        raise TranslationError(
            f"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({volume_id})"
        )
    return bare


# --- topology --------------------------------------------------------------------------------------------------------


def translated_affinity(volume: PersistentVolume) -> NodeSelector | None:
    """The nodes that can use a volume, in the driver's labels instead of Kubernetes' own.

    Raises:
        TranslationError: the volume has no CSI form.
    """
    persistent_volume(volume)
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity is not None else None
    topology_key = _TOPOLOGY_KEYS.get(migrated_plugin(volume.spec) or "")
    if topology_key is None:
        return required
    terms = required.node_selector_terms if required is not None else ()
    labels = volume.metadata.labels
    zone, region = _topology_labels(terms, labels)
    if _has_values(terms, zone):
        terms = _renamed(terms, zone, topology_key)
    elif zone in labels:
        terms = _narrowed(terms, topology_key, labels[zone].split(ZONE_SEPARATOR))
    if region == BETA_REGION and _has_values(terms, region):
        terms = _renamed(terms, region, REGION)
    if required is None and not terms:
        return None
    return NodeSelector(terms)


def _topology_labels(
    terms: tuple[NodeSelectorTerm, ...], labels: dict[str, str]
) -> tuple[str, str]:
    """The zone and region labels that a volume goes by: those of its affinity, else those it carries itself."""
    keys = {one.key for term in terms for one in term.match_expressions}
    for known in (keys, labels.keys()):
        if ZONE in known:
            return ZONE, REGION
        if BETA_ZONE in known:
            return BETA_ZONE, BETA_REGION
    return ZONE, REGION


def _has_values(terms: tuple[NodeSelectorTerm, ...], key: str) -> bool:
    return any(one.key == key and one.values for term in terms for one in term.match_expressions)


def _renamed(
    terms: tuple[NodeSelectorTerm, ...], old: str, new: str
) -> tuple[NodeSelectorTerm, ...]:
    return tuple(
        replace(
            term,
            match_expressions=tuple(
                replace(one, key=new) if one.key == old else one for one in term.match_expressions
            ),
        )
        for term in terms
    )


def _narrowed(
    terms: tuple[NodeSelectorTerm, ...], key: str, zones: list[str]
) -> tuple[NodeSelectorTerm, ...]:
    """Every term asks for the zones too."""
    wanted = sorted({zone.strip() for zone in zones} - {""})
    if not wanted:
        return terms
    asked = NodeSelectorRequirement(key, Operator.IN, tuple(wanted))
    return tuple(
        replace(term, match_expressions=(*term.match_expressions, asked))
        for term in terms or (NodeSelectorTerm(),)
    )
