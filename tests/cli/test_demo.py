"""``bayplan demo``, whole: the real scheduler on the embedded API, in virtual time."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from bayplan.cli.demo import Show, demo_files
from bayplan.cli.demo_screen import Screen
from bayplan.testing.virtual_time import VirtualClock, run


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    """All that the demo prints but the explanation."""
    folder, stream, clock = tmp_path_factory.mktemp("demo"), io.StringIO(), VirtualClock()
    (folder / "scheduler.log").touch()
    show = Show(demo_files(), folder, Screen(stream), clock)
    assert run(show.run(port=0, serve=False), clock), stream.getvalue()
    return stream.getvalue()


def line_of(shown: str, workload: str) -> str:
    """A row of the table in one line."""
    first, *rows = shown[shown.index(f"│ {workload} ") :].splitlines()
    columns = [[cell.strip()] for cell in first.split("│")[1:-1]]
    for row in rows:
        cells = [cell.strip() for cell in row.split("│")[1:-1]]
        if not cells or cells[0]:
            break
        for column, cell in zip(columns, cells, strict=True):
            column.append(cell)
    return " | ".join(" ".join(filter(None, column)) for column in columns)


@pytest.mark.parametrize(
    ("workload", "bound", "pattern"),
    [
        pytest.param("web", "9 of 9", "zone-a: 3, zone-b: 3, zone-c: 3", id="spread over zones"),
        pytest.param("cache", "3 of 3", "on 3 nodes", id="anti-affinity"),
        pytest.param("database", "3 of 3", "zone-a: 1, zone-b: 1, zone-c: 1", id="volumes"),
        pytest.param("gateway", "3 of 3", "on 3 nodes", id="host ports"),
        pytest.param("training", "8 of 8", "zone-", id="GPUs"),
        pytest.param("notebooks", "6 of 8", "zone-", id="preempted"),
        pytest.param("reports", "24 of 24", "zone-a: 24 on 8 nodes", id="the custom plugin"),
        pytest.param("incident", "1 of 1", "gpu-", id="the preemptor"),
        pytest.param("gated", "0 of 1", "its scheduling gate is closed", id="gated"),
        pytest.param("giant", "0 of 1", "8 Insufficient cpu", id="too large"),
    ],
)
def test_what_went_where(shown: str, workload: str, bound: str, pattern: str) -> None:
    line = line_of(shown, workload)
    assert bound in line
    assert pattern in line


def test_who_had_to_go(shown: str) -> None:
    assert len(re.findall(r"Preempted: notebooks-\S+: Preempted by pod", shown)) == 2


def test_the_files_are_where_they_are_looked_for() -> None:
    expected = {"cluster.yaml", "scheduler.yaml", "workload.yaml", "urgent.yaml"}
    assert expected <= {path.name for path in Path(demo_files()).iterdir()}
