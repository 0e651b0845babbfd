from __future__ import annotations

from typing import Any

import pytest

from bayplan.policies.numa_topology import NUMATopology
from bayplan.testing import decide, make_cluster, make_node, make_pod

NAME = "NUMATopology"
GI = 2**30
WHY = "cannot align the pod to one NUMA node"


def guaranteed(cpu: str = "3", memory: str = "4Gi", limit: str = "") -> Any:
    pod = make_pod("p").requests(cpu=cpu, memory=memory)
    resources = pod.manifest["spec"]["containers"][0]["resources"]
    resources["limits"] = {"cpu": limit or cpu, "memory": memory}
    return pod


def node(name: str, *cells: tuple[int, int]) -> Any:
    """A node with so many milli-CPUs and GiB available on each NUMA node."""
    built = make_node(name).capacity(cpu="16")
    for i, (cpu, memory) in enumerate(cells):
        built.usage(**{f"numa.{i}.cpu": cpu, f"numa.{i}.memory": memory * GI})
    return built


def ask(pod: Any, *nodes: Any, **args: Any) -> Any:
    return decide(pod, make_cluster(*nodes), NUMATopology, args={NAME: args})


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        pytest.param([(3000, 4), (0, 0)], "", id="the first holds it"),
        pytest.param([(0, 0), (3000, 4)], "", id="the second holds it"),
        pytest.param([(2900, 9), (2900, 9)], WHY, id="together they would"),
        pytest.param([(8000, 1), (1000, 9)], WHY, id="CPU here and memory there"),
    ],
)
def test_one_numa_node_holds_the_pod(cells: list[tuple[int, int]], why: str) -> None:
    answer = ask(guaranteed(), node("n", *cells), node("other", (8000, 8)))
    assert answer.why_not("n") == why


def test_pods_that_kubelet_does_not_align_go_anywhere() -> None:
    small = node("n", (100, 1))
    assert ask(guaranteed(limit="4"), small).node == "n"
    assert ask(make_pod("p").requests(cpu="3"), small).node == "n"


def test_what_no_report_tells_yet_is_taken_on_every_numa_node() -> None:
    full = node("full", (5000, 8), (5000, 8)).usage(**{"numa.unreported.cpu": 2500})
    free = node("free", (5000, 8), (5000, 8)).usage(**{"numa.unreported.cpu": 2000})
    answer = ask(guaranteed(), full, free)
    assert [answer.why_not(name) for name in ("full", "free")] == [WHY, ""]
    assert answer.node == "free"


def test_as_good_as_it_gets() -> None:
    answer = ask(guaranteed(), node("no", (1000, 9)), node("yes", (4000, 9)), policy="best-effort")
    assert [answer.score(n, NAME) for n in ("no", "yes")] == [0, 100]


@pytest.mark.parametrize(
    ("missing", "why"), [("neutral", ""), ("skip", ""), ("reject", "no data for 'numa.0.cpu'")]
)
def test_a_node_that_says_nothing(missing: str, why: str) -> None:
    answer = ask(guaranteed(), node("dark"), node("n", (4000, 9)), missing=missing)
    assert answer.why_not("dark") == why
    if missing == "neutral":
        assert [answer.score(n, NAME) for n in ("dark", "n")] == [50, 100]
