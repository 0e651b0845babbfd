"""Elastic quotas on a real API server: two teams lend each other what they do not use, and take it back."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from bayplan.errors import ApiError
from bayplan.testing import PodBuilder
from bayplan.testing.control_plane import History, Obj
from bayplan.testing.control_plane.waiting import wait_until
from tests.e2e.stage import PROFILE, Stage, namespace, node, node_of, pod

pytestmark = pytest.mark.e2e

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
QUOTAS = "/apis/scheduling.x-k8s.io/v1alpha1/elasticquotas"
MINIMUM, MOST = 4, 6
PLUGINS = {
    "multiPoint": {"enabled": [{"name": "CapacityScheduling"}]},
    "postFilter": {"enabled": [{"name": "CapacityScheduling"}], "disabled": [{"name": "*"}]},
}


def quota(team: str) -> Obj:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": "quota", "namespace": team},
        "spec": {"min": {"cpu": MINIMUM}, "max": {"cpu": MOST}},
    }


def documents(path: Path) -> list[Any]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


@pytest.fixture
def stage(stage: Stage) -> Stage:
    """Two nodes, two teams, and a scheduler with the rights that the chart grants for quotas."""
    if stage.subject != "bayplan":
        pytest.skip("kube-scheduler has no elastic quotas")
    stage.add(node("n1"), node("n2"), namespace("a"), namespace("b"))
    define(stage)
    stage.add(quota("a"), quota("b"))
    stage.start_scheduler(profiles=[{"schedulerName": PROFILE, "plugins": PLUGINS}]).wait_ready()
    return stage


def define(stage: Stage) -> None:
    """Apply the definition, and wait until objects of it can be created."""
    stage.add(*documents(DEPLOY / "crds" / "elasticquotas.scheduling.x-k8s.io.yaml"))

    def served() -> bool:
        try:
            found = stage.plane.admin.get("/apis/scheduling.x-k8s.io/v1alpha1")
            return bool(found["resources"]) and stage.plane.admin.items(QUOTAS) == []
        except ApiError:  # not known yet, or not ready yet
            return False

    wait_until(served, "elastic quotas")


def work(team: str, count: int) -> list[PodBuilder]:
    return [pod(f"{team}{i}", team).requests(cpu="1") for i in range(count)]


def wait_shared_out(stage: Stage, shares: dict[str, int]) -> None:
    """Wait until each team has so many pods on nodes."""
    stage.pods.wait(
        lambda objects: Counter(key[0] for key, obj in objects.items() if node_of(obj)) == shares,
        f"shares {shares}",
    )


def wait_status(stage: Stage, used: dict[str, str]) -> None:
    def shown(objects: dict[str, Obj]) -> bool:
        return {
            obj["metadata"]["namespace"]: obj.get("status", {}).get("used", {}).get("cpu")
            for obj in objects.values()
        } == used

    with History(stage.plane.admin, QUOTAS) as history:
        history.wait(shown, f"status {used}")


def most_used(stage: Stage) -> tuple[int, int]:
    """The most that a team ever had, and both together, by the watch."""
    there: dict[str, str] = {}
    most = together = 0
    for event in stage.pods.events:
        if event.type == "DELETED":
            there.pop(event.key, None)
        elif node_of(event.object):
            there[event.key] = event.key[0]
        shares = Counter(there.values())
        most = max([most, *shares.values()])
        together = max(together, shares.total())
    return most, together


def test_two_teams_lend_and_take_back(stage: Stage) -> None:
    wait_status(stage, {"a": "0", "b": "0"})

    stage.add(*work("a", 8))
    wait_shared_out(stage, {"a": MOST})
    waiting = [key for key, obj in stage.pods.objects.items() if not node_of(obj)]
    for key in waiting:
        message = stage.wait_refused(key)
        assert "quota of namespace a: cpu 6 of max 6 used" in message
    stage.may_wait |= set(waiting)

    stage.add(*work("b", 5))
    wait_shared_out(stage, {"a": MINIMUM, "b": MINIMUM})
    wait_status(stage, {"a": "4", "b": "4"})
    stage.may_wait |= {key for key, obj in stage.pods.objects.items() if not node_of(obj)}
    assert len(stage.may_wait) == 3
    assert most_used(stage) == (MOST, 2 * MINIMUM)

    for key, obj in stage.pods.objects.items():
        if key[0] == "a" and node_of(obj):
            stage.plane.admin.call("DELETE", f"/api/v1/namespaces/a/pods/{key[2:]}")
    # b borrows now, and a's pods that waited run within a's minimum.
    wait_shared_out(stage, {"a": 2, "b": 5})
    stage.may_wait.clear()
    sample = 'bayplan_elastic_quota{namespace="b",resource="cpu",amount="borrowed"}'
    assert stage.schedulers[0].metric(sample) == 1
