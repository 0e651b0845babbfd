"""Several schedulers in one cluster: as profiles of one process, and as processes side by side."""

from __future__ import annotations

import pytest

from tests.e2e.feeding import Feeder
from tests.e2e.stage import PROFILE, Stage, node, pod
from tests.e2e.subjects import Subject

pytestmark = pytest.mark.e2e

PACKING = {
    "schedulerName": "packing",
    "pluginConfig": [
        {
            "name": "NodeResourcesFit",
            "args": {
                "scoringStrategy": {
                    "type": "MostAllocated",
                    "resources": [{"name": "cpu", "weight": 1}],
                }
            },
        }
    ],
    "plugins": {"multiPoint": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}},
}


def test_two_profiles_of_one_process_place_by_their_own_rules(stage: Stage) -> None:
    stage.add(node("empty"), node("fuller"))
    stage.add(pod("there", scheduler="nobody").on("fuller").requests(cpu="1", memory="1Gi"))
    stage.start_scheduler(profiles=[{"schedulerName": PROFILE}, PACKING]).wait_ready()
    stage.add(pod("packed", scheduler="packing").requests(cpu="1"))
    stage.add(pod("spread").requests(cpu="1"))
    stage.add(pod("nobodys", scheduler="nobody"))
    stage.may_wait.add("default/nobodys")

    assert stage.wait_bound("default/packed", "default/spread") == {
        "default/packed": "fuller",
        "default/spread": "empty",
    }
    assert who_scheduled(stage, "default/packed") == "packing"
    assert who_scheduled(stage, "default/spread") == PROFILE
    assert stage.node_of("default/nobodys") == ""


def test_a_stock_scheduler_beside_binds_its_own_pods_and_we_ours(
    stage: Stage, subject: Subject
) -> None:
    for number in range(5):
        stage.add(node(f"n{number}"))
    stock = [{"schedulerName": "default-scheduler"}]
    stage.start_scheduler("stock", subject="kube-scheduler", profiles=stock).wait_ready()
    stage.start_scheduler("ours").wait_ready()

    # Both see each other's pods come and fill the same nodes: 100 pods of 200m are all that 5 nodes hold.
    pods = [
        pod(f"p{number}", scheduler=PROFILE if number % 2 else "default-scheduler").requests(
            cpu="200m"
        )
        for number in range(90)
    ]
    with Feeder(stage.plane.admin, pods) as feeder:
        stage.wait_bound(*feeder.keys)

    for number in (0, 1, 88, 89):
        expected = PROFILE if number % 2 else "default-scheduler"
        assert who_scheduled(stage, f"default/p{number}") == expected


def who_scheduled(stage: Stage, key: str) -> str:
    """Which scheduler says, in an Event, that it placed the pod."""
    stage.wait_event(key, "Scheduled")
    (event,) = stage.events(key, "Scheduled")
    found: str = event["reportingController"]
    return found


def test_case_02_two_that_do_not_know_of_each_other_want_the_same_pods(stage: Stage) -> None:
    """Without a lease each binds what it can; what the other has bound is refused, and believed."""
    stage.rivals = True
    for number in range(5):
        stage.add(node(f"n{number}"))
    for name in ("one", "two"):
        stage.start_scheduler(name)
    for scheduler in stage.schedulers:
        scheduler.wait_ready()

    pods = [pod(f"p{number}") for number in range(200)]
    with Feeder(stage.plane.admin, pods) as feeder:
        stage.wait_bound(*feeder.keys)

    refused = [scheduler for scheduler in stage.schedulers if "already assigned" in scheduler.log()]
    assert refused, "they got in each other's way"
