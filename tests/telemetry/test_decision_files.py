"""Files of decisions: written, begun anew, deleted, torn, and read again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bayplan.telemetry.decision_files import Limits, complete_files, open_decisions, read_decisions

NOW = 1_767_225_600.0
SUFFIXES = [".jsonl", ".parquet"]


def record(number: int, **more: Any) -> dict[str, Any]:
    return {
        "v": 1,
        "time": "2026-01-01T00:00:00.000000Z",
        "pod": f"default/p{number}",
        "uid": f"u{number}",
        "attempt": number,
        "result": "scheduled",
        "seconds": 0.25,
        "plugins": ["A", "B"],
        "scores": {"NodeResourcesFit": 40},
        **more,
    }


def numbers(path: Path) -> list[int]:
    return [found["attempt"] for found in read_decisions(path)]


@pytest.fixture(params=SUFFIXES)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == ".parquet":
        pytest.importorskip("pyarrow", reason="pip install bayplan[parquet]")
    found: Path = tmp_path / "log" / f"decisions{request.param}"
    return found


def test_what_is_written_is_read(path: Path) -> None:
    file = open_decisions(path, Limits())
    written = [record(1), record(2, node="n1", message="0/1 nodes: “busy”", victims=["a/b"])]
    file.write(written[:1], NOW)
    file.write(written[1:], NOW + 1)
    file.close(NOW + 2)
    assert list(read_decisions(path)) == written


def test_an_old_file_is_complete_and_another_is_begun(path: Path) -> None:
    file = open_decisions(path, Limits(file_age_s=60))
    for number in range(5):
        file.write([record(number)], NOW + 30 * number)
    file.close(NOW + 150)
    assert len(complete_files(path)) >= 2
    assert complete_files(path)[0].name.startswith("decisions-20260101T0001")
    assert numbers(path) == [0, 1, 2, 3, 4]


def test_so_many_files_are_kept_and_the_oldest_goes(path: Path) -> None:
    file = open_decisions(path, Limits(file_bytes=1, files=3))
    for number in range(8):
        # All within one second: their names say nevertheless which is older.
        file.write([record(number)], NOW)
    file.close(NOW)
    assert len(complete_files(path)) == 3
    kept = numbers(path)
    assert kept == list(range(8))[-len(kept) :]
    assert len(kept) in (3, 4)


def test_another_process_goes_on_where_the_first_one_stopped(path: Path) -> None:
    for start in (0, 10):
        file = open_decisions(path, Limits())
        file.write([record(start)], NOW + start)
        file.close(NOW + start + 1)
    assert numbers(path) == [0, 10]


def test_a_torn_line_costs_itself_alone(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    first = open_decisions(path, Limits())
    first.write([record(1)], NOW)
    with path.open("ab") as torn:
        torn.write(b'{"v":1,"pod":"default/p2","att')
    second = open_decisions(path, Limits())
    second.write([record(3)], NOW)
    second.close(NOW)
    first.close(NOW)
    assert numbers(path) == [1, 3]


def test_a_file_that_was_moved_away_is_begun_again(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    file = open_decisions(path, Limits())
    file.write([record(1)], NOW)
    path.rename(tmp_path / "kept")
    file.write([record(2)], NOW)
    file.close(NOW)
    assert numbers(path) == [2]


def test_a_place_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    file = open_decisions(tmp_path / "file" / "d.jsonl", Limits())
    with pytest.raises(OSError, match="file"):
        file.write([record(1)], NOW)
