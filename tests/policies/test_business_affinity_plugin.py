from __future__ import annotations

import pytest

from bayplan.policies.business_affinity_plugin import BusinessAffinityPlugin
from bayplan.testing import decide, make_cluster, make_node, make_pod

NODES = (
    make_node("core").labels({"zone": "east", "node-level": "core"}),
    make_node("edge").labels({"zone": "edge", "node-level": "edge"}),
    make_node("plain"),
)
NOT_CORE, AT_THE_EDGE = "核心业务必须部署在核心节点", "数据库业务不能部署在边缘节点"


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        pytest.param({}, ["", "", ""], id="nothing said"),
        pytest.param({"business-level": "core"}, ["", NOT_CORE, NOT_CORE], id="core"),
        pytest.param({"business-level": "other"}, ["", "", ""], id="another level"),
        pytest.param({"business-type": "database"}, ["", AT_THE_EDGE, ""], id="database"),
        pytest.param(
            {"business-type": "database", "business-level": "core"},
            ["", NOT_CORE, NOT_CORE],
            id="the level is looked at first",
        ),
    ],
)
def test_the_sketch_s_filter(labels: dict[str, str], why: list[str]) -> None:
    answer = decide(make_pod("p").labels(labels), make_cluster(*NODES), BusinessAffinityPlugin)
    assert [answer.why_not(node.name) for node in NODES] == why


@pytest.mark.parametrize(
    ("preferred", "scores"),
    [("east", [100, 20, 20]), ("edge", [20, 100, 20]), ("", [20, 20, 100]), ("west", [20] * 3)],
)
def test_the_sketch_s_score(preferred: str, scores: list[int]) -> None:
    pod = make_pod("p").labels({"preferred-zone": preferred} if preferred else {})
    answer = decide(pod, make_cluster(*NODES), BusinessAffinityPlugin)
    assert [answer.score(node.name, "BusinessAffinityPlugin") for node in NODES] == scores
