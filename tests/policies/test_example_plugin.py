from __future__ import annotations

import asyncio
import logging

import pytest

from bayplan.framework.state import CycleState
from bayplan.policies.example_plugin import ExamplePlugin
from bayplan.testing import decide, make_cluster, make_node, make_pod


def test_scores_are_random_and_come_from_the_seed() -> None:
    cluster = make_cluster(*(make_node(f"n{i}") for i in range(30)))
    names = [f"n{i}" for i in range(30)]

    def scores(seed: int) -> list[int]:
        answer = decide(make_pod("p"), cluster, ExamplePlugin, seed=seed)
        return [answer.score(name, "ExamplePlugin") for name in names]

    first = scores(1)
    assert len(set(first)) > 10
    assert all(0 <= score < 100 for score in first)
    assert scores(1) == first
    assert scores(2) != first


def test_the_decision_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    pod = make_cluster().info(make_pod("web", "shop").build())
    with caplog.at_level(logging.INFO):
        asyncio.run(ExamplePlugin().postbind(pod, "n7", CycleState()))
    assert "Decision: shop/web => n7" in caplog.messages
