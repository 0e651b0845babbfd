from __future__ import annotations

from collections import Counter

import pytest

from bayplan.bench.scene import Scene
from bayplan.bench.workload import load, names
from bayplan.model import decode_as
from bayplan.model.node import Node
from bayplan.model.pod import Pod


def scene_of(name: str) -> Scene:
    workload = load(name)
    return Scene(workload if workload.trace else workload.scaled(30))


@pytest.mark.parametrize("name", names())
def test_all_objects_can_be_read_and_refer_to_what_is_there(name: str) -> None:
    scene = scene_of(name)
    there = {new.body["metadata"]["name"] for new in scene.foundation()}
    nodes = [decode_as(Node, new.body) for new in scene.nodes()]
    for new in [*scene.before(), *scene.measured()]:
        pod = decode_as(Pod, new.body)
        assert pod.namespace in there
        assert new.path == f"/api/v1/namespaces/{pod.namespace}/pods"
        if pod.spec.priority_class_name:
            assert pod.spec.priority_class_name in there
    assert len({node.name for node in nodes}) == len(nodes)


def test_pods_from_before_take_the_nodes_in_turn() -> None:
    scene = scene_of("preemption")
    placed = Counter(new.body["spec"]["nodeName"] for new in scene.before())
    assert set(placed.values()) == {4}
    assert len(placed) == 30


def test_zones_come_in_turn() -> None:
    zones = Counter(
        new.body["metadata"]["labels"]["topology.kubernetes.io/zone"]
        for new in scene_of("spread").nodes()
    )
    assert zones == {"moon-1": 10, "moon-2": 10, "moon-3": 10}


def test_numbers_in_names_of_resources_and_namespaces() -> None:
    node = list(scene_of("distinct").nodes())[7].body
    assert node["status"]["capacity"]["foo.com/bar-7"] == "1"
    pod = list(scene_of("distinct").measured())[7].body
    assert pod["spec"]["containers"][0]["resources"]["requests"]["foo.com/bar-7"] == "1"
    spaces = Counter(
        new.body["metadata"]["namespace"] for new in Scene(load("ns-affinity")).before()
    )
    assert len(spaces) == 100
    assert set(spaces.values()) == {50}


def test_the_trace() -> None:
    scene = scene_of("openb")
    nodes = [new.body for new in scene.nodes()]
    assert len(nodes) == 1523
    assert sum(int(node["status"]["capacity"].get("nvidia.com/gpu", "0")) for node in nodes) == 6212
    pods = [new.body for new in scene.measured()]
    assert len(pods) == 8152
    assert sum("affinity" in pod["spec"] for pod in pods) == 8152 - 5764
