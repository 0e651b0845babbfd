"""The objects of a case as a disorderly stream of events that ends in the same state.

Fed to a cluster in place of the objects one after the other, by the conformance tests and by bench/differential.py.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from bayplan.cluster.audit import check
from bayplan.cluster.cluster import Cluster
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.testing import make_node, make_pod


def as_events(cluster: Cluster, objects: Iterable[Any]) -> None:
    """The same end by detours: pods before their nodes, updates, deletions, repetitions, strangers, late news."""
    everything = list(objects)
    chance = random.Random(len(everything))
    pods = [obj for obj in everything if isinstance(obj, Pod)]
    early, late = _split(pods, chance)
    strangers = _strangers(chance)
    for obj in strangers:
        cluster.put(obj)
    for pod in early:
        _live(cluster, pod, chance)
    for obj in _disordered([obj for obj in everything if not isinstance(obj, Pod)], chance):
        _arrive(cluster, obj, chance)
    for pod in late:
        _live(cluster, pod, chance)
    for obj in strangers:
        cluster.remove(obj)
    check(cluster)


def _split(pods: list[Pod], chance: random.Random) -> tuple[list[Pod], list[Pod]]:
    early = [pod for pod in pods if chance.random() < 0.5]
    kept = {id(pod) for pod in early}
    return early, [pod for pod in pods if id(pod) not in kept]


def _disordered(objects: list[Any], chance: random.Random) -> Iterator[Any]:
    """In any order, but nodes in theirs: the first that reports an image decides about its size."""
    nodes = iter([obj for obj in objects if isinstance(obj, Node)])
    for obj in chance.sample(objects, len(objects)):
        yield next(nodes) if isinstance(obj, Node) else obj


def _strangers(chance: random.Random) -> list[Any]:
    """Nodes and pods that are gone in the end, and take up rows until then."""
    nodes = [make_node(f"stranger-{i}").zone(f"zone-{i}") for i in range(chance.randrange(3))]
    pods = [
        make_pod(f"stranger-{node.name}")
        .uid(f"stranger-{node.name}")
        .labels(app="web")
        .requests(cpu="1", memory="1Gi")
        .host_port(80)
        .affinity({"app": "web"}, "topology.kubernetes.io/zone", anti=True)
        .on(node.name)
        for node in nodes
    ]
    strangers = [*(node.build() for node in nodes), *(pod.build() for pod in pods)]
    return chance.sample(strangers, len(strangers))


def _arrive(cluster: Cluster, obj: Any, chance: random.Random) -> None:
    """Put an object in; now and then also twice, deleted in between, or as something else before."""
    if isinstance(obj, Node) and chance.random() < 0.3:
        bare = msgspec.structs.replace(obj, spec=type(obj.spec)(), status=type(obj.status)())
        cluster.put(bare)
    elif hasattr(obj, "spec") and chance.random() < 0.3:  # its spec comes later
        cluster.put(msgspec.structs.replace(obj, spec=type(obj.spec)()))
    if chance.random() < 0.3:
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
    if chance.random() < 0.3:  # pending at first, with a node promised to it that it does not get
        spec = msgspec.structs.replace(pod.spec, node_name="")
        status = msgspec.structs.replace(
            pod.status, phase="Pending", nominated_node_name="stranger-0"
        )
        cluster.put(msgspec.structs.replace(_versioned(pod, 2), spec=spec, status=status))
    if chance.random() < 0.3 and pod.spec.node_name:  # assumed by us, then confirmed
        info = cluster.info(final)
        if not info.finished:
            cluster.assume(info, pod.spec.node_name)
    if chance.random() < 0.3:  # placed with other labels and asking for nothing, then changed
        meta = msgspec.structs.replace(final.metadata, labels={"was": name}, resource_version="3")
        spec = msgspec.structs.replace(pod.spec, containers=(), affinity=None)
        cluster.put(msgspec.structs.replace(final, metadata=meta, spec=spec))
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
