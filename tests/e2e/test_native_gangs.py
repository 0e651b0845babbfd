"""Gangs in Kubernetes' own form, on a real API server that serves it: the examples' job by the native API, and its status."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bayplan.bench.gangs import GATES, VERSION
from bayplan.testing import PodBuilder
from bayplan.testing.control_plane import Binaries, Obj
from bayplan.testing.control_plane.waiting import wait_until
from tests.e2e.stage import Stage, node, open_stage, pod
from tests.e2e.subjects import Subject

pytestmark = pytest.mark.e2e

#: Without the last gate the API server drops what a group says of topology.
API_FLAGS = (
    f"--feature-gates={GATES},TopologyAwareWorkloadScheduling=true",
    f"--runtime-config={VERSION}=true",
)
GROUPS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups"
RACK = "example.com/rack"


@pytest.fixture
def empty_stage(tmp_path: Path, binaries: Binaries, subject: Subject) -> Iterator[Stage]:
    """A cluster with the gates of native groups."""
    if subject != "bayplan":
        pytest.skip("kube-scheduler needs a gate of its own for this")
    with open_stage(tmp_path, binaries, subject, api_flags=API_FLAGS) as stage:
        yield stage


@pytest.fixture
def stage(empty_stage: Stage) -> Stage:
    """The same with a scheduler."""
    empty_stage.start_scheduler().wait_ready()
    return empty_stage


def group(name: str, count: int, **spec: Any) -> Obj:
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": count}}, **spec},
    }


def member(name: str, of: str, cpu: str = "2") -> PodBuilder:
    made = pod(name).requests(cpu=cpu)
    made.manifest["spec"]["schedulingGroup"] = {"podGroupName": of}
    return made


def condition(stage: Stage, name: str) -> tuple[str, str]:
    """What the group's status says: status and reason."""
    found = stage.plane.admin.get(f"{GROUPS}/{name}").get("status", {}).get("conditions", [])
    said = [one for one in found if one["type"] == "PodGroupScheduled"]
    return (said[0]["status"], said[0]["reason"]) if said else ("", "")


def test_all_or_nothing_and_the_condition_says_which(stage: Stage) -> None:
    stage.add(node("n1", cpu="3"), group("train", 2))
    stage.add(member("w-0", "train"), member("w-1", "train"))

    said = stage.wait_refused("default/w-1", "gang train: 1 of 2 members fit")

    assert "lacks cpu (needs 2, largest free 1 on n1)" in said
    wait_until(lambda: condition(stage, "train") == ("False", "Unschedulable"), "False", 30)
    stage.add(node("n2", cpu="2"))
    stage.wait_bound("default/w-0", "default/w-1")
    wait_until(lambda: condition(stage, "train") == ("True", "Scheduled"), "True", 30)


def test_one_rack_for_all(stage: Stage) -> None:
    racks = {"a": 1, "b": 3, "c": 2}
    stage.add(
        *(
            node(f"{rack}{n}", cpu="2").label(RACK, rack)
            for rack, size in racks.items()
            for n in range(size)
        )
    )
    stage.add(group("train", 2, schedulingConstraints={"topology": [{"key": RACK}]}))
    stage.add(member("w-0", "train"), member("w-1", "train"))

    where = stage.wait_bound("default/w-0", "default/w-1")

    # The smallest rack that holds both.
    assert sorted(where.values()) == ["c0", "c1"]


def test_the_solver_places_what_the_members_own_order_does_not(empty_stage: Stage) -> None:
    pytest.importorskip("ortools", reason="the extra bayplan[solver] is not installed")
    stage = empty_stage
    stage.start_scheduler(own={"gangs": {"solver": True}}).wait_ready()
    stage.add(node("n1", cpu="4"), node("n2", cpu="4"), group("train", 3))
    # Each small one takes the emptier node, and none is left for the large one.
    stage.add(member("s-0", "train"), member("s-1", "train"), member("large", "train", cpu="4"))

    where = stage.wait_bound("default/s-0", "default/s-1", "default/large")

    assert where["default/s-0"] == where["default/s-1"] != where["default/large"]
