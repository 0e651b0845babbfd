"""``docs/reliability.md`` and the tests named after fault cases say the same: no number is missing, and nothing is made up."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
TABLE = TESTS.parent / "docs" / "reliability.md"

#: As many as there are.
CASES = range(1, 55)


def named() -> dict[int, set[str]]:
    """Files by case, from the names of their tests."""
    found: dict[int, set[str]] = defaultdict(set)
    for path in TESTS.rglob("test_*.py"):
        for name in re.findall(r"^def test_case_(\w+)\(", path.read_text("utf-8"), re.MULTILINE):
            for number in re.findall(r"(?:^|_and_)(\d\d)(?=_)", name):
                found[int(number)].add(path.relative_to(TESTS).with_suffix("").as_posix())
    return found


def rows() -> dict[int, str]:
    """What the table has under "tests", by case."""
    lines = re.findall(r"^\| (\d+) \| .+ \| (.+) \|$", TABLE.read_text("utf-8"), re.MULTILINE)
    assert len(lines) == len(CASES)
    return {int(number): tests for number, tests in lines}


def test_no_case_is_missing() -> None:
    assert list(rows()) == list(CASES)
    untested = {n: tests for n, tests in rows().items() if "test_" not in tests}
    assert [n for n, why in untested.items() if not why.startswith("comes with ")] == []


def test_the_table_names_the_tests_there_are() -> None:
    written = {
        number: set(re.findall(r"[\w/]*test_\w+", tests.split("also ")[0]))
        for number, tests in rows().items()
    }
    assert {number: files for number, files in written.items() if files} == named()


def test_what_else_the_table_names_is_there() -> None:
    for tests in rows().values():
        for name in re.findall(r"[\w/]*test_\w+", tests):
            assert (TESTS / f"{name}.py").is_file(), name
