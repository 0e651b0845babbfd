"""Replicas and one lease of 3, 2 and 0.5 seconds: the leader dies or stands still in the middle of its work."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bayplan.testing import PodBuilder
from bayplan.testing.control_plane import History, Obj
from tests.e2e.feeding import Feeder
from tests.e2e.stage import Stage, node, pod
from tests.e2e.subjects import Running

pytestmark = pytest.mark.e2e

LEASE = "kube-system/bayplan-e2e"
PODS = 400
BEFORE = 100


@pytest.fixture
def leases(stage: Stage) -> Iterator[History]:
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
    with History(stage.plane.admin, path) as leases:
        yield leases


def holder(leases: dict[str, Obj]) -> str:
    found: str = leases.get(LEASE, {}).get("spec", {}).get("holderIdentity") or ""
    return found


@pytest.fixture
def leader(stage: Stage, leases: History) -> Running:
    """The one that holds the lease, of three: on a busy machine a second one may lose it as well."""
    for number in range(10):
        stage.add(node(f"n{number}", cpu="8"))
    leader = stage.start_scheduler("first", elect=True)
    leases.wait(holder, "leader", 60)
    others = [stage.start_scheduler(name, elect=True) for name in ("second", "third")]
    for other in others:
        other.wait_ready()
    return leader


def pods(first: int, after: int) -> list[PodBuilder]:
    return [pod(f"p{number}").requests(cpu="100m") for number in range(first, after)]


def test_case_22_a_scheduler_that_is_killed_begins_again_from_what_is_there(stage: Stage) -> None:
    for number in range(10):
        stage.add(node(f"n{number}", cpu="8"))
    killed = stage.start_scheduler("killed").wait_ready()
    with Feeder(stage.plane.admin, pods(0, PODS)) as feeder:
        stage.wait_some_bound(BEFORE)
        killed.process.kill()
        stage.start_scheduler("started")
        stage.wait_bound(*feeder.keys)


def test_case_23_the_other_takes_over_when_the_leader_is_killed(
    stage: Stage, leases: History, leader: Running
) -> None:
    before = holder(leases.objects)
    with Feeder(stage.plane.admin, pods(0, PODS)) as feeder:
        stage.wait_some_bound(BEFORE)
        leader.process.kill()
        stage.wait_bound(*feeder.keys)

    assert holder(leases.objects) not in {"", before}
    assert leases.objects[LEASE]["spec"]["leaseTransitions"] >= 1


def test_case_24_a_leader_that_stood_still_steps_down_when_it_wakes(
    stage: Stage, leases: History, leader: Running
) -> None:
    before = holder(leases.objects)
    with Feeder(stage.plane.admin, pods(0, PODS)) as feeder:
        stage.wait_some_bound(BEFORE)
        leader.process.pause()
        leases.wait(lambda objects: holder(objects) not in {"", before}, "new leader", 60)
        # It wakes in the midst of the other's work.
        leader.process.resume()
        stage.wait_bound(*feeder.keys)

    assert leader.process.wait(30) not in {None, 0}
    with Feeder(stage.plane.admin, pods(PODS, PODS + 50)) as feeder:
        stage.wait_bound(*feeder.keys)


def test_a_leader_that_is_told_to_end_hands_over_at_once(
    stage: Stage, leases: History, leader: Running
) -> None:
    with Feeder(stage.plane.admin, pods(0, PODS)) as feeder:
        stage.wait_some_bound(BEFORE)
        exit_code = leader.process.stop()
        stage.wait_bound(*feeder.keys)

    # Released, not run out: an empty holder is what the other one saw.
    released = [
        event for event in leases.events if event.key == LEASE and not holder({LEASE: event.object})
    ]
    assert released
    assert exit_code == 0
