"""Pods: shortcuts, and what does not matter about volumes."""

from __future__ import annotations

import pytest

from bayplan.model.decode import decode_as
from bayplan.model.meta import Condition
from bayplan.model.pod import Pod, PodSpec, PodStatus


@pytest.mark.parametrize(
    ("priority", "expected"),
    [pytest.param(None, 0, id="none given"), pytest.param(-5, -5, id="given")],
)
def test_priority(priority: int | None, expected: int) -> None:
    assert Pod(spec=PodSpec(priority=priority)).priority == expected


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        pytest.param("Running", False, id="running"),
        pytest.param("Succeeded", True, id="succeeded"),
        pytest.param("Failed", True, id="failed"),
        pytest.param("", False, id="not known yet"),
    ],
)
def test_finished(phase: str, expected: bool) -> None:
    assert Pod(status=PodStatus(phase=phase)).is_finished is expected


def test_condition() -> None:
    ready = Condition(type="Ready", status="True")
    pod = Pod(status=PodStatus(conditions=(Condition(type="PodScheduled"), ready)))
    assert pod.condition("Ready") is ready
    assert pod.condition("Initialized") is None


def test_missing_affinities_are_empty_ones() -> None:
    affinity = decode_as(Pod, b'{"spec":{"affinity":{}}}').spec.affinity
    assert affinity is not None
    assert affinity.pod_affinity.required == ()
    assert affinity.pod_anti_affinity.preferred == ()
    assert affinity.node_affinity.required is None
