"""kube-scheduler's own verdicts on 2,800 cases: every node's code, plugin and reasons, every score, every message.

The cases are run in three ways: objects put in one after the other, objects arriving as a disorderly stream of events,
and through the command line.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bayplan.cluster.audit import check
from bayplan.cluster.cluster import Cluster
from bayplan.model.namespace import Namespace
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.plugins import default_registry
from bayplan.sim.cases import Feed, feed_in_order, verdict_of
from tests.conformance.compare import differences

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
    assert _failures(suite, _as_events) == []


def _in_order_and_recounted(cluster: Cluster, objects: Iterable[Any]) -> None:
    feed_in_order(cluster, objects)
    check(cluster)


def _as_events(cluster: Cluster, objects: Iterable[Any]) -> None:
    """The same end by detours: pods before their nodes, updates, deletions, repetitions, late news."""
    chance = random.Random(1)
    everything = list(objects)
    pods = [obj for obj in everything if isinstance(obj, Pod)]
    others = [obj for obj in everything if not isinstance(obj, Pod)]
    early, late = _split(pods, chance)
    for pod in early:
        _live(cluster, pod, chance)
    for obj in others:
        _arrive(cluster, obj, chance)
    for pod in late:
        _live(cluster, pod, chance)
    # The order of pods on a node decides nothing, but the order of nodes decides an image's size: nodes keep theirs.
    check(cluster)


def _split(pods: list[Pod], chance: random.Random) -> tuple[list[Pod], list[Pod]]:
    early = [pod for pod in pods if chance.random() < 0.5]
    kept = {id(pod) for pod in early}
    return early, [pod for pod in pods if id(pod) not in kept]


def _arrive(cluster: Cluster, obj: Any, chance: random.Random) -> None:
    """Put an object in; now and then also twice, or as something else before."""
    if isinstance(obj, Node) and chance.random() < 0.3:
        bare = msgspec.structs.replace(obj, spec=type(obj.spec)(), status=type(obj.status)())
        cluster.put(bare)
    if isinstance(obj, Namespace) and chance.random() < 0.3:
        cluster.put(obj)
        cluster.remove(obj)
    cluster.put(obj)
    if chance.random() < 0.3:
        cluster.put(obj)


def _live(cluster: Cluster, pod: Pod, chance: random.Random) -> None:
    """A pod's life up to where the case wants it."""
    final = _versioned(pod, 5)
    name = pod.metadata.name
    if chance.random() < 0.3:  # a predecessor of the same name, deleted twice
        before = _versioned(pod, 1, uid=f"{pod.metadata.uid}-before")
        cluster.put(before)
        cluster.remove(before)
        cluster.remove(before)
    if chance.random() < 0.3 and pod.spec.node_name:  # assumed by us, then confirmed
        info = cluster.info(final)
        if not info.finished:
            cluster.assume(info, pod.spec.node_name)
    if chance.random() < 0.3:  # placed with other labels and on nobody's behalf, then changed
        meta = msgspec.structs.replace(final.metadata, labels={"was": name}, resource_version="3")
        cluster.put(msgspec.structs.replace(final, metadata=meta))
    cluster.put(final)
    if chance.random() < 0.3:  # news from the past
        meta = msgspec.structs.replace(final.metadata, labels={"late": name}, resource_version="2")
        cluster.put(msgspec.structs.replace(final, metadata=meta))
    if chance.random() < 0.3:
        cluster.put(final)


def _versioned(pod: Pod, version: int, uid: str = "") -> Pod:
    meta = msgspec.structs.replace(
        pod.metadata, resource_version=str(version), uid=uid or pod.metadata.uid
    )
    return msgspec.structs.replace(pod, metadata=meta)
