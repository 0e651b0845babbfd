"""Gangs on a real API server: all or nothing, whatever happens to members, groups and the scheduler meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from bayplan.errors import ApiError
from bayplan.testing import PodBuilder
from bayplan.testing.control_plane import Obj
from bayplan.testing.control_plane.waiting import wait_until
from tests.e2e.stage import Stage, node, node_of, pod

pytestmark = pytest.mark.e2e

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"
MERGE = "application/merge-patch+json"
LABEL = "scheduling.x-k8s.io/pod-group"


def group(name: str, min_member: int, **spec: Any) -> Obj:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minMember": min_member, **spec},
    }


def workers(name: str, count: int, cpu: str = "1") -> list[PodBuilder]:
    return [pod(f"{name}-{n}").label(LABEL, name).requests(cpu=cpu) for n in range(count)]


def bound(stage: Stage, name: str, objects: dict[str, Obj] | None = None) -> set[str]:
    found = stage.pods.objects if objects is None else objects
    return {
        key
        for key, obj in found.items()
        if obj["metadata"].get("labels", {}).get(LABEL) == name and node_of(obj)
    }


def wait_members(stage: Stage, name: str, count: int) -> None:
    """Wait until so many members are bound."""
    stage.pods.wait(lambda pods: len(bound(stage, name, pods)) >= count, f"{count} of {name}", 60)


def status(stage: Stage, name: str) -> Obj:
    return dict(stage.plane.admin.get(f"{GROUPS}/{name}").get("status", {}))


@pytest.fixture
def stage(stage: Stage) -> Stage:
    """A cluster that serves pod groups, and a scheduler with the rights that the chart grants."""
    if stage.subject != "bayplan":
        pytest.skip("kube-scheduler has no such groups")
    file = DEPLOY / "crds" / "podgroups.scheduling.x-k8s.io.yaml"
    stage.add(*yaml.safe_load_all(file.read_text(encoding="utf-8")))

    def served() -> bool:
        try:
            stage.plane.admin.get(GROUPS)
        except ApiError:
            return False
        return True

    wait_until(served, "pod groups to be served", 30)
    stage.start_scheduler().wait_ready()
    return stage


def test_case_42_room_for_nine_of_ten_binds_none(stage: Stage) -> None:
    stage.add(node("n1", cpu="5"), node("n2", cpu="4"), group("train", 10))
    stage.add(*workers("train", 10))

    said = stage.wait_refused("default/train-9", "9 of 10 members fit")

    assert "(needs 1, largest free 0 on n" in said
    assert stage.wait_refused("default/train-0", "9 of 10") == said
    assert not bound(stage, "train")
    stage.add(node("n3", cpu="1"))
    stage.wait_bound(*(f"default/train-{n}" for n in range(10)))
    wait_until(lambda: status(stage, "train").get("phase") == "Running", "phase Running", 30)


def test_case_42_of_two_gangs_that_fit_alone_exactly_one_runs(stage: Stage) -> None:
    stage.add(node("n1", cpu="6"), group("one", 4), group("two", 4))
    pairs = zip(workers("one", 4), workers("two", 4), strict=True)
    stage.add(*(each for pair in pairs for each in pair))

    stage.wait_some_bound(4)
    first, second = ("one", "two") if bound(stage, "one") else ("two", "one")
    wait_members(stage, first, 4)
    stage.wait_refused(f"default/{second}-3", "2 of 4 members fit")
    assert not bound(stage, second)
    for n in range(4):
        stage.plane.admin.call("DELETE", f"/api/v1/namespaces/default/pods/{first}-{n}")
    wait_members(stage, second, 4)


def test_case_43_a_member_and_then_the_group_are_deleted(stage: Stage) -> None:
    stage.add(node("n1", cpu="2"), group("train", 3))
    stage.add(*workers("train", 3))
    stage.wait_refused("default/train-2", "2 of 3 members fit")

    stage.plane.admin.call("DELETE", "/api/v1/namespaces/default/pods/train-1")
    stage.wait_refused("default/train-0", "gang train: 2 of 3 members exist")
    stage.plane.admin.call("DELETE", f"{GROUPS}/train")
    stage.wait_refused("default/train-0", 'pod group "train" not found')
    stage.add(node("n2", cpu="8"))
    assert not bound(stage, "train")
    stage.add(group("train", 3), workers("train", 2)[1])
    wait_members(stage, "train", 3)


@pytest.mark.parametrize("raised", [4, 2**31 - 1])
def test_case_43_and_50_the_minimum_is_raised(stage: Stage, raised: int) -> None:
    stage.add(node("n1", cpu="2"), group("train", 3))
    stage.add(*workers("train", 3))
    stage.wait_refused("default/train-2", "2 of 3 members fit")

    patch = {"spec": {"minMember": raised}}
    stage.plane.admin.call("PATCH", f"{GROUPS}/train", patch, MERGE)
    stage.wait_refused("default/train-0", f"gang train: 3 of {raised} members exist")
    stage.add(node("n2", cpu="8"))
    assert not bound(stage, "train")
    stage.plane.admin.call("PATCH", f"{GROUPS}/train", {"spec": {"minMember": 2}}, MERGE)
    wait_members(stage, "train", 3)


def test_case_42_killed_in_the_middle_of_a_gang(stage: Stage) -> None:
    for number in range(4):
        stage.add(node(f"n{number}", cpu="40", pods="300"))
    stage.add(group("train", 150), group("rival", 30))
    stage.add(*workers("train", 150))
    stage.wait_some_bound(20)
    stage.schedulers[0].process.kill()
    # These would fit in the room that the first gang still needs, if they were let.
    stage.add(*workers("rival", 30))
    stage.start_scheduler("second")
    wait_members(stage, "train", 150)
    stage.wait_refused("default/rival-29", "10 of 30 members fit")
    assert not bound(stage, "rival")
    stage.may_wait |= {f"default/rival-{n}" for n in range(30)}
