"""A pod's story as people read it; asked for over real sockets in ``tests/e2e/test_insight.py``."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.fakes import Bench, on_bench
from tests.serve.debug.visitor import Visitor, stuck

from bayplan.cli.story import print_story
from bayplan.testing import make_node, make_pod


def printed(capsys: pytest.CaptureFixture[str], key: str, **query: str) -> str:
    """What is printed of a pod of the scene."""
    stories: list[Any] = []

    async def scenario(bench: Bench) -> None:
        await stuck(bench)
        bench.clock.advance(95)
        stories.append(await Visitor(bench).get(f"/debug/decisions/{key}", **query))

    on_bench(scenario)
    print_story(stories[0])
    return capsys.readouterr().out


def test_a_pod_that_waits(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "default/big")
    lines = text.splitlines()
    assert lines[0] == (
        "default/big waits: unschedulable for 95s, turned down by NodeResourcesFit, NodeUnschedulable; 1 attempt in 95s"
    )
    assert lines[2].split() == ["TIME", "QUEUE", "BY"]
    assert lines[3].split() == ["2026-01-01T00:00:00.000Z", "active", "UnschedulablePodAdd"]
    assert lines[6].split() == ["ATTEMPT", "TIME", "TOOK", "RESULT", "BY", "MESSAGE"]
    assert "as decided at 2026-01-01T00:00:00.000Z:" in lines
    assert "  - ask for 2 less cpu: fits on a" in lines


def test_a_pod_behind_a_gate(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "default/held")
    assert text.startswith(
        "default/held waits: gated for 95s, kept out by SchedulingGates; 0 attempts in 95s"
    )
    assert "it is not tried at all as long as SchedulingGates says" in text


def test_a_pod_that_is_placed(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "default/web")
    assert text.startswith("default/web is on a\n")
    assert "default/web goes to a: the only one of 2 nodes that fits" in text


def test_one_node_looked_at_closely(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "default/web", node="b")
    assert "b is turned down" in text
    assert "node(s) were unschedulable" in text
    assert "  - uncordon b: fits on b" in text


def test_of_many_nodes_those_that_are_not_sent_are_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stories: list[Any] = []

    async def scenario(bench: Bench) -> None:
        bench.add_nodes(*(make_node(f"n{number:02}") for number in range(40)))
        bench.api.create(make_pod("web"))
        bench.add_nodes(*(make_node(f"c{number:02}").cordoned() for number in range(30)))
        await bench.until_bound("default/web")
        stories.append(await Visitor(bench).get("/debug/decisions/default/web"))

    on_bench(scenario)
    print_story(stories[0])
    text = capsys.readouterr().out
    assert "of 40 nodes that fit" in text
    assert "20 more that fit (-o wide shows all)" in text or "19 more that fit" in text
    assert "10 more turned down" in text
