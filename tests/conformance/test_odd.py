"""kube-scheduler's own verdicts on odd cases: every plugin's corners, as bench/differential.py makes them.

Recorded with ``python -m bench.differential --record tests/conformance/data/odd --cases 3000 --seed 2026``. Compared in three
ways: objects put in one after the other, as a stream of events, and with the pod evaluated all the while.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from bench.odd.cases import make_case

from bayplan.errors import BayplanError
from bayplan.framework.registry import Registry
from bayplan.plugins import default_registry
from bayplan.sim.cases import verdict_of
from tests.conformance.compare import Verdict, differences_or_errors
from tests.conformance.restless import over_and_over
from tests.conformance.stream import as_events

DATA = Path(__file__).parent / "data"
Ask = Callable[[Mapping[str, Any], Registry], Verdict]


@cache
def _recorded() -> list[tuple[dict[str, Any], Verdict]]:
    with (
        gzip.open(DATA / "odd-cases.jsonl.gz") as cases,
        gzip.open(DATA / "odd-expected.jsonl.gz") as want,
    ):
        return list(zip(map(json.loads, cases), map(json.loads, want), strict=True))


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(verdict_of, id="once"),
        pytest.param(partial(verdict_of, feed=as_events), id="as a stream"),
        pytest.param(over_and_over, id="over and over"),
    ],
)
@pytest.mark.parametrize("part", range(4))
def test_verdicts_equal_those_of_kube_scheduler(part: int, ask: Ask) -> None:
    registry = default_registry()
    found = []
    for case, want in _recorded()[part::4]:
        try:
            got = ask(case, registry)
        except BayplanError as error:
            got = {"error": str(error)}
        found += [f"{case['id']}: {each}" for each in differences_or_errors(want, got)]
    assert found == []


def test_the_recorded_cases_travel_all_ways() -> None:
    ways = {
        "error": lambda said: "error" in said,
        "turned down whole": lambda said: "preFilter" in said,
        "fits": lambda said: "scores" in said,
        "preempts": lambda said: "preempted" in said,
        "does not preempt": lambda said: "postFilterMessage" in said,
    }
    verdicts = [want for _, want in _recorded()]
    counts = {way: sum(map(came, verdicts)) for way, came in ways.items()}
    assert all(count >= 3 for count in counts.values()), counts


def test_a_case_is_known_by_its_seed_and_number() -> None:
    texts = [json.dumps([make_case(7, number) for number in range(30)]) for _ in range(2)]
    assert texts[0] == texts[1]
    assert texts[0] != json.dumps([make_case(8, number) for number in range(30)])
