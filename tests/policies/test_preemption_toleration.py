from __future__ import annotations

from typing import Any

import pytest

from bayplan.cluster.audit import check
from bayplan.cycle.attempt import attempt
from bayplan.cycle.outcome import Unplaced
from bayplan.model.decode import decode
from bayplan.plugins import default_registry
from bayplan.policies.preemption_toleration import MINIMUM, SECONDS
from bayplan.testing import PodBuilder, make_cluster, make_node, make_pod
from bayplan.testing.scheduler import desk_of_profile

PROFILE = {
    "plugins": {
        "postFilter": {"enabled": [{"name": "PreemptionToleration"}], "disabled": [{"name": "*"}]}
    }
}
START = "2026-01-01T00:00:00Z"


def a_class(**annotations: str) -> Any:
    named = {"minimum": MINIMUM, "seconds": SECONDS}
    return decode(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {
                "name": "batch",
                "annotations": {named[key]: value for key, value in annotations.items()},
            },
            "value": 10,
        }
    )


def batch(name: str, started: str = START) -> PodBuilder:
    pod = make_pod(name).on("n").requests(cpu="1").priority(10)
    pod.manifest["spec"]["priorityClassName"] = "batch"
    return pod.started(started) if started else pod


def victims(*objects: Any, priority: int = 100, now: str = "") -> list[str]:
    node = make_node("n").capacity(cpu="1", memory="1Gi", pods="10")
    cluster = make_cluster(node, *objects)
    if now:  # the time is that of the latest thing that happened
        cluster.put(make_pod("latest").on("elsewhere").started(now).build())
    desk = desk_of_profile(cluster, PROFILE, default_registry())
    pod = make_pod("p").requests(cpu="1").priority(priority)
    outcome = attempt(cluster.info(pod.build()), desk)
    check(cluster)
    assert isinstance(outcome, Unplaced), outcome
    return [pod.name for pod in outcome.nominated.victims] if outcome.nominated else []


@pytest.mark.parametrize(
    ("found", "now", "goes"),
    [
        pytest.param(a_class(), "", True, id="a class that says nothing"),
        pytest.param(a_class(seconds="60"), "2026-01-01T00:00:59Z", True, id="no minimum"),
        pytest.param(a_class(minimum="100", seconds="-1"), "", True, id="of the minimum"),
        pytest.param(
            a_class(minimum="101", seconds="60"), "2026-01-01T00:00:59Z", False, id="in its time"
        ),
        pytest.param(
            a_class(minimum="101", seconds="60"), "2026-01-01T00:01:00Z", True, id="after its time"
        ),
        pytest.param(
            a_class(minimum="101", seconds="-1"), "2036-01-01T00:00:00Z", False, id="for ever"
        ),
        pytest.param(a_class(minimum="101"), "", True, id="no seconds"),
        pytest.param(a_class(minimum="high", seconds="-1"), "", True, id="not a number"),
        pytest.param(
            a_class(minimum=str(1 << 31), seconds="-1"), "", True, id="a number that does not fit"
        ),
        pytest.param(
            a_class(minimum="101", seconds=str((1 << 63) - 1)), "", False, id="as good as for ever"
        ),
    ],
)
def test_who_goes(found: Any, now: str, goes: bool) -> None:
    assert victims(found, batch("b"), now=now) == (["b"] if goes else [])


def test_a_pod_that_has_not_started_has_all_its_time_before_it() -> None:
    late = "2030-01-01T00:00:00Z"
    assert victims(a_class(minimum="101", seconds="60"), batch("b", ""), now=late) == []
    assert victims(a_class(minimum="101", seconds="0"), batch("b", ""), now=late) == ["b"]


def test_a_class_that_is_gone_protects_nobody() -> None:
    assert victims(batch("b")) == ["b"]


def test_priority_counts_as_ever() -> None:
    assert victims(a_class(), batch("b"), priority=10) == []
