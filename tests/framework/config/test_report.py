from __future__ import annotations

from bayplan.framework.config.document import read_documents
from bayplan.framework.config.report import Report


def test_problems_carry_their_lines() -> None:
    report = Report(read_documents("a:\n  b: 1\n")[0][0])
    report.error(("a", "b"), "is wrong")
    report.error(("a", "c"), "is missing")
    report.warn(("a",), "is odd")
    assert [str(problem) for problem in report.problems] == [
        "line 2: a.b: is wrong",
        "line 1: a.c: is missing",
    ]
    assert report.warnings == ["line 1: a: is odd"]


def test_a_broken_value_is_named_once() -> None:
    report = Report()
    report.broken(("a",), "is no number")
    report.error(("a",), "must be positive")
    assert [problem.message for problem in report.problems] == ["is no number"]


def test_documents_of_a_file_share_their_findings() -> None:
    whole = Report()
    Report(parent=whole).error((), "first")
    Report(parent=whole).warn((), "second")
    assert [problem.message for problem in whole.problems] == ["first"]
    assert whole.warnings == ["second"]
