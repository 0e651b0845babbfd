"""A pod that is to be placed, and everything around it, ready to be asked: what now, and what if.

Built by ``explanation`` from decoded objects; used by ``relax`` and its sources, which try changes on it, and by
``saving``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.podinfo import PodInfo
from bayplan.cycle.attempt import evaluate
from bayplan.cycle.desk import Desk
from bayplan.cycle.local import LocalHandle
from bayplan.cycle.record import Decision, Ring
from bayplan.framework.config import ProfileConfig
from bayplan.framework.dice import Dice
from bayplan.framework.profile import Profile, build_profile
from bayplan.framework.registry import Registry
from bayplan.model.meta import KubeObject
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.sim.cases import feed_in_order

_replace = msgspec.structs.replace


class Situation:
    """One pod, one cluster, one profile."""

    def __init__(
        self,
        pod: Pod,
        objects: Iterable[KubeObject],
        config: ProfileConfig,
        registry: Registry,
        *,
        seed: int = 0,
    ) -> None:
        #: Nodes before pods, without the pod itself.
        self.objects = [obj for obj in objects if not (isinstance(obj, Pod) and obj.key == pod.key)]
        self.nodes = {obj.name: obj for obj in self.objects if isinstance(obj, Node)}
        self.pods = {obj.key: obj for obj in self.objects if isinstance(obj, Pod)}
        self.cluster = Cluster()
        feed_in_order(self.cluster, self.objects)
        dice = Dice(seed)
        handle = LocalHandle(self.cluster.view, config.scheduler_name, dice)
        profile = build_profile(config, registry, handle)
        self._settle(pod, config, Desk(self.cluster, profile, dice, Ring(), handle), seed)

    def _settle(self, pod: Pod, config: ProfileConfig, desk: Desk, seed: int = 0) -> None:
        """``self.cluster`` is as it should be: who decides there about whom?"""
        #: The node that the pod is on already; it is looked at as if it were not there yet.
        self.placed_on = pod.spec.node_name
        self.pod = _pending(pod) if self.placed_on else pod
        self.seed = seed
        self.config = config
        self.handle = desk.handle
        self.profile = desk.profile
        self.desk = desk
        self._desks: dict[str, Desk] = {"": self.fresh_desk(self.profile)}

    def fresh_desk(self, profile: Profile) -> Desk:
        """A desk whose dice nobody has thrown yet: what-ifs do not sway the answer proper."""
        return Desk(self.cluster, profile, Dice(self.seed), Ring(), self.handle)

    def info(self, pod: Pod | None = None) -> PodInfo:
        """A pod as plugins read it."""
        return self.cluster.info(self.pod if pod is None else pod)

    def pending(self) -> list[PodInfo] | None:
        """The other pods that have no node; None where they are not at hand."""
        return [self.cluster.info(pod) for pod in self.pods.values() if not pod.spec.node_name]

    def decide(self, pod: Pod | None = None, *, without: str = "") -> Decision:
        """What is said of the pod, or of a changed one, by the profile or by the profile less a plugin."""
        desk = self._desks.get(without)
        if desk is None:
            desk = self._desks[without] = self.fresh_desk(_less(self.profile, without))
        return evaluate(self.info(pod), desk)

    @contextmanager
    def supposing(self, changes: Iterable[tuple[KubeObject, KubeObject]]) -> Iterator[None]:
        """The cluster with some objects changed, and as it was again afterwards."""
        done: list[KubeObject] = []
        try:
            for old, new in changes:
                done.append(old)
                self.cluster.put(new)
            yield
        finally:
            for old in reversed(done):
                self.cluster.put(old)


def open_rows(decision: Decision) -> NDArray[np.intp]:
    """The rows of the nodes that pass all filters."""
    feasible = decision.evaluation.feasible
    if feasible is None:
        return np.empty(0, np.intp)
    passes = feasible.open.copy()
    passes[list(decision.overrides)] = False
    return np.flatnonzero(passes)


def nodes_by_rank(decision: Decision) -> list[str]:
    """The nodes that pass all filters, the best first."""
    rows = open_rows(decision).tolist()
    if not rows:
        return []
    names = decision.evaluation.names
    total = decision.ranking().total
    return [names[row] for row in sorted(rows, key=lambda row: (-int(total[row]), names[row]))]


def gone(pod: Pod) -> Pod:
    """A pod that holds nothing any more; a deleted one could not come back in a what-if."""
    return _replace(pod, status=_replace(pod.status, phase="Succeeded"))


def _pending(pod: Pod) -> Pod:
    """A placed pod as it was before."""
    status = _replace(pod.status, nominated_node_name="", phase="Pending")
    return _replace(pod, spec=_replace(pod.spec, node_name=""), status=status)


def _less(profile: Profile, name: str) -> Profile:
    def rest(plugins: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(plugin for plugin in plugins if plugin.name != name)

    return replace(
        profile,
        plugins=[plugin for plugin in profile.plugins if plugin.name != name],
        prefilter=rest(profile.prefilter),
        filter=rest(profile.filter),
        prescore=rest(profile.prescore),
        score=rest(profile.score),
    )
