from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.framework.config import default_config, load_config_objects
from bayplan.plugins import default_registry
from bayplan.sim.cases import verdict_of
from bayplan.sim.saving import case_of, config_documents
from bayplan.sim.situation import Situation
from bayplan.testing import NodeBuilder, PodBuilder, make_node, make_pod

REGISTRY = default_registry()


def situation(pod: PodBuilder, *others: NodeBuilder | PodBuilder) -> Situation:
    objects = [other.build() for other in others]
    return Situation(pod.build(), objects, default_config(REGISTRY).profiles[0], REGISTRY)


def saved(situation: Situation, config: Any = None) -> dict[str, Any]:
    case: dict[str, Any] = json.loads(msgspec.json.encode(case_of(situation, config)))
    return case


def test_what_does_not_matter_stays_at_home() -> None:
    pod = make_pod("p").annotation("kubectl.kubernetes.io/last-applied-configuration", "{secret}")
    pod.annotation("team", "a")
    pod.manifest["spec"]["containers"][0]["env"] = [{"name": "TOKEN", "value": "secret"}]
    pod.manifest["spec"]["volumes"] = [{"name": "s", "secret": {"secretName": "secret"}}]
    other = make_pod("o").on("a").annotation("x", "y")
    other.manifest["spec"]["containers"][0]["command"] = ["secret"]
    case = saved(situation(pod, make_node("a"), other))
    assert "secret" not in json.dumps(case)
    assert case["pod"]["metadata"]["annotations"] == {"team": "a"}


def test_pods_that_hold_nothing_stay_at_home() -> None:
    ended = make_pod("ended").on("a")
    ended.manifest["status"]["phase"] = "Succeeded"
    waiting, promised = make_pod("waiting"), make_pod("promised").nominated("a")
    case = saved(situation(make_pod("p"), make_node("a"), ended, waiting, promised))
    assert [pod["metadata"]["name"] for pod in case["pods"]] == ["promised"]


def test_a_placed_pod_is_saved_as_it_was_before() -> None:
    pod = make_pod("p").requests(cpu="3").on("a")
    case = saved(situation(pod, make_node("a"), pod))
    assert case["pods"] == []
    assert verdict_of(case, REGISTRY)["best"] == ["a"]


def test_the_deciding_profile_comes_first_and_directories_are_in_full(tmp_path: Path) -> None:
    mine = {"schedulerName": "mine", "plugins": {"score": {"disabled": [{"name": "*"}]}}}
    scheduler = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler"}, mine],
    }
    first, own = config_documents([scheduler], "mine", [tmp_path])
    assert [one["schedulerName"] for one in first["profiles"]] == ["mine", "default-scheduler"]
    assert own["pluginDirs"] == [str(tmp_path.resolve())]
    loaded = load_config_objects([first, own], default_registry())
    assert loaded.profiles[0].scheduler_name == "mine"
    assert config_documents([], "default-scheduler") == []


def test_a_saved_configuration_decides_again() -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"filter": {"disabled": [{"name": "TaintToleration"}]}}}],
    }
    case = saved(situation(make_pod("p"), make_node("a").taint("x")), [config])
    assert verdict_of(case, REGISTRY)["best"] == ["a"]


# Property -----------------------------------------------------------------------------------------

ZONE = "topology.kubernetes.io/zone"


@st.composite
def clusters(draw: st.DrawFn) -> tuple[PodBuilder, list[NodeBuilder | PodBuilder]]:
    def pod(name: str) -> PodBuilder:
        made = make_pod(name).labels(app=draw(st.sampled_from("ab"))).uid(f"u-{name}")
        made.requests(cpu=draw(st.sampled_from(["100m", "1", "3"]))).priority(
            draw(st.integers(0, 3))
        )
        if draw(st.booleans()):
            made.affinity(
                {"app": "a"}, ZONE, anti=draw(st.booleans()), weight=draw(st.integers(0, 5))
            )
        if draw(st.booleans()):
            made.spread(1, ZONE, {"app": "b"}, hard=draw(st.booleans()))
        if draw(st.booleans()):
            made.tolerate("x", operator="Exists").started("2026-01-02T03:04:05Z")
        return made

    others: list[NodeBuilder | PodBuilder] = []
    for i in range(draw(st.integers(1, 3))):
        node = make_node(f"n{i}").zone(draw(st.sampled_from(["z1", "z2"])))
        others.append(node.taint("x") if draw(st.booleans()) else node)
    for i in range(draw(st.integers(0, 4))):
        placed = pod(f"e{i}")
        others.append(placed.on("n0") if draw(st.booleans()) else placed.nominated("n0"))
    return pod("p"), others


@settings(max_examples=50)
@given(clusters())
def test_a_saved_case_gives_the_same_verdict(
    cluster: tuple[PodBuilder, list[NodeBuilder | PodBuilder]],
) -> None:
    pod, others = cluster
    written = {
        "id": f"explain-{pod.manifest['metadata']['namespace']}/{pod.name}",
        "preempt": True,
        "queued": True,
        "nodes": [one.manifest for one in others if isinstance(one, NodeBuilder)],
        "pods": [one.manifest for one in others if isinstance(one, PodBuilder)],
        "pod": pod.manifest,
    }
    assert verdict_of(saved(situation(pod, *others)), REGISTRY) == verdict_of(written, REGISTRY)
