"""Two bayplans with a profile each: one is killed, the other serves both profiles until it is back. Leases of 3, 2 and 0.5 s."""

from __future__ import annotations

import pytest

from bayplan.testing import PodBuilder
from bayplan.testing.control_plane import wait_until
from tests.e2e.feeding import Feeder
from tests.e2e.stage import PROFILE, Stage, node, pod
from tests.e2e.subjects import Running

pytestmark = pytest.mark.e2e

BATCH = "batch"
STANDING_IN = f'bayplan_standing_in{{profile="{BATCH}"}}'
#: From the start of an interpreter to a lease of which nobody doubts any more.
PATIENCE_S = 60.0


def start_owner(stage: Stage, name: str) -> Running:
    profiles = [{"schedulerName": BATCH}]
    return stage.start_scheduler(name, profiles=profiles, elect=True, lease="bayplan-batch")


@pytest.fixture
def standby(stage: Stage) -> Running:
    if stage.subject != "bayplan":
        pytest.skip("kube-scheduler stands in for nobody")
    for number in range(10):
        stage.add(node(f"n{number}", cpu="16"))
    return stage.start_scheduler(
        "standby",
        profiles=[{"schedulerName": PROFILE}, {"schedulerName": BATCH}],
        elect=True,
        lease="bayplan-main",
        own={"standby": [{"schedulerName": BATCH}]},
    )


def pods(first: int, after: int) -> list[PodBuilder]:
    """Every second one of either profile."""
    return [
        pod(f"p{number}", scheduler=(PROFILE, BATCH)[number % 2]).requests(cpu="100m")
        for number in range(first, after)
    ]


def test_a_profile_survives_its_scheduler(stage: Stage, standby: Running) -> None:
    owner = start_owner(stage, "owner").wait_ready()
    standby.wait_ready()
    with Feeder(stage.plane.admin, pods(0, 300)) as feeder:
        stage.wait_some_bound(80)
        owner.process.kill()
        stage.wait_bound(*feeder.keys)
    assert standby.metric(STANDING_IN) == 1

    # Back again, in the midst of the other's work: each pod is still bound by one of the two.
    with Feeder(stage.plane.admin, pods(300, 700)) as feeder:
        stage.wait_some_bound(350)
        returned = start_owner(stage, "returned").wait_ready()
        stage.wait_bound(*feeder.keys)
    wait_until(lambda: standby.metric(STANDING_IN) == 0, "profile given back", PATIENCE_S)

    with Feeder(stage.plane.admin, pods(700, 720)) as feeder:
        stage.wait_bound(*feeder.keys)
    done = f'scheduler_schedule_attempts_total{{result="scheduled",profile="{BATCH}"}}'
    assert returned.metric(done) >= 10
    assert (
        standby.metric(
            f'scheduler_schedule_attempts_total{{result="scheduled",profile="{PROFILE}"}}'
        )
        == 360
    )
