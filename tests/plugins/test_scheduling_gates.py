"""SchedulingGates: words, and which updates wake a gated pod."""

from __future__ import annotations

import pytest

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.podinfo import PodInfo
from bayplan.framework.events import Action, Hint, Resource
from bayplan.framework.status import unresolvable
from bayplan.plugins.scheduling_gates import SchedulingGates
from bayplan.testing.builders import PodBuilder, make_pod


def gated(*gates: str) -> PodBuilder:
    pod = make_pod("web").uid("web-1")
    pod.manifest["spec"]["schedulingGates"] = [{"name": gate} for gate in gates]
    return pod


def info(pod: PodBuilder) -> PodInfo:
    return Cluster().info(pod.build())


@pytest.mark.parametrize(
    ("gates", "words"),
    [
        pytest.param(["quota"], "waiting for scheduling gates: [quota]", id="one gate"),
        pytest.param(["a", "b"], "waiting for scheduling gates: [a b]", id="two gates"),
    ],
)
def test_a_gated_pod_waits(gates: list[str], words: str) -> None:
    assert SchedulingGates().pre_enqueue(info(gated(*gates))) == unresolvable(words)


def test_a_pod_without_gates_goes_in() -> None:
    assert SchedulingGates().pre_enqueue(info(gated())) is None


def test_only_its_own_update_wakes_a_pod() -> None:
    (event,) = SchedulingGates().wakes_on()
    assert event.resource is Resource.POD
    assert event.actions == Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
    assert event.hint is not None
    pod = info(gated("quota"))
    assert event.hint(pod, gated("quota").build(), gated().build()) is Hint.QUEUE
    stranger = make_pod("other").uid("other-1").build()
    assert event.hint(pod, stranger, stranger) is Hint.SKIP
