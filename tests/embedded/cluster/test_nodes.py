"""Simulated nodes: how many, what they look like, and what a file may say about them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayplan.embedded.nodes.making import make_nodes
from bayplan.embedded.nodes.shape import of_count, read
from bayplan.errors import ConfigError

SHAPE = """
zones: [a, b]
nodes:
  - count: 3
    name: std
  - count: 1
    name: gpu
    zones: [b]
    capacity: {cpu: 16, nvidia.com/gpu: 4, memory: 64Gi}
    labels: {accelerator: a100}
    taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
"""


def test_like_nodes() -> None:
    nodes = list(make_nodes(of_count(10), 0.0))
    assert [node["metadata"]["name"] for node in nodes][::9] == ["node-01", "node-10"]
    assert nodes[4]["metadata"]["labels"]["kubernetes.io/hostname"] == "node-05"
    zones = [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes]
    assert zones[:4] == ["zone-a", "zone-b", "zone-c", "zone-a"]
    assert {str(node["status"]["allocatable"]) for node in nodes} == {
        "{'cpu': '8', 'memory': '32Gi', 'pods': '110', 'ephemeral-storage': '100Gi'}"
    }
    ready = [one for one in nodes[0]["status"]["conditions"] if one["type"] == "Ready"]
    assert ready[0]["status"] == "True"
    assert nodes[0]["spec"] == {}
    addresses = {node["status"]["addresses"][0]["address"] for node in nodes}
    assert len(addresses) == 10


def test_a_shape(tmp_path: Path) -> None:
    (tmp_path / "shape.yaml").write_text(SHAPE, encoding="utf-8")
    nodes = list(make_nodes(read(tmp_path / "shape.yaml"), 0.0))
    assert [node["metadata"]["name"] for node in nodes] == ["std-1", "std-2", "std-3", "gpu-1"]
    gpu = nodes[3]
    assert gpu["spec"] == {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]}
    assert gpu["metadata"]["labels"]["accelerator"] == "a100"
    assert gpu["metadata"]["labels"]["topology.kubernetes.io/zone"] == "b"
    assert gpu["status"]["capacity"]["nvidia.com/gpu"] == "4"
    assert gpu["status"]["capacity"]["pods"] == "110"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            "nodes: [{cuont: 1}]", "nodes[0]: Object contains unknown field `cuont`", id="a slip"
        ),
        pytest.param("nodes: [{name: x}]", "missing required field `count`", id="no number"),
        pytest.param("nodes: [{count: -1}]", "nodes[0].count: Expected `int` >= 0", id="a number"),
        pytest.param(
            "nodes: [{count: 1}, {count: 2}]",
            'nodes[1].name: another group is called "node"',
            id="twins",
        ),
        pytest.param(
            "nodes: [{count: 1, capacity: {cpu: lots}}]", "nodes[0].capacity.cpu", id="a quantity"
        ),
        pytest.param(
            "nodes: [{count: 1, taints: [{key: a, effect: Never}]}]",
            "nodes[0].taints[0].effect",
            id="effect",
        ),
        pytest.param("nodes: [", "is no YAML", id="no YAML"),
        pytest.param("", "Expected `object`", id="nothing"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "shape.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read(tmp_path / "none.yaml")
