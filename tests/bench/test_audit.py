from __future__ import annotations

from typing import Any

from bayplan.bench.audit import crowded
from bayplan.bench.scene import node, pod
from bayplan.bench.workload import PodShape

NODE = node("n1", {"cpu": "1", "memory": "1Gi", "pods": "3"})


def placed(number: int, cpu: str, on: str = "n1") -> dict[str, Any]:
    body = pod("default", f"p{number}", PodShape(requests={"cpu": cpu}))
    body["spec"]["nodeName"] = on
    return body


def test_a_full_node_is_not_crowded() -> None:
    assert crowded([NODE], [placed(1, "500m"), placed(2, "0.5")]) == []


def test_a_millicore_too_much() -> None:
    pods = [placed(1, "500m"), placed(2, "501m")]
    assert crowded([NODE], pods) == ["node n1 has too much of cpu on it"]


def test_too_many_pods_and_a_resource_that_is_not_there() -> None:
    pods = [placed(i, "1m") for i in range(4)]
    pods[0]["spec"]["containers"][0]["resources"]["requests"]["gpu"] = "1"
    assert crowded([NODE], pods) == [
        "node n1 has too much of pods on it",
        "node n1 has too much of gpu on it",
    ]


def test_pods_on_a_node_that_is_gone() -> None:
    assert crowded([NODE], [placed(1, "1m", on="n2")]) == ["there is no node n2, and pods on it"]
    waiting = pod("default", "p", PodShape())
    assert crowded([NODE], [waiting]) == []
