"""Weighted dominant-resource fairness: shares converge to the weights at every level, and nobody starves."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.queueing.scene import Scene

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.podinfo import PodInfo
from bayplan.plugins import default_registry
from bayplan.queueing.scheduling import SchedulingQueue
from bayplan.testing import make_node, make_pod
from bayplan.testing.scheduler import desk_of_profile

CPU, MEMORY = 1000, 1000
LEAVES = ("a1", "a2", "b", "c")

Demand = tuple[int, int]
DEMANDS = st.fixed_dictionaries(
    {leaf: st.tuples(st.integers(1, 4), st.integers(1, 4)) for leaf in LEAVES}
)
WEIGHTS = st.fixed_dictionaries({name: st.integers(1, 4) for name in ("a", *LEAVES)})


class World:
    """A queue with lanes and a cluster in which everybody has room."""

    def __init__(self, tree: list[dict[str, Any]], patience: int = 0) -> None:
        self.cluster = Cluster()
        self.cluster.put(
            make_node("n").capacity(cpu=str(CPU), memory=str(MEMORY), pods="100000").build()
        )
        sort = {"enabled": [{"name": "FairQueues"}], "disabled": [{"name": "*"}]}
        args = {"queues": tree, "patience": patience}
        config = {
            "plugins": {"queueSort": sort},
            "pluginConfig": [{"name": "FairQueues", "args": args}],
        }
        desk = desk_of_profile(self.cluster, config, default_registry())
        self.queue = SchedulingQueue({"default-scheduler": desk.profile})
        self.born = 0

    def add(self, leaf: str, cpu: int, memory: int) -> None:
        self.born += 1
        pod = make_pod(f"p{self.born}").label("bayplan.io/queue", leaf).uid(f"u{self.born}")
        built = pod.requests(cpu=str(cpu), memory=str(memory)).build()
        self.queue.add(self.cluster.info(built), float(self.born))

    def pop(self) -> PodInfo:
        queued = self.queue.pop(0.0)
        assert queued is not None
        return queued.pod

    def place(self, pod: PodInfo) -> None:
        self.cluster.assume(pod, "n")
        self.queue.done(pod.uid)


def tree_of(weights: dict[str, int]) -> list[dict[str, Any]]:
    def queue(name: str, *below: str) -> dict[str, Any]:
        return {"name": name, "weight": weights[name], "queues": [queue(one) for one in below]}

    return [queue("a", "a1", "a2"), queue("b"), queue("c")]


@settings(max_examples=25)
@given(WEIGHTS, DEMANDS)
def test_shares_converge_to_the_weights(
    weights: dict[str, int], demands: dict[str, Demand]
) -> None:
    world = World(tree_of(weights))
    for leaf, demand in demands.items():
        for _ in range(3):
            world.add(leaf, *demand)
    counts = dict.fromkeys(LEAVES, 0)
    for _ in range(100):
        pod = world.pop()
        leaf = pod.labels["bayplan.io/queue"]
        world.place(pod)
        counts[leaf] += 1
        world.add(leaf, *demands[leaf])

    def dominant(*leaves: str) -> float:
        return max(sum(counts[leaf] * demands[leaf][kind] for leaf in leaves) for kind in (0, 1))

    def level(members: dict[str, tuple[str, ...]]) -> None:
        """Nobody is ahead of another by more than the pod that was placed last."""
        due = {name: dominant(*leaves) / weights[name] for name, leaves in members.items()}
        step = {
            name: max(max(demands[leaf]) for leaf in leaves) / weights[name]
            for name, leaves in members.items()
        }
        ahead = max(due, key=lambda name: due[name])
        assert due[ahead] - min(due.values()) <= step[ahead] + 1e-9

    level({"a": ("a1", "a2"), "b": ("b",), "c": ("c",)})
    level({"a1": ("a1",), "a2": ("a2",)})


@settings(max_examples=40)
@given(WEIGHTS, st.integers(1, 5), st.lists(st.sampled_from(LEAVES), max_size=30))
def test_nobody_waits_longer_than_patience_allows(
    weights: dict[str, int], patience: int, hogs: list[str]
) -> None:
    """Whatever is allocated, and though nothing that is popped is ever placed."""
    world = World(tree_of(weights), patience)
    for leaf in hogs:
        world.add(leaf, 5, 1)
        world.place(world.pop())
    for leaf in LEAVES:
        world.add(leaf, 1, 1)
    since = dict.fromkeys(LEAVES, 0)
    for _ in range(40):
        pod = world.pop()
        leaf = pod.labels["bayplan.io/queue"]
        world.queue.done(pod.uid)
        world.add(leaf, 1, 1)
        since = {name: 0 if name == leaf else waited + 1 for name, waited in since.items()}
        assert max(since.values()) < patience + len(LEAVES)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(-2, 2), st.booleans()), max_size=20))
def test_without_queues_it_is_priority_sort(arrivals: list[tuple[int, bool]]) -> None:
    world, plain = World([], patience=3), Scene()
    now = 0.0
    for i, (priority, pause) in enumerate(arrivals):
        info = plain.info(make_pod(f"p{i}").priority(priority))
        for queue in (world.queue, plain.queue):
            queue.add(info, now)
        now += pause
    order: list[list[str]] = []
    for queue in (world.queue, plain.queue):
        popped = [queue.pop(now) for _ in arrivals]
        order.append([queued.pod.name for queued in popped if queued is not None])
    assert order[0] == order[1]
