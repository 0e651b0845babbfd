"""Volumes of pods."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.model.decode import decode_as
from bayplan.model.pod import Pod


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        pytest.param({"emptyDir": {}}, False, id="empty directory"),
        pytest.param({"projected": {"sources": []}}, False, id="service account"),
        pytest.param({"configMap": {"name": "x"}}, False, id="config map"),
        pytest.param({"persistentVolumeClaim": {"claimName": "x"}}, True, id="claim"),
        pytest.param({"ephemeral": {}}, True, id="ephemeral"),
        pytest.param({"csi": {"driver": "x"}}, True, id="inline CSI"),
        pytest.param({"iscsi": {"targetPortal": "x"}}, True, id="iSCSI"),
        pytest.param({"image": {"reference": "x"}}, True, id="image"),
    ],
)
def test_which_volumes_matter(volume: dict[str, Any], expected: bool) -> None:
    pod = decode_as(Pod, {"spec": {"volumes": [{"name": "v", **volume}]}})
    assert pod.spec.volumes[0].matters is expected


def test_spellings_that_break_the_rule() -> None:
    volumes = [
        {"gcePersistentDisk": {"pdName": "a"}},
        {"awsElasticBlockStore": {"volumeID": "b"}},
        {"azureDisk": {"diskURI": "c", "diskName": "d"}},
        {"cinder": {"volumeID": "e"}},
        {"portworxVolume": {"volumeID": "f"}},
        {"iscsi": {"iqn": "g", "targetPortal": "h"}},
    ]
    gce, aws, azure, cinder, portworx, iscsi = decode_as(
        Pod, {"spec": {"volumes": volumes}}
    ).spec.volumes
    assert gce.gce_persistent_disk is not None
    assert gce.gce_persistent_disk.pd_name == "a"
    assert aws.aws_elastic_block_store is not None
    assert aws.aws_elastic_block_store.volume_id == "b"
    assert azure.azure_disk is not None
    assert (azure.azure_disk.disk_uri, azure.azure_disk.disk_name) == ("c", "d")
    assert cinder.cinder is not None
    assert cinder.cinder.volume_id == "e"
    assert portworx.portworx_volume is not None
    assert portworx.portworx_volume.volume_id == "f"
    assert iscsi.iscsi is not None
    assert (iscsi.iscsi.iqn, iscsi.iscsi.target_portal) == ("g", "h")
