"""Check ``speed``: pods per second at 5,000 nodes, with the plugin and without it.

The engine alone, as in ``make bench-engine``: no API server. The clock is passed in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from bayplan.cluster.cluster import Cluster
from bayplan.cycle.attempt import attempt
from bayplan.cycle.outcome import Failed, Placed
from bayplan.errors import BayplanError
from bayplan.kit.linting.findings import Finding, Severity
from bayplan.kit.linting.vocabulary import Vocabulary
from bayplan.testing.builders import make_node, make_pod
from bayplan.testing.scheduler import make_desk

if TYPE_CHECKING:
    from bayplan.clock import Clock
    from bayplan.cycle.desk import Desk
    from bayplan.kit.linting.subject import Subject
    from bayplan.model.pod import Pod

RULE: Final = "speed"
#: About what a stock kube-scheduler places per second on 5,000 nodes, whatever the plugins: slower than that is slow.
STOCK: Final = 440
_PODS: Final = 2000
_WARM_UP: Final = 20


@dataclass(frozen=True, slots=True)
class Speed:
    """Pods per second."""

    nodes: int
    alone: float
    with_plugin: float


def measure(subject: Subject, words: Vocabulary, clock: Clock, nodes: int, seconds: float) -> Speed:
    """Place alike pods on ``nodes`` nodes, for at most so many seconds each time; the better of two runs."""
    rates = {False: 0.0, True: 0.0}
    for with_plugin in (False, True) * 2:
        cluster = _cluster(words, nodes)
        desk = subject.desk_beside_defaults(cluster) if with_plugin else make_desk(cluster)
        rates[with_plugin] = max(rates[with_plugin], _rate(desk, words, clock, seconds))
    return Speed(nodes, rates[False], rates[True])


def check(speed: Speed, least: float) -> Iterator[Finding]:
    """What is to be said of a speed; ``least``: below it the plugin is at fault."""
    if speed.with_plugin >= max(least, STOCK):
        return
    fault = speed.with_plugin < least
    than = f"the {least:,.0f} asked for" if fault else f"kube-scheduler's own {STOCK}"
    yield Finding(
        RULE,
        f"{speed.with_plugin:,.0f} pods/s at {speed.nodes:,} nodes, less than {than}",
        "write filter and score in columns (docs/guide/columns.md), or say in reads what the answer depends on",
        Severity.FAULT if fault else Severity.DOUBT,
    )


def _rate(desk: Desk, words: Vocabulary, clock: Clock, seconds: float) -> float:
    """Pods per second once the first few are through, or of the first one where it takes all the time there is."""
    template = _pod(words)
    first = _place(desk, template, 0, clock)
    if first >= seconds:
        return 1 / first
    for number in range(1, _WARM_UP):
        _place(desk, template, number, clock)
    spent, placed = 0.0, 0
    while placed < _PODS and spent < seconds:
        spent += _place(desk, template, _WARM_UP + placed, clock)
        placed += 1
    return placed / spent


def _place(desk: Desk, template: Pod, number: int, clock: Clock) -> float:
    """Decide one pod and take its room; the seconds that it took."""
    meta = msgspec.structs.replace(template.metadata, name=f"p{number}", uid=f"uid-{number}")
    pod = desk.cluster.info(msgspec.structs.replace(template, metadata=meta))
    start = clock.monotonic()
    outcome = attempt(pod, desk)
    if isinstance(outcome, Placed):
        desk.cluster.assume(outcome.pod, outcome.node)
    elif isinstance(outcome, Failed):
        raise BayplanError(str(outcome.error))
    return clock.monotonic() - start


def _pod(words: Vocabulary) -> Pod:
    pod = make_pod("p0").requests(cpu="100m", memory="200Mi")
    for word in words.words:
        pod.label(word, "true")
    return pod.build()


def _cluster(words: Vocabulary, count: int) -> Cluster:
    cluster = Cluster()
    template = make_node("n0").zone("z0")
    for number, word in enumerate(words.words):
        template.label(word, words.words[number - 1])
    for resource in words.resources:
        template.capacity({resource: "8"})
    node = template.build()
    for i in range(count):
        labels = {
            **node.metadata.labels,
            "kubernetes.io/hostname": f"n{i}",
            "topology.kubernetes.io/zone": f"z{i % 3}",
        }
        meta = msgspec.structs.replace(node.metadata, name=f"n{i}", labels=labels)
        cluster.put(msgspec.structs.replace(node, metadata=meta))
        for metric in words.metrics:
            cluster.set_data(f"n{i}", metric, (i % 70) / 100)
    return cluster
