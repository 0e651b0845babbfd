from __future__ import annotations

import io
import re
from collections.abc import Iterator

import pytest

from bayplan.telemetry import log
from bayplan.testing import make_node, make_pod
from tests.runtime.fakes import Bench, on_bench


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    written = io.StringIO()
    log.setup(0, "text", written)
    yield written
    log.set_verbosity(0)


@pytest.mark.parametrize(
    ("level", "messages"),
    [
        (0, set()),
        (2, {"Successfully bound pod to node"}),
        (
            3,
            {
                "Add event for node",
                "Add event for unscheduled pod",
                "Attempting to schedule pod",
                "Attempting to bind pod to node",
                "Add event for scheduled pod",
            },
        ),
        (4, {"Status after running PreEnqueue plugin"}),
        (5, {"Pod moved to an internal scheduling queue"}),
        (
            10,
            {
                "Node turned down",
                "Plugin scored node for pod",
                "Calculated node's final score for pod",
            },
        ),
    ],
)
def test_what_each_level_adds(stream: io.StringIO, level: int, messages: set[str]) -> None:
    async def scenario(bench: Bench) -> None:
        log.set_verbosity(level)
        bench.add_nodes(make_node("a"), make_node("b").cordoned())
        bench.api.create(make_pod("web"))
        await bench.until_bound("default/web")

    on_bench(scenario)
    said = set(re.findall(r'\] "([^"]*)"', stream.getvalue()))
    assert messages <= said
    if level < 10:
        assert "Plugin scored node for pod" not in said
    if level < 5:
        assert "Pod moved to an internal scheduling queue" not in said
    if level < 3:
        assert "Attempting to schedule pod" not in said


def test_the_final_score_is_the_sum(stream: io.StringIO) -> None:
    async def scenario(bench: Bench) -> None:
        log.set_verbosity(10)
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web"))
        await bench.until_bound("default/web")

    on_bench(scenario)
    text = stream.getvalue()
    parts = re.findall(r'"Plugin scored node for pod".* score=(\d+)', text)
    (total,) = re.findall(r'"Calculated node\'s final score for pod".* score=(\d+)', text)
    assert sum(map(int, parts)) == int(total)
