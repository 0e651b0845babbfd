"""Every suggestion is true: whoever makes the change in the manifests gets the pod placed where it says."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan import FilterPlugin, NodeInfo, PodInfo, Rejected
from bayplan.cluster.audit import check
from bayplan.framework.config import default_config, load_config_objects
from bayplan.framework.registry import Registry
from bayplan.model import decode_as
from bayplan.model.pod import Pod
from bayplan.plugins import default_plugins, default_registry
from bayplan.sim.cases import objects_of, verdict_of
from bayplan.sim.explanation import Explanation, explain
from bayplan.sim.relaxation import Kind, Suggestion
from bayplan.sim.situation import Situation
from bayplan.testing import NodeBuilder, PodBuilder, make_node, make_pod

Case = dict[str, Any]

REGISTRY = default_registry()
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
CORDON = "node.kubernetes.io/unschedulable"


def situation_of(case: Case) -> Situation:
    config = case.get("config")
    loaded = load_config_objects(config, REGISTRY) if config else default_config(REGISTRY)
    pod = decode_as(Pod, case["pod"])
    return Situation(pod, list(objects_of(case)), loaded.profiles[0], REGISTRY)


def case_of(pod: PodBuilder, *others: NodeBuilder | PodBuilder, **more: Any) -> Case:
    return {
        "id": "t",
        "queued": True,
        "nodes": [one.manifest for one in others if isinstance(one, NodeBuilder)],
        "pods": [one.manifest for one in others if isinstance(one, PodBuilder)],
        "pod": pod.manifest,
        **more,
    }


# The change, made in the manifests by somebody who knows nothing of relax ------------------------


def applied(case: Case, suggestion: Suggestion) -> Case:
    case = copy.deepcopy(case)
    change_pod(case["pod"]["spec"], suggestion)
    change_cluster(case, suggestion)
    return case


def change_pod(spec: dict[str, Any], suggestion: Suggestion) -> None:
    change, affinity = suggestion.change, spec.get("affinity", {})
    match suggestion.kind:
        case Kind.REQUESTS:
            ask_for(spec, change["requests"])
        case Kind.TOLERATION:
            spec.setdefault("tolerations", []).extend(change["tolerations"])
        case Kind.NODE_SELECTOR:
            for key in change["nodeSelector"]:
                del spec["nodeSelector"][key]
        case Kind.NODE_AFFINITY:
            del affinity["nodeAffinity"][REQUIRED]
        case Kind.SPREAD:
            del spec["topologySpreadConstraints"][change["topologySpreadConstraint"]]
        case Kind.POD_AFFINITY:
            del affinity["podAffinity"][REQUIRED][change["podAffinityTerm"]]
        case Kind.POD_ANTI_AFFINITY:
            del affinity["podAntiAffinity"][REQUIRED][change["podAntiAffinityTerm"]]
        case Kind.HOST_PORT:
            for container in spec["containers"]:
                ports = container.get("ports", [])
                container["ports"] = [p for p in ports if p.get("hostPort") != change["hostPort"]]
        case Kind.VOLUME:
            spec["volumes"] = [v for v in spec["volumes"] if v["name"] != change["volume"]]
        case _:
            pass


def change_cluster(case: Case, suggestion: Suggestion) -> None:
    change = suggestion.change
    nodes = {node["metadata"]["name"]: node for node in case["nodes"]}
    match suggestion.kind:
        case Kind.CORDON:
            node = nodes[change["uncordon"]]["spec"]
            node["unschedulable"] = False
            node["taints"] = [t for t in node.get("taints", ()) if t["key"] != CORDON]
        case Kind.ANTI_AFFINITY_OF_OTHERS:
            for other in case["pods"]:
                if key_of(other) in change["pods"]:
                    terms = other["spec"]["affinity"]["podAntiAffinity"][REQUIRED]
                    del terms[change["podAntiAffinityTerm"]]
        case Kind.POD_SLOT:
            nodes[change["node"]]["status"]["allocatable"]["pods"] = str(change["pods"])
        case Kind.EVICTION:
            victims = {victim["pod"] for victim in change["evict"]}
            case["pods"] = [p for p in case["pods"] if key_of(p) not in victims]
        case Kind.PLUGIN:
            case["config"] = without_plugin(change["plugin"])
        case _:
            pass


def ask_for(spec: dict[str, Any], requests: dict[str, str]) -> None:
    for container in [*spec["containers"], *spec.get("initContainers", ())]:
        for name in requests:
            container.get("resources", {}).get("requests", {}).pop(name, None)
    for name in requests:
        spec.get("overhead", {}).pop(name, None)
        spec.get("resources", {}).get("requests", {}).pop(name, None)
    first = spec["containers"][0].setdefault("resources", {}).setdefault("requests", {})
    first.update(requests)


def key_of(pod: dict[str, Any]) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def without_plugin(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"disabled": [{"name": name}]}}}],
    }


def fitting(case: Case) -> set[str]:
    verdicts = verdict_of(case, REGISTRY)["filter"]
    return {node for node, said in verdicts.items() if said["code"] == "Success"}


def explained(case: Case, node: str = "") -> Explanation:
    situation = situation_of(case)
    explanation = explain(situation, node=node)
    check(situation.cluster)
    for suggestion in explanation.suggestions:
        assert suggestion.nodes
        assert set(suggestion.nodes) == fitting(applied(case, suggestion)), suggestion
        assert not node or suggestion.nodes[0] == node
    return explanation


# Table --------------------------------------------------------------------------------------------


def texts(explanation: Explanation) -> list[str]:
    assert not explanation.chosen
    return [suggestion.text for suggestion in explanation.suggestions]


def big(name: str) -> PodBuilder:
    return make_pod(name).requests(cpu="3", memory="1Gi")


CASES = [
    pytest.param(
        case_of(
            make_pod("p").requests(cpu="2"),
            make_node("a"),
            make_node("b"),
            make_pod("x").requests(cpu="2500m").on("a").priority(9),
            make_pod("y").requests(cpu="3").on("b").priority(9),
        ),
        "ask for 500m less cpu: fits on a",
        id="a little less of a resource",
    ),
    pytest.param(
        case_of(make_pod("p").requests({"nvidia.com/gpu": "1"}), make_node("a")),
        "ask for no nvidia.com/gpu: fits on a",
        id="none of a resource that no node has",
    ),
    pytest.param(
        case_of(make_pod("p").requests(cpu="5", memory="64Gi"), make_node("a")),
        "ask for 1 less cpu and 32Gi less memory: fits on a",
        id="less of two resources",
    ),
    pytest.param(
        case_of(make_pod("p"), make_node("a").taint("dedicated", "a")),
        "tolerate dedicated=a:NoSchedule: fits on a",
        id="a taint",
    ),
    pytest.param(
        case_of(make_pod("p"), make_node("a").taint("x").taint("y", "1", "NoExecute")),
        "tolerate x:NoSchedule and y=1:NoExecute: fits on a",
        id="two taints of one node",
    ),
    pytest.param(
        case_of(make_pod("p"), make_node("a").taint("node.kubernetes.io/not-ready")),
        "rid the node of the taint node.kubernetes.io/not-ready:NoSchedule: fits on a",
        id="a node that is not ready",
    ),
    pytest.param(
        case_of(make_pod("p"), make_node("a").cordoned().taint(CORDON)),
        "uncordon a: fits on a",
        id="a cordoned node",
    ),
    pytest.param(
        case_of(make_pod("p").node_selector(disk="ssd"), make_node("a"), make_node("b")),
        "drop disk=ssd from the node selector: fits on a and b",
        id="one key of the node selector",
    ),
    pytest.param(
        case_of(make_pod("p").node_selector(disk="ssd", gpu="yes"), make_node("a")),
        "drop the node selector: fits on a",
        id="the whole node selector",
    ),
    pytest.param(
        case_of(
            make_pod("p").labels(app="w").spread(1, ZONE, {"app": "w"}),
            make_node("a").zone("z1"),
            make_node("b").zone("z2").cordoned(),
            make_pod("x").labels(app="w").on("a"),
        ),
        f"drop the spread over {ZONE} (maxSkew 1): fits on a",
        id="a spread constraint",
    ),
    pytest.param(
        case_of(make_pod("p").affinity({"app": "db"}, HOST), make_node("a")),
        f"drop the affinity to pods with app=db per {HOST}: fits on a",
        id="an affinity term",
    ),
    pytest.param(
        case_of(
            make_pod("p").affinity({"app": "w"}, HOST, anti=True),
            make_node("a"),
            make_pod("x").labels(app="w").on("a").priority(9),
        ),
        f"drop the anti-affinity to pods with app=w per {HOST}: fits on a",
        id="an anti-affinity term",
    ),
    pytest.param(
        case_of(
            make_pod("p").labels(app="w"),
            make_node("a"),
            make_pod("x").affinity({"app": "w"}, HOST, anti=True).on("a").priority(9),
        ),
        f"drop the anti-affinity of pod default/x to pods with app=w per {HOST}: fits on a",
        id="the anti-affinity of a neighbour",
    ),
    pytest.param(
        case_of(
            make_pod("p").host_port(80).host_port(443),
            make_node("a"),
            make_pod("x").host_port(80).on("a").priority(9),
        ),
        "do without host port 80/TCP: fits on a",
        id="a host port",
    ),
    pytest.param(
        case_of(make_pod("p").claim("data"), make_node("a")),
        "do without volume data (claim default/data): fits on a",
        id="a claim that does not exist",
    ),
    pytest.param(
        case_of(make_pod("p"), make_node("a").capacity(pods="1"), make_pod("x").on("a")),
        "room for one more pod on a (1 of 1): fits on a",
        id="a full node",
    ),
    pytest.param(
        case_of(big("p"), make_node("a"), big("x").on("a").priority(7)),
        "evict default/x (priority 7) from a: fits on a",
        id="a pod that is more important",
    ),
]


@pytest.mark.parametrize(("case", "expected"), CASES)
def test_what_would_make_it_fit(case: Case, expected: str) -> None:
    assert expected in texts(explained(case))


def test_the_smallest_change_comes_first() -> None:
    pod = make_pod("p").requests(cpu="2").node_selector(disk="ssd")
    nodes = make_node("a").label("disk", "ssd").capacity(cpu="1900m"), make_node("b")
    assert texts(explained(case_of(pod, *nodes))) == [
        "ask for 100m less cpu: fits on a",
        "drop disk=ssd from the node selector: fits on b",
    ]


def test_a_pod_with_two_troubles_everywhere_gets_no_empty_promises() -> None:
    pod = make_pod("p").node_selector(disk="ssd")
    assert texts(explained(case_of(pod, make_node("a").taint("x")))) == []


def test_a_pod_that_preempts_by_itself_is_not_told_to_evict() -> None:
    case = case_of(big("p").priority(9), make_node("a"), big("x").on("a"))
    explanation = explained(case)
    assert explanation.preemption is not None
    assert Kind.EVICTION not in {one.kind for one in explanation.suggestions}


class Picky(FilterPlugin):
    """Takes nothing but node b, which nobody else does."""

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        return None if node.name == "b" else Rejected("not b")


def test_a_plugin_that_alone_stands_in_the_way() -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Picky"}]}}}],
    }
    registry = Registry([*default_plugins(), Picky])
    case = case_of(make_pod("p"), make_node("a"), make_node("b").cordoned())
    profile = load_config_objects(config, registry).profiles[0]
    situation = Situation(decode_as(Pod, case["pod"]), list(objects_of(case)), profile, registry)
    assert texts(explain(situation)) == [
        "uncordon b: fits on b",
        "do without plugin Picky: fits on a, which says: not b",
    ]


def test_one_node_in_particular() -> None:
    pod = make_pod("p").requests(cpu="2").node_selector(disk="ssd")
    nodes = make_node("a").label("disk", "ssd"), make_node("b")
    explanation = explained(case_of(pod, *nodes), node="b")
    assert explanation.chosen == "a"
    assert [one.text for one in explanation.suggestions] == [
        "drop disk=ssd from the node selector: fits on b and a"
    ]


def test_a_promised_node_is_not_promised_again() -> None:
    waiting = big("first").priority(5).nominated("a")
    explanation = explained(case_of(big("p"), make_node("a"), waiting))
    assert not explanation.chosen
    assert texts(explanation)


# Property -----------------------------------------------------------------------------------------

ZONES = ["z1", "z2"]
APPS = ["web", "db"]
CPU = ["500m", "1", "1500m", "2", "4"]
few = st.integers(0, 3)


@st.composite
def nodes(draw: st.DrawFn, number: int) -> NodeBuilder:
    node = make_node(f"n{number}").capacity(
        cpu=draw(st.sampled_from(["1", "2", "4"])), pods=draw(st.sampled_from(["1", "2", "10"]))
    )
    node.zone(draw(st.sampled_from(ZONES)))
    if draw(st.booleans()):
        node.label("disk", draw(st.sampled_from(["ssd", "hdd"])))
    if draw(few) == 0:
        node.taint("dedicated", draw(st.sampled_from(["a", "b"])))
    if draw(few) == 0:
        node.cordoned()
    return node


@st.composite
def pods(draw: st.DrawFn, name: str) -> PodBuilder:
    pod = make_pod(name).labels(app=draw(st.sampled_from(APPS))).priority(draw(st.integers(0, 2)))
    if draw(st.booleans()):
        pod.requests(cpu=draw(st.sampled_from(CPU)))
    if draw(few) == 0:
        pod.affinity(
            {"app": draw(st.sampled_from(APPS))}, draw(st.sampled_from([ZONE, HOST])), anti=True
        )
    if draw(few) == 0:
        pod.host_port(80)
    return pod


@st.composite
def cases(draw: st.DrawFn) -> Case:
    names = range(draw(st.integers(1, 4)))
    cluster = [draw(nodes(i)) for i in names]
    placed = [
        draw(pods(f"e{i}")).on(f"n{draw(st.sampled_from(names))}").version(str(i)).uid(f"u{i}")
        for i in range(draw(st.integers(0, 5)))
    ]
    if draw(few) == 0:
        placed.append(draw(pods("waiting")).nominated("n0"))
    pod = draw(pods("p"))
    if draw(st.booleans()):
        pod.node_selector(disk="ssd")
    if draw(few) == 0:
        pod.node_selector({ZONE: draw(st.sampled_from(ZONES))})
    if draw(st.booleans()):
        pod.spread(1, draw(st.sampled_from([ZONE, HOST])), {"app": "web"})
    if draw(few) == 0:
        pod.affinity({"app": "db"}, ZONE)
    return case_of(pod, *cluster, *placed)


@settings(max_examples=60)
@given(cases(), st.booleans())
def test_every_suggestion_holds(case: Case, of_one_node: bool) -> None:
    explained(case, node="n0" if of_one_node else "")
