from __future__ import annotations

import pytest

from bayplan.policies.custom_score_plugin import CustomScorePlugin
from bayplan.testing import decide, make_cluster, make_node, make_pod

NAME = "CustomScorePlugin"


@pytest.mark.parametrize(("factor", "scores"), [(10, [50, 100]), (5, [25, 50]), (30, [100, 100])])
def test_what_is_left_times_the_factor(factor: int, scores: list[int]) -> None:
    cluster = make_cluster(
        make_node("half"), make_node("idle"), make_pod("r").requests(cpu="2").on("half")
    )
    args = {NAME: {"weightFactor": factor}}
    answer = decide(make_pod("p"), cluster, CustomScorePlugin, args=args)
    assert [answer.score(n, NAME) for n in ("half", "idle")] == scores


def test_gpu_nodes_are_for_gpu_pods() -> None:
    cluster = make_cluster(make_node("gpu").capacity({"nvidia.com/gpu": "1"}), make_node("plain"))
    args = {NAME: {"enableGPUScheduling": True}}
    answer = decide(make_pod("p"), cluster, CustomScorePlugin, args=args)
    assert [answer.score(n, NAME) for n in ("gpu", "plain")] == [50, 100]
