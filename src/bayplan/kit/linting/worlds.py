"""Made-up clusters in which a plugin has something to say, and what happens in them.

Drawn from a seeded source, so that the same plugin gets the same worlds in every run. Read by the checks.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.podinfo import PodInfo
from bayplan.kit.linting.vocabulary import Vocabulary
from bayplan.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod
from bayplan.testing.scheduler import make_cluster

#: So many clusters of so many nodes, and so many pods to place in each.
WORLDS: Final = 8
_NODES: Final = 12
_PODS: Final = 6
_PLACED: Final = 8
#: Beside the plugin's own words and numbers.
_VALUES: Final = ("true", "a", "3", "high")
_NUMBERS: Final = (0.0, 0.2, 0.5, 0.8, 0.95)
_TINY: Final = 1e-3
#: Metrics that are parts of a whole.
SHARES: Final = frozenset({"cpu", "memory", "network"})


@dataclass(frozen=True, slots=True)
class World:
    """A cluster, and pods that nobody has placed yet."""

    cluster: Cluster
    pods: list[PodInfo]
    #: Lets something happen to a node or to the pods on it; the number only tells one time from the next.
    happen: Callable[[int], None]


def worlds(words: Vocabulary, count: int = WORLDS) -> Iterator[World]:
    """Clusters, each different and always the same ones."""
    for seed in range(count):
        yield _Maker(words, seed).world()


class _Maker:
    def __init__(self, words: Vocabulary, seed: int) -> None:
        self._words = words
        self._dice = random.Random(seed)
        self._cluster = Cluster()
        near = [n + step for n in words.numbers for step in (-_TINY, 0.0, _TINY)]
        self._numbers = (*_NUMBERS, *near)
        self._shares = tuple(number for number in self._numbers if 0 <= number <= 1)
        self._values = (*_VALUES, *words.words)

    def world(self) -> World:
        self._cluster = make_cluster(*(self._node(f"n{i}") for i in range(_NODES)))
        for i in range(_PLACED):
            self._cluster.put(self._pod(f"placed-{i}").on(self._some_node()).build())
        pods = [self._cluster.info(self._pod(f"p{i}").build()) for i in range(_PODS)]
        return World(self._cluster, pods, self._happen)

    def _happen(self, number: int) -> None:
        """One event of each kind in turn."""
        match number % 4:
            case 0:
                self._put(self._node(self._some_node()))
            case 1:
                self._cluster.put(self._pod(f"late-{number}").on(self._some_node()).build())
            case 2:
                self._cluster.remove_pod("default", f"placed-{number % _PLACED}")
            case _:
                metric = self._dice.choice(self._words.metrics)
                self._cluster.set_data(self._some_node(), metric, self._measurement(metric))

    def _measurement(self, metric: str) -> float:
        """Shares where providers give shares, else any of the plugin's own numbers."""
        return self._dice.choice(self._shares if metric in SHARES else self._numbers)

    def _put(self, node: NodeBuilder) -> None:
        self._cluster.put(node.build())
        for metric, value in node.data.items():
            self._cluster.set_data(node.name, metric, value)

    def _some_node(self) -> str:
        return f"n{self._dice.randrange(_NODES)}"

    def _often(self) -> bool:
        return self._dice.random() < 0.6  # a source with a seed of its own

    def _node(self, name: str) -> NodeBuilder:
        dice = self._dice
        node = make_node(name).zone(f"z{dice.randrange(3)}")
        node.label("topology.kubernetes.io/region", f"r{dice.randrange(2)}")
        node.capacity(cpu=str(dice.choice((1, 2, 8))), pods=str(dice.choice((3, 110))))
        for resource in self._words.resources:
            if self._often():
                node.capacity({resource: str(dice.randrange(1, 9))})
        self._decorate(node)
        for metric in self._words.metrics:
            if dice.randrange(8):  # of one in eight nobody knows anything
                node.usage(**{metric: self._measurement(metric)})
        if not dice.randrange(4):
            node.taint(dice.choice(self._values), effect="PreferNoSchedule")
        if not dice.randrange(8):
            node.cordoned()
        return node.image("app:1", 200 << 20) if self._often() else node

    def _pod(self, name: str) -> PodBuilder:
        dice = self._dice
        pod = make_pod(name).requests(cpu=f"{dice.choice((0, 250, 900))}m", memory="256Mi")
        pod.image("app:1").priority(dice.choice((0, 0, 1000)))
        for resource in self._words.resources:
            if not dice.randrange(3):
                pod.requests({resource: "1"})
        self._decorate(pod)
        return pod

    def _decorate(self, one: Any) -> None:
        for word in self._words.words:
            if self._often():
                one.label(word, self._dice.choice(self._values))
            if not self._dice.randrange(3):
                one.annotation(word, self._dice.choice(self._values))
