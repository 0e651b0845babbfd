"""Nodes: taints as text, and the spellings that break the rule."""

from __future__ import annotations

import pytest

from bayplan.model.decode import decode_as
from bayplan.model.meta import Condition
from bayplan.model.node import Node, NodeStatus, Taint


@pytest.mark.parametrize(
    ("taint", "expected"),
    [
        pytest.param(Taint("k", "v", "NoSchedule"), "k=v:NoSchedule", id="all parts"),
        pytest.param(Taint("k", "", "NoSchedule"), "k:NoSchedule", id="no value"),
        pytest.param(Taint("k", "v"), "k=v:", id="no effect"),
        pytest.param(Taint("k"), "k", id="only a key"),
    ],
)
def test_taints_as_text(taint: Taint, expected: str) -> None:
    assert str(taint) == expected


def test_spellings_that_break_the_rule() -> None:
    node = decode_as(
        Node,
        {
            "spec": {"providerID": "aws:///i-1", "podCIDR": "10.0.0.0/24"},
            "status": {
                "nodeInfo": {"osImage": "linux"},
                "images": [{"names": ["a"], "sizeBytes": 5}],
            },
        },
    )
    assert (node.spec.provider_id, node.spec.pod_cidr) == ("aws:///i-1", "10.0.0.0/24")
    assert node.status.node_info.os_image == "linux"
    assert node.status.images[0].size_bytes == 5


def test_condition() -> None:
    ready = Condition(type="Ready", status="True")
    node = Node(status=NodeStatus(conditions=(ready,)))
    assert node.condition("Ready") is ready
    assert node.condition("DiskPressure") is None
