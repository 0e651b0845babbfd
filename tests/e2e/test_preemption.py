"""Pods of higher priority on a full cluster: who has to go, who is protected, what they are told."""

from __future__ import annotations

import pytest

from bayplan.testing import PodBuilder
from bayplan.testing.control_plane import History, Obj
from tests.e2e.stage import Stage, node, pod

pytestmark = pytest.mark.e2e


def priority_class(name: str, value: int, policy: str = "PreemptLowerPriority") -> Obj:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "preemptionPolicy": policy,
    }


def budget(app: str, min_available: int) -> Obj:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app, "namespace": "default"},
        "spec": {"minAvailable": min_available, "selector": {"matchLabels": {"app": app}}},
    }


def ranked(name: str, of_class: str, cpu: str) -> PodBuilder:
    ranked = pod(name).requests(cpu=cpu)
    ranked.manifest["spec"]["priorityClassName"] = of_class
    return ranked


def on(name: str) -> dict[str, str]:
    return {"kubernetes.io/hostname": name}


@pytest.fixture
def stage(stage: Stage) -> Stage:
    """Two nodes, classes of priority, a budget for pods that are to be kept, and the controller that counts what it allows."""
    stage.add(node("n1", cpu="2"), node("n2", cpu="2"))
    stage.add(
        priority_class("low", 10), priority_class("middle", 100), priority_class("high", 1000)
    )
    stage.add(priority_class("polite", 1000, "Never"))
    # Before the scheduler starts: a budget that it has not seen yet would be no protection.
    stage.add(budget("kept", 2))
    stage.need("kube-controller-manager")
    stage.plane.start_controller_manager(["disruption-controller"])
    stage.start_scheduler().wait_ready()
    return stage


def wait_budget(stage: Stage, app: str, healthy: int) -> None:
    """Wait until the controller has counted: what a budget says before that protects everything."""
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    with History(stage.plane.admin, path) as budgets:
        budgets.wait(
            lambda objects: objects[f"default/{app}"]["status"].get("currentHealthy") == healthy,
            f"{healthy} healthy pods in budget {app}",
        )


def was_told(stage: Stage, key: str) -> bool:
    """Whether the pod got the condition that tells it from one that failed by itself."""
    return any(
        condition["type"] == "DisruptionTarget" and condition["reason"] == "PreemptionByScheduler"
        for event in stage.pods.events
        if event.key == key
        for condition in event.object["status"].get("conditions", [])
    )


def test_the_pods_under_a_budget_are_spared(stage: Stage) -> None:
    for name, home in (("kept1", "n1"), ("kept2", "n1"), ("lost1", "n2"), ("lost2", "n2")):
        app = name[:-1]
        stage.add(ranked(name, "low", "900m").node_selector(on(home)).label("app", app))
    stage.wait_bound("default/kept1", "default/kept2", "default/lost1", "default/lost2")
    wait_budget(stage, "kept", 2)

    stage.add(ranked("urgent", "high", "1800m"))

    assert stage.wait_bound("default/urgent") == {"default/urgent": "n2"}
    stage.wait_gone("default/lost1", "default/lost2")
    assert {"default/kept1", "default/kept2"} < stage.pods.objects.keys()
    for victim in ("default/lost1", "default/lost2"):
        assert was_told(stage, victim)
        assert stage.wait_event(victim, "Preempted").startswith("Preempted by pod ")
    nominations = {
        event.object["status"].get("nominatedNodeName")
        for event in stage.pods.events
        if event.key == "default/urgent"
    }
    assert nominations - {None} == {"n2"}


def test_a_budget_gives_way_where_nothing_else_helps(stage: Stage) -> None:
    for name, home in (("a", "n1"), ("b", "n2")):
        stage.add(ranked(name, "low", "1500m").node_selector(on(home)).label("app", "kept"))
    stage.wait_bound("default/a", "default/b")
    wait_budget(stage, "kept", 2)

    stage.add(ranked("urgent", "high", "1"))

    home = stage.wait_bound("default/urgent")["default/urgent"]
    victim, spared = ("a", "b") if home == "n1" else ("b", "a")
    stage.wait_gone(f"default/{victim}")
    assert f"default/{spared}" in stage.pods.objects


def test_no_more_pods_than_needed_and_the_least_important_first(stage: Stage) -> None:
    stage.add(ranked("whole", "high", "2").node_selector(on("n2")))
    stage.add(ranked("middle", "middle", "500m").node_selector(on("n1")))
    stage.add(ranked("small", "low", "500m").node_selector(on("n1")))
    stage.add(ranked("big", "low", "1").node_selector(on("n1")))
    stage.wait_bound("default/whole", "default/middle", "default/small", "default/big")

    stage.add(ranked("urgent", "high", "1"))

    assert stage.wait_bound("default/urgent") == {"default/urgent": "n1"}
    assert stage.pods.objects.keys() == {
        "default/whole",
        "default/middle",
        "default/small",
        "default/urgent",
    }


def test_a_polite_pod_waits(stage: Stage) -> None:
    for home in ("n1", "n2"):
        stage.add(ranked(f"low-{home}", "low", "1500m").node_selector(on(home)))
    stage.wait_bound("default/low-n1", "default/low-n2")
    stage.add(ranked("polite", "polite", "1"))
    stage.may_wait.add("default/polite")

    message = stage.wait_refused("default/polite")

    assert message == (
        "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, "
        "preemption: not eligible due to preemptionPolicy=Never."
    )
    assert stage.node_of("default/low-n1") == "n1"
    assert stage.node_of("default/low-n2") == "n2"


def test_case_41_a_victim_that_takes_its_time_keeps_the_promise_and_is_not_killed_twice(
    stage: Stage,
) -> None:
    slow = ranked("slow", "low", "2").node_selector(on("n1"))
    slow.manifest["metadata"]["finalizers"] = ["example.com/not-yet"]
    stage.add(slow, ranked("other", "high", "2").node_selector(on("n2")))
    stage.wait_bound("default/slow", "default/other")
    stage.add(ranked("urgent", "high", "2"))
    stage.pods.wait(
        lambda pods: (
            pods["default/slow"]["metadata"].get("deletionTimestamp")
            and pods["default/urgent"]["status"].get("nominatedNodeName") == "n1"
        ),
        "promise of n1",
    )

    # Meanwhile others of less importance are kept off what was promised.
    stage.add(ranked("late", "middle", "1"))
    stage.may_wait.add("default/late")
    stage.wait_refused("default/late")
    stage.plane.admin.patch(slow.manifest, {"metadata": {"finalizers": None}})

    assert stage.wait_bound("default/urgent") == {"default/urgent": "n1"}
    assert stage.node_of("default/late") == ""
    assert len(stage.events("default/slow", "Preempted")) == 1
