"""What the extender answers, verb by verb."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bayplan.serve.extender.answers import stretched
from bayplan.serve.extender.server import Bounds
from tests.serve.extender.scene import NAMES, NODES, QUICK, Caller, asking, on_extender, pod


def test_nodes_that_were_sent_come_back_word_for_word(tmp_path: Path) -> None:
    async def scenario(calling: Caller) -> None:
        status, answer = await calling.post("filter", asking(NODES))
        assert status == 200
        assert answer == {
            "Nodes": {"metadata": {}, "items": NODES[:3]},
            "NodeNames": None,
            "FailedNodes": {"slow": "disk is slow"},
            "FailedAndUnresolvableNodes": {"bare": "node has no disk"},
            "Error": "",
        }

    on_extender(tmp_path, scenario)


def test_names_that_were_sent_come_back_as_names(tmp_path: Path) -> None:
    async def scenario(calling: Caller) -> None:
        await calling.post("filter", asking(NODES))
        for _ in range(2):
            _, answer = await calling.post("filter", asking(names=NAMES))
            assert answer["Nodes"] is None
            assert answer["NodeNames"] == ["best", "good", "poor"]
            assert answer["FailedNodes"] == {"slow": "disk is slow"}
        _, answer = await calling.post("filter", asking(names=["good"]))
        assert answer["NodeNames"] == ["good"]

    on_extender(tmp_path, scenario)


def test_what_is_said_of_names_changes_when_a_node_does(tmp_path: Path) -> None:
    async def scenario(calling: Caller) -> None:
        await calling.post("filter", asking(NODES))
        for _ in range(2):
            _, answer = await calling.post("filter", asking(names=NAMES))
            assert answer["FailedNodes"] == {"slow": "disk is slow"}
        changed = {"metadata": {"name": "slow", "labels": {"disk": "fast"}}}
        await calling.post("filter", asking([changed]))
        _, answer = await calling.post("filter", asking(names=NAMES))
        assert answer["NodeNames"] == ["best", "good", "poor", "slow"]
        assert answer["FailedNodes"] == {}

    on_extender(tmp_path, scenario)


def test_a_node_that_changed_is_judged_anew(tmp_path: Path) -> None:
    async def scenario(calling: Caller) -> None:
        await calling.post("filter", asking(NODES))
        changed = [*NODES[:3], {"metadata": {"name": "slow", "labels": {"disk": "fast"}}}]
        _, answer = await calling.post("filter", asking(changed))
        assert answer["FailedNodes"] == {}

    on_extender(tmp_path, scenario)


def test_keys_are_read_in_any_case(tmp_path: Path) -> None:
    async def scenario(calling: Caller) -> None:
        body = {"pod": pod(), "nodes": {"items": NODES}}
        _, answer = await calling.post("filter", body)
        assert len(answer["Nodes"]["items"]) == 3

    on_extender(tmp_path, scenario)


def test_the_best_node_gets_10_and_the_worst_0(tmp_path: Path) -> None:
    async def scenario(calling: Caller) -> None:
        _, answer = await calling.post("prioritize", asking(NODES[:3]))
        assert answer == [
            {"Host": "best", "Score": 10},
            {"Host": "good", "Score": 5},
            {"Host": "poor", "Score": 0},
        ]
        # Among those that are asked about: others do not matter.
        _, answer = await calling.post("prioritize", asking(NODES[1:3]))
        assert [each["Score"] for each in answer] == [10, 0]

    on_extender(tmp_path, scenario)


@pytest.mark.parametrize(
    ("totals", "scores"),
    [
        pytest.param([5, 5, 5], [10, 10, 10], id="all alike"),
        pytest.param([1000, 999, 998], [10, 5, 0], id="close to each other"),
        pytest.param([2**62, 0, -(2**62)], [10, 5, 0], id="far apart"),
        pytest.param([7], [10], id="one"),
        pytest.param([], [], id="none"),
    ],
)
def test_stretching(totals: list[int], scores: list[int]) -> None:
    counts = np.ones(len(totals), np.bool_)
    assert stretched(np.array(totals, np.int64), counts).tolist() == scores


def test_preemption_is_left_to_nodes_that_would_pass(tmp_path: Path) -> None:
    async def scenario(calling: Caller) -> None:
        await calling.post("filter", asking(NODES))
        victims = {"Pods": [{"UID": "a"}], "NumPDBViolations": 2}
        body = {
            "Pod": pod(),
            "NodeNameToVictims": None,
            "NodeNameToMetaVictims": {"best": victims, "slow": victims},
        }
        _, answer = await calling.post("preempt", body)
        assert answer == {"NodeNameToMetaVictims": {"best": victims}}
        written_out = {"Pods": [{"metadata": {"name": "x", "uid": "a"}}], "NumPDBViolations": 2}
        body = {"Pod": pod(), "NodeNameToVictims": {"best": written_out}}
        _, answer = await calling.post("preempt", body)
        assert answer == {"NodeNameToMetaVictims": {"best": victims}}

    on_extender(tmp_path, scenario)


def test_without_a_cluster_nothing_is_bound(tmp_path: Path) -> None:
    async def scenario(calling: Caller) -> None:
        body = {"PodName": "web", "PodNamespace": "default", "PodUID": "u", "Node": "best"}
        status, answer = await calling.post("bind", body)
        assert status == 200
        assert "--kubeconfig was not given" in answer["Error"]

    on_extender(tmp_path, scenario)


# --- where there is no answer ------------------------------------------------------------------------------------------


def test_a_plugin_that_fails_fails_the_pod(tmp_path: Path) -> None:
    async def scenario(calling: Caller) -> None:
        status, answer = await calling.post("filter", asking(NODES, breaks="yes"))
        assert status == 200
        assert answer["Error"].startswith("bayplan extender: ")
        assert "ZeroDivisionError: no luck" in answer["Error"]
        status, _ = await calling.post("prioritize", asking(NODES, breaks="yes"))
        assert status == 500
        status, _ = await calling.post("filter", asking(NODES))
        assert status == 200

    on_extender(tmp_path, scenario)


def test_a_plugin_that_fails_is_passed_over_where_that_is_wanted(tmp_path: Path) -> None:
    async def scenario(calling: Caller) -> None:
        _, answer = await calling.post("filter", asking(NODES, breaks="yes"))
        assert answer["Nodes"]["items"] == NODES
        _, answer = await calling.post("filter", asking(names=NAMES, breaks="yes"))
        assert answer["NodeNames"] == NAMES
        _, answer = await calling.post("prioritize", asking(NODES, breaks="yes"))
        assert {each["Score"] for each in answer} == {0}
        victims = {"Pods": [{"UID": "a"}], "NumPDBViolations": 0}
        body = {"Pod": pod(breaks="yes"), "NodeNameToMetaVictims": {"slow": victims}}
        _, answer = await calling.post("preempt", body)
        assert answer["NodeNameToMetaVictims"] == {"slow": victims}

    on_extender(tmp_path, scenario, bounds=Bounds(fail_open=True))


def test_an_answer_beyond_the_budget_is_none(tmp_path: Path) -> None:
    async def scenario(calling: Caller) -> None:
        _, answer = await calling.post("filter", asking(NODES, slow="yes"))
        assert "more than the budget of 0.02 s" in answer["Error"]
        _, text = await calling.get("/metrics")
        assert (
            'bayplan_extender_request_duration_seconds_count{verb="filter",result="late"} 1' in text
        )

    on_extender(tmp_path, scenario, bounds=QUICK)


def test_a_plugin_that_hangs_is_interrupted_and_named(tmp_path: Path) -> None:
    async def scenario(calling: Caller) -> None:
        _, answer = await calling.post("filter", asking(NODES, hangs="yes"))
        assert "budget" in answer["Error"]
        status, answer = await calling.post("filter", asking(NODES))
        assert (status, answer["Error"]) == (200, "")
        _, text = await calling.get("/metrics")
        assert 'plugin="Disk"' in text

    on_extender(tmp_path, scenario, bounds=Bounds(budget_s=0.25))
