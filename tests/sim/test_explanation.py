from __future__ import annotations

import json

import pytest

from bayplan.framework.config import default_config, load_config_objects
from bayplan.plugins import default_registry
from bayplan.sim.explanation import Explanation, NoSuchNode, explain
from bayplan.sim.explanation_json import to_json
from bayplan.sim.situation import Situation
from bayplan.testing import NodeBuilder, PodBuilder, make_node, make_pod

REGISTRY = default_registry()


def explained(pod: PodBuilder, *others: NodeBuilder | PodBuilder, node: str = "") -> Explanation:
    objects = [other.build() for other in others]
    profile = default_config(REGISTRY).profiles[0]
    return explain(Situation(pod.build(), objects, profile, REGISTRY), node=node)


def test_the_best_node_and_the_order_of_the_others() -> None:
    small, large = make_node("small").capacity(cpu="2"), make_node("large").capacity(cpu="64")
    told = explained(make_pod("p").requests(cpu="1"), small, large, make_node("full").cordoned())
    assert [line.node for line in told.lines] == ["large", "small", "full"]
    assert told.chosen == "large"
    assert told.headline().startswith(
        "default/p goes to large: the best of 2 nodes that fit (total "
    )
    assert told.reasons == {("NodeUnschedulable", "node(s) were unschedulable"): 1}
    assert told.suggestions == []


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        pytest.param(["a"], "the only one of 1 nodes that fits", id="one"),
        pytest.param(["a", "b"], "drawn from the 2 best of 2 nodes that fit", id="equals"),
    ],
)
def test_why(nodes: list[str], expected: str) -> None:
    assert expected in explained(make_pod("p"), *map(make_node, nodes)).headline()


def test_a_promised_node_is_shown_with_scores() -> None:
    pod = make_pod("p").nominated("small").requests(cpu="1")
    told = explained(pod, make_node("small").capacity(cpu="2"), make_node("large"))
    assert told.chosen == "small"
    assert told.headline() == (
        "default/p goes to small: it was promised to the pod earlier "
        "(of 2 nodes that fit, large scores higher)"
    )


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        pytest.param("large", "it runs on large, and would go there again", id="there again"),
        pytest.param("small", "it runs on small, now number 2 of 2 (total ", id="second best"),
        pytest.param("away", "it runs on away, which is not among the nodes", id="gone"),
        pytest.param(
            "shut",
            "it runs on shut, where it would not be placed now: node(s) were unschedulable",
            id="not any more",
        ),
    ],
)
def test_a_placed_pod_is_looked_at_as_if_it_were_not_there(place: str, expected: str) -> None:
    nodes = make_node("large").capacity(cpu="64"), make_node("small"), make_node("shut").cordoned()
    pod = make_pod("p").requests(cpu="3").on(place)
    told = explained(pod, *nodes, pod)
    assert told.chosen == "large"
    assert told.whereabouts().startswith(expected)


def test_preemption_is_part_of_the_answer() -> None:
    big = make_pod("p").requests(cpu="3").priority(5)
    told = explained(big, make_node("a"), make_pod("x").requests(cpu="3").on("a"))
    assert told.preemption is not None
    assert to_json(told)["preemption"] == {
        "node": "a",
        "victims": [{"pod": "default/x", "priority": 0}],
        "violations": 0,
    }


def test_the_message_is_that_of_the_event() -> None:
    told = explained(make_pod("p").requests(cpu="9"), make_node("a"))
    assert told.message == (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: "
        "0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    )


def test_one_node_in_detail() -> None:
    pod = make_pod("p").requests(cpu="2").node_selector(disk="ssd")
    placed = make_pod("x").requests(cpu="2500m").on("a")
    told = explained(pod, make_node("a"), placed, node="a")
    detail = told.detail
    assert detail is not None
    assert [(room.resource, room.requested, room.asked, room.enough) for room in detail.room] == [
        ("cpu", "2500m", "2", False)
    ]
    assert detail.pods == (1, 110)
    assert detail.objections == [
        ("NodeAffinity", "node(s) didn't match Pod's node affinity/selector"),
        ("NodeResourcesFit", "Insufficient cpu"),
    ]


def test_a_node_that_is_not_there() -> None:
    with pytest.raises(NoSuchNode, match="there is no node b"):
        explained(make_pod("p"), make_node("a"), node="b")


def test_notes() -> None:
    pod = make_pod("p").scheduler("other")
    pod.manifest["spec"]["schedulingGates"] = [{"name": "wait"}]
    notes = explained(pod, make_node("a")).notes
    assert "asks for the scheduler other" in notes[0]
    assert "SchedulingGates" in notes[1]


def test_json_holds_everything() -> None:
    pod = make_pod("p").requests(cpu="1")
    told = explained(pod, make_node("a"), make_node("b").taint("x"), node="b")
    answer = json.loads(json.dumps(to_json(told)))
    assert answer["chosen"] == "a"
    assert [node["node"] for node in answer["nodes"]] == ["a", "b"]
    score = answer["nodes"][0]["scores"]["TaintToleration"]
    assert score == {"raw": 0, "normalized": 100, "weight": 3, "weighted": 300}
    assert answer["suggestions"][0]["change"] == {
        "tolerations": [{"key": "x", "operator": "Exists", "effect": "NoSchedule"}]
    }
    assert answer["detail"]["objections"][0]["plugin"] == "TaintToleration"


@pytest.mark.parametrize(
    ("missing", "does"),
    [
        pytest.param("neutral", "these get 50", id="neutral"),
        pytest.param("skip", "it stays out of the scores", id="skip"),
    ],
)
def test_what_a_policy_does_without_data(missing: str, does: str) -> None:
    given = default_config(REGISTRY).profiles[0]
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": given.scheduler_name,
                "plugins": {"multiPoint": {"enabled": [{"name": "LowCpuScheduler"}]}},
                "pluginConfig": [{"name": "LowCpuScheduler", "args": {"missing": missing}}],
            }
        ],
    }
    profile = load_config_objects([document], REGISTRY).profiles[0]
    nodes = [make_node(name).build() for name in ("a", "b")]
    situation = Situation(make_pod("p").build(), nodes, profile, REGISTRY)
    situation.cluster.set_data("a", "cpu", 0.25)
    told = explain(situation)
    assert told.notes == [
        f"LowCpuScheduler has no data for 1 of 2 nodes; with missing: {missing} {does}"
    ]
    given_to = {line.node: line.scores["LowCpuScheduler"] for line in told.fitting}
    assert (given_to["a"].raw, given_to["a"].no_data, given_to["b"].no_data) == (75, False, True)
    assert [given_to[n].normalized for n in "ab"] == ([75, 50] if missing == "neutral" else [0, 0])
