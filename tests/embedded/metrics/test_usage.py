"""What simulated containers use: a share of what they ask for, the same each time it is looked at."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.embedded.metrics.usage import USES, Usage

MI = 1 << 20
NANO = 10**9


def pod(*requests: dict[str, str], uses: str = "", limits: dict[str, str] | None = None) -> Any:
    containers = [
        {"name": f"c{number}", "resources": {"requests": asked, "limits": limits or {}}}
        for number, asked in enumerate(requests)
    ]
    notes = {USES: uses} if uses else {}
    meta = {"name": "web", "namespace": "default", "annotations": notes}
    return {"metadata": meta, "spec": {"containers": containers}}


def test_a_share_of_what_is_asked_for() -> None:
    used = Usage().of_containers(pod({"cpu": "2", "memory": "1Gi"}), 0.0)["c0"]
    assert 0.2 * 2 * NANO <= used["cpu"] <= 0.9 * 2 * NANO
    assert 0.55 * 1024 * MI * NANO <= used["memory"] <= 0.9 * 1024 * MI * NANO


def test_who_asks_for_nothing_uses_a_little() -> None:
    used = Usage().of_containers(pod({}), 0.0)["c0"]
    assert 0 < used["cpu"] < NANO // 10
    assert 0 < used["memory"] < 64 * MI * NANO


def test_the_same_each_time_and_another_with_another_seed() -> None:
    one = pod({"cpu": "1"})
    assert Usage(7).of_containers(one, 90.0) == Usage(7).of_containers(one, 90.0)
    assert Usage(7).of_containers(one, 90.0) != Usage(8).of_containers(one, 90.0)
    assert Usage(7).of_containers(one, 90.0) != Usage(7).of_containers(one, 300.0)


def test_never_more_than_the_limit() -> None:
    used = Usage().of_containers(pod({"cpu": "2"}, limits={"cpu": "100m"}), 0.0)["c0"]
    assert used["cpu"] == NANO // 10


@pytest.mark.parametrize(
    ("said", "cpu"),
    [
        pytest.param("cpu=1500m", 1500_000_000, id="CPU alone"),
        pytest.param("memory=1Gi, cpu=2", 2 * NANO, id="both"),
    ],
)
def test_a_pod_that_says_so_itself(said: str, cpu: int) -> None:
    used = Usage().of_containers(pod({"cpu": "1"}, {"cpu": "1"}, {}, uses=said), 0.0)
    assert sum(one["cpu"] for one in used.values()) == cpu


@pytest.mark.parametrize("said", ["cpu", "cpu=lots", "cpu=-1", "gpu=1", ",,=,"])
def test_what_cannot_be_read_is_not_said(said: str) -> None:
    plain, odd = pod({"cpu": "1"}), pod({"cpu": "1"}, uses=said)
    assert Usage().of_containers(odd, 0.0) == Usage().of_containers(plain, 0.0)


@given(st.floats(0, 1e9), st.integers(1, 5), st.integers(1, 10**12))
def test_nothing_is_lost_between_the_containers(at_s: float, count: int, nanos: int) -> None:
    said = pod(*[{}] * count, uses=f"cpu={nanos}n")
    used = Usage().of_containers(said, at_s)
    assert sum(one["cpu"] for one in used.values()) == nanos
