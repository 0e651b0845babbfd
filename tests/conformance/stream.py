"""The objects of a case as a disorderly stream of events that ends in the same state.

Fed to a cluster in place of the objects one after the other, by the conformance tests and by bench/differential.py.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import msgspec

from bayplan.cluster.audit import check
from bayplan.cluster.cluster import Cluster
from bayplan.model.namespace import Namespace
from bayplan.model.node import Node
from bayplan.model.pod import Pod


def as_events(cluster: Cluster, objects: Iterable[Any]) -> None:
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
