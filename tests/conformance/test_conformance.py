"""kube-scheduler's own verdicts on 2,800 cases: every node's code, plugin and reasons, every score, every message.

The cases are run in three ways: objects put in one after the other, objects arriving as a disorderly stream of events,
and through the command line.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bayplan.cluster.audit import check
from bayplan.cluster.cluster import Cluster
from bayplan.plugins import default_registry
from bayplan.sim.cases import Feed, feed_in_order, verdict_of
from tests.conformance.compare import differences
from tests.conformance.stream import as_events

DATA = Path(__file__).parent / "data"
SUITES = (
    "resources",
    "taints",
    "nodeaffinity",
    "spread",
    "defaultspread",
    "interpod",
    "ports",
    "images",
    "volumes",
    "disks",
    "resize",
    "preemption",
    "preemption2",
    "mixed",
)


@cache
def _cases() -> dict[str, list[tuple[dict[str, Any], dict[str, Any]]]]:
    suites: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    with gzip.open(DATA / "cases.jsonl.gz") as cases, gzip.open(DATA / "expected.jsonl.gz") as want:
        for case, expected in zip(map(json.loads, cases), map(json.loads, want), strict=True):
            assert case["id"] == expected["id"]
            suites.setdefault(case["suite"], []).append((case, expected))
    return suites


def _failures(suite: str, feed: Feed) -> list[str]:
    registry = default_registry()
    failures = []
    for case, expected in _cases()[suite]:
        failures += [
            f"{case['id']}: {difference}"
            for difference in differences(expected, verdict_of(case, registry, feed=feed))
        ]
    return failures


def test_there_are_two_hundred_cases_in_each_suite() -> None:
    assert {suite: len(cases) for suite, cases in _cases().items()} == dict.fromkeys(SUITES, 200)


@pytest.mark.parametrize("suite", SUITES)
def test_verdicts_equal_those_of_kube_scheduler(suite: str) -> None:
    assert _failures(suite, _in_order_and_recounted) == []


@pytest.mark.parametrize("suite", SUITES)
def test_verdicts_are_the_same_after_a_disorderly_stream_of_events(suite: str) -> None:
    assert _failures(suite, as_events) == []


def _in_order_and_recounted(cluster: Cluster, objects: Iterable[Any]) -> None:
    feed_in_order(cluster, objects)
    check(cluster)
