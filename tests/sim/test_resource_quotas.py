from __future__ import annotations

from typing import Any

import pytest

from bayplan.model.decode import decode_as
from bayplan.model.policy import ResourceQuota
from bayplan.sim.resource_quotas import refusals, standing
from bayplan.testing import PodBuilder, make_pod


def quota(
    hard: dict[str, Any], used: dict[str, Any] | None = None, *scopes: str, name: str = "q"
) -> ResourceQuota:
    raw = {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"hard": hard, "scopes": list(scopes)},
        "status": {"hard": hard, "used": used or {}},
    }
    return decode_as(ResourceQuota, raw)


def said(pod: PodBuilder, *quotas: ResourceQuota) -> list[str]:
    return list(refusals(pod.build(), quotas))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(quota({"requests.cpu": "2", "pods": 3}, {"pods": 2}), [], id="room enough"),
        pytest.param(
            quota({"requests.cpu": "1", "pods": "10"}, {"requests.cpu": "900m", "pods": 1}),
            [
                "exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=900m, limited: requests.cpu=1"
            ],
            id="requests",
        ),
        pytest.param(
            quota({"pods": "1", "memory": "1Gi"}, {"pods": "1", "memory": "1Gi"}),
            [
                "exceeded quota: q, requested: memory=256Mi,pods=1, used: memory=1Gi,pods=1, limited: memory=1Gi,pods=1"
            ],
            id="two at once",
        ),
        pytest.param(
            quota({"limits.cpu": "9"}),
            ["failed quota: q: must specify limits.cpu for: main"],
            id="a limit that is not said",
        ),
        pytest.param(quota({"pods": 0}, None, "BestEffort"), [], id="of another scope"),
        pytest.param(
            quota({"pods": 0}, None, "NotBestEffort", "NotTerminating"),
            ["exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0"],
            id="of its scope",
        ),
    ],
)
def test_what_the_api_server_would_say(found: ResourceQuota, expected: list[str]) -> None:
    assert said(make_pod("p").requests(cpu="500m", memory="256Mi"), found) == expected


def test_another_namespace_is_none_of_its_business() -> None:
    assert said(make_pod("p", "other"), quota({"pods": 0})) == []


def test_what_is_used() -> None:
    quotas = [
        quota({"requests.cpu": "1", "pods": "10"}, {"requests.cpu": "900m"}, name="b"),
        quota({"pods": 3}, name="a"),
    ]
    assert list(standing(quotas, "default")) == [
        "ResourceQuota a of namespace default: pods 0 of 3 used",
        "ResourceQuota b of namespace default: pods 0 of 10, requests.cpu 900m of 1 used",
    ]
