from __future__ import annotations

from datetime import timedelta

import pytest

from bayplan.framework.config.coordination import Coordination, Standby


def test_leases() -> None:
    assert Standby(scheduler_name="gpu").reference == ("kube-system", "bayplan-gpu")
    assert Standby(scheduler_name="gpu", lease="ops/gpu").reference == ("ops", "gpu")


@pytest.mark.parametrize(
    ("seconds", "fine"), [(0, True), (0.05, True), (5, True), (5.1, False), (-1, False)]
)
def test_how_long_a_binding_may_wait(seconds: float, fine: bool) -> None:
    problems = list(Coordination(yield_for=timedelta(seconds=seconds)).check())
    assert (problems == []) is fine
