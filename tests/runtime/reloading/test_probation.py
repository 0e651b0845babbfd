from __future__ import annotations

import pytest

from bayplan.cluster.cluster import Cluster
from bayplan.framework.config.reloading import Rollback
from bayplan.queueing.entry import Queued
from bayplan.runtime.chronicle import ERROR, SCHEDULED, Try
from bayplan.runtime.reloading.probation import Probation
from bayplan.testing import make_pod


def attempt(broken: str = "", began: float = 10.0) -> Try:
    made = Try(Queued(Cluster().info(make_pod("p").build()), 0.0), began)
    made.result = ERROR if broken else SCHEDULED
    made.broken = broken
    return made


@pytest.mark.parametrize(
    ("attempts", "before", "fails"),
    [
        pytest.param("xxx", 0.0, True, id="all of the first ones"),
        pytest.param("xx", 0.0, False, id="too few to say"),
        pytest.param("x....x....x....x", 0.0, True, id="more than a fifth"),
        pytest.param("x......x......x......x", 0.0, False, id="a fifth"),
        pytest.param(".xx.xx.xx", 0.5, False, id="as many as before"),
        pytest.param("." * 50 + "x" * 10, 0.0, False, id="over by then"),
    ],
)
def test_when_it_fails(attempts: str, before: float, fails: bool) -> None:
    said: list[str] = []
    probation = Probation(Rollback(attempts=50), 5.0, before, said.append)
    for each in attempts:
        probation.ended(attempt("Mine" if each == "x" else ""))
    assert bool(said) == fails
    assert len(said) <= 1
    assert not said or "the last by Mine" in said[0]


def test_what_began_before_does_not_count() -> None:
    said: list[str] = []
    probation = Probation(Rollback(), 5.0, 0.0, said.append)
    for _ in range(10):
        probation.ended(attempt("Mine", began=4.0))
    assert (probation.attempts, said) == (0, [])


def test_errors_that_no_plugin_made_do_not_count() -> None:
    said: list[str] = []
    probation = Probation(Rollback(), 5.0, 0.0, said.append)
    for _ in range(10):
        other = attempt()
        other.result = ERROR
        probation.ended(other)
    assert (probation.errors, said) == (0, [])
