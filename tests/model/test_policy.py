"""Budgets and priority classes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bayplan.errors import DecodeError
from bayplan.model.decode import decode_as
from bayplan.model.policy import PodDisruptionBudget, PriorityClass, ResourceQuota


@pytest.mark.parametrize(
    "amount", [pytest.param(1, id="a number"), pytest.param("50%", id="a share"), None]
)
def test_amounts_of_a_budget(amount: int | str | None) -> None:
    budget = decode_as(PodDisruptionBudget, {"spec": {"minAvailable": amount}})
    assert budget.spec.min_available == amount


def test_amounts_are_whole() -> None:
    with pytest.raises(DecodeError, match=r"spec\.maxUnavailable: expected int \| str, got float"):
        decode_as(PodDisruptionBudget, {"spec": {"maxUnavailable": 0.5}})


def test_disrupted_pods() -> None:
    raw = b'{"status":{"disruptedPods":{"a":"2024-05-01T00:00:00Z","b":null}}}'
    budget = decode_as(PodDisruptionBudget, raw)
    assert budget.status.disrupted_pods == {"a": datetime(2024, 5, 1, tzinfo=UTC), "b": None}


def test_priority_class() -> None:
    found = decode_as(PriorityClass, {"value": 1000, "preemptionPolicy": "Never"})
    assert (found.value, found.global_default, found.preemption_policy) == (1000, False, "Never")


def test_quota_is_of_quantities() -> None:
    with pytest.raises(
        DecodeError, match=r"ResourceQuota q: spec\.hard\.requests\.cpu: quantities"
    ):
        decode_as(
            ResourceQuota, {"metadata": {"name": "q"}, "spec": {"hard": {"requests.cpu": "x"}}}
        )
