from __future__ import annotations

import pytest

from bayplan.policies.compliance_zone import ComplianceZone
from bayplan.testing import decide, make_cluster, make_node, make_pod

REGION = "topology.kubernetes.io/region"
NODES = (
    make_node("west").labels({REGION: "eu-west-1", "security-level": "2"}),
    make_node("us").labels({REGION: "us-east-1", "security-level": "3"}),
    make_node("nowhere").label("security-level", "odd"),
)
OUTSIDE = "data must stay in eu"


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        pytest.param({}, ["", "", ""], id="nothing said"),
        pytest.param({"data-residency": "eu"}, ["", OUTSIDE, OUTSIDE], id="a residency"),
        pytest.param(
            {"data-residency": "us-east-1"},
            ["data must stay in us-east-1", "", "data must stay in us-east-1"],
            id="a region",
        ),
        pytest.param(
            {"security-level": "3"},
            ["security level is below 3", "", "security level is below 3"],
            id="a level",
        ),
        pytest.param(
            {"security-level": "high"},
            ["security level is below inf"] * 3,
            id="a typing error opens no door",
        ),
    ],
)
def test_who_may_go_where(labels: dict[str, str], why: list[str]) -> None:
    args = {"ComplianceZone": {"residencies": {"eu": ["eu-west-1", "eu-central-1"]}}}
    pod = make_pod("p").labels(labels)
    answer = decide(pod, make_cluster(*NODES), ComplianceZone, args=args)
    assert [answer.why_not(node.name) for node in NODES] == why
