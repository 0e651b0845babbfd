"""What cures a pod that found no room: pods that leave or shrink, nodes that come or grow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayplan.cluster.nodes import amounts
from bayplan.framework.events import Action, Hint, Resource, WakeOn
from bayplan.model import requests

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.model.node import Node
    from bayplan.model.pod import Pod


def after_pod(pod: PodInfo, old: Pod | None, new: Pod | None) -> Hint:
    """A pod was deleted or asks for less."""
    if new is None:
        if old is None or old.spec.node_name or old.status.nominated_node_name:
            return Hint.QUEUE
        return Hint.SKIP
    if new.metadata.uid == pod.uid:
        return Hint.QUEUE
    if not new.spec.node_name or old is None:
        return Hint.SKIP
    before, after = requests.for_placed(old).requests, requests.for_placed(new).requests
    shrunk = any(
        amount and before.get(name, 0) > after.get(name, 0)
        for name, amount in pod.shape.placed.requests.items()
    )
    return Hint.QUEUE if shrunk else Hint.SKIP


def after_node(pod: PodInfo, old: Node | None, new: Node | None) -> Hint:
    """A node was added, or offers something else."""
    if new is None:
        return Hint.SKIP
    offered = amounts(new.status.allocatable)
    asked = {name: amount for name, amount in pod.requests.items() if amount}
    if offered.get("pods", 0) < 1 or any(offered.get(n, 0) < asked[n] for n in asked):
        return Hint.SKIP
    if old is None:
        return Hint.QUEUE
    before = amounts(old.status.allocatable)
    grown = any(offered.get(n, 0) > before.get(n, 0) for n in ("pods", *asked))
    return Hint.QUEUE if grown else Hint.SKIP


WAKES_ON: Final = (
    WakeOn(Resource.POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN, after_pod),
    WakeOn(Resource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE, after_node),
)
