"""Which storage events wake a pod that VolumeBinding turned down."""

from __future__ import annotations

from typing import Any

import pytest
from tests.storage_objects import (
    DRIVER,
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    pod_with,
)

from bayplan.cluster.cluster import Cluster
from bayplan.framework.events import Hint, HintFn
from bayplan.plugins.volume_binding import hints

TOPOLOGIES = [{"matchLabelExpressions": [{"key": "zone", "values": ["z"]}]}]
OTHERS = [{"matchLabelExpressions": [{"key": "zone", "values": ["y"]}]}]
MOVED = make_csi_node("n", migrated=["kubernetes.io/gce-pd"])


def room(**sizes: str) -> Any:
    return make_capacity("p", "c", {}, **sizes)


@pytest.mark.parametrize(
    ("hint", "old", "new", "wakes"),
    [
        pytest.param(hints.after_csi_node, None, make_csi_node("n"), True, id="a CSINode comes"),
        pytest.param(hints.after_csi_node, make_csi_node("n"), MOVED, True, id="a plugin migrates"),
        pytest.param(
            hints.after_csi_node,
            make_csi_node("n"),
            make_csi_node("n", {DRIVER: 1}),
            False,
            id="a limit",
        ),
        pytest.param(hints.after_claim, None, make_claim("c"), True, id="its claim"),
        pytest.param(
            hints.after_claim, None, make_claim("web-data"), True, id="its own volume's claim"
        ),
        pytest.param(hints.after_claim, None, make_claim("d"), False, id="another claim"),
        pytest.param(
            hints.after_claim, None, make_claim("c", namespace="else"), False, id="a namesake"
        ),
        pytest.param(hints.after_storage_class, None, make_class("x"), True, id="a class comes"),
        pytest.param(
            hints.after_storage_class,
            make_class("x", allowedTopologies=TOPOLOGIES),
            make_class("x", allowedTopologies=OTHERS),
            True,
            id="a class admits other nodes",
        ),
        pytest.param(
            hints.after_storage_class,
            make_class("x"),
            make_class("x", provisioner="other"),
            False,
            id="a class changes in another way",
        ),
        pytest.param(hints.after_capacity, None, room(), True, id="a pool comes"),
        pytest.param(
            hints.after_capacity, room(capacity="1Gi"), room(capacity="2Gi"), True, id="more room"
        ),
        pytest.param(
            hints.after_capacity, room(capacity="2Gi"), room(capacity="1Gi"), False, id="less room"
        ),
        pytest.param(
            hints.after_capacity, room(), room(capacity="0"), True, id="room is told at last"
        ),
        pytest.param(
            hints.after_capacity,
            room(capacity="1Gi", maximumVolumeSize="1Gi"),
            room(capacity="9Gi", maximumVolumeSize="1Gi"),
            False,
            id="the largest volume is what counts",
        ),
        pytest.param(
            hints.after_driver,
            make_driver("inline", storage_capacity=True),
            make_driver("inline", storage_capacity=False),
            True,
            id="its driver tells its room no more",
        ),
        pytest.param(
            hints.after_driver,
            make_driver(storage_capacity=True),
            make_driver(storage_capacity=False),
            False,
            id="another driver",
        ),
        pytest.param(
            hints.after_driver,
            make_driver("inline"),
            make_driver("inline", storage_capacity=True),
            False,
            id="its driver begins to tell its room",
        ),
    ],
)
def test_hint(hint: HintFn, old: Any, new: Any, wakes: bool) -> None:
    pod = Cluster().info(pod_with("web", "c", "ephemeral:data", {"csi": {"driver": "inline"}}))
    assert hint(pod, old, new) is (Hint.QUEUE if wakes else Hint.SKIP)
