from __future__ import annotations

from pathlib import Path

import pytest

from bayplan.kit.linting.report import Measuring, lint
from bayplan.kit.linting.speed import Speed, check
from tests.kit.linting.writing import rules, subject

PLAIN = "class A(ScorePlugin):\n    def score_node(self, pod, node):\n        return 3\n"


class Ticking:
    """A clock by which everything takes a millisecond."""

    def __init__(self) -> None:
        self.passed = 0.0

    def now(self) -> float:
        return self.passed

    def monotonic(self) -> float:
        self.passed += 0.001
        return self.passed


def test_pods_per_second(tmp_path: Path) -> None:
    measuring = Measuring(Ticking(), nodes=5, seconds=0.05)
    report = lint(subject(tmp_path, PLAIN), measuring)
    assert report.speed is not None
    assert report.speed.with_plugin == pytest.approx(1000)
    assert report.speed.alone == pytest.approx(1000)
    assert rules(report) == []


def test_one_attempt_that_takes_all_the_time_there_is(tmp_path: Path) -> None:
    report = lint(subject(tmp_path, PLAIN), Measuring(Ticking(), nodes=5, seconds=0.0005))
    assert report.speed is not None
    assert report.speed.with_plugin == pytest.approx(1000)


def test_a_plugin_that_cannot_make_do_with_its_own_words(tmp_path: Path) -> None:
    body = PLAIN.replace("return 3", "return int(node.labels.get('rank', '1'))")
    report = lint(subject(tmp_path, body), Measuring(Ticking(), nodes=5, seconds=0.05))
    assert report.speed is not None


@pytest.mark.parametrize(
    ("pods", "least", "expected"),
    [
        pytest.param(5000, 0, [], id="fast"),
        pytest.param(300, 0, ["doubt"], id="slower than kube-scheduler"),
        pytest.param(300, 400, ["fault"], id="slower than was asked for"),
        pytest.param(500, 1000, ["fault"], id="fast, and not fast enough"),
    ],
)
def test_what_is_said_of_it(pods: float, least: float, expected: list[str]) -> None:
    assert [f.severity.value for f in check(Speed(5000, 9000, pods), least)] == expected
