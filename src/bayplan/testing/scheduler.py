"""A scheduler in memory: decide a pod with a plugin under test, and look at why.

Public: ``from bayplan.testing import decide, make_cluster``. The real cycle runs, with the default plugins beside the
one under test; the cluster's counts are recounted after every decision.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from bayplan.cluster.audit import check
from bayplan.cluster.cluster import Cluster
from bayplan.cycle.attempt import attempt
from bayplan.cycle.desk import Desk
from bayplan.cycle.local import LocalHandle
from bayplan.cycle.outcome import Failed, Placed, Unplaced
from bayplan.cycle.record import Picture, Ring
from bayplan.framework.config import load_config_objects
from bayplan.framework.dice import Dice
from bayplan.framework.events import Action, Hint, Resource
from bayplan.framework.plugin import Plugin
from bayplan.framework.profile import build_profile
from bayplan.framework.registry import Registry
from bayplan.plugins import default_plugins
from bayplan.queueing.hints import declared
from bayplan.testing.builders import NodeBuilder, PodBuilder


def make_cluster(*objects: NodeBuilder | PodBuilder | Any) -> Cluster:
    """A cluster of these nodes, pods and whatever else it may hold."""
    cluster = Cluster()
    for obj in objects:
        if isinstance(obj, NodeBuilder):
            cluster.put(obj.build())
            for metric, value in obj.data.items():
                cluster.set_data(obj.name, metric, value)
        else:
            cluster.put(obj.build() if isinstance(obj, PodBuilder) else obj)
    return cluster


def make_desk(
    cluster: Cluster,
    *plugins: type[Plugin],
    args: dict[str, dict[str, Any]] | None = None,
    seed: int = 0,
) -> Desk:
    """A desk with the default profile and ``plugins`` added at every point that they implement.

    ``args`` gives plugin arguments by plugin name, as a configuration would.
    """
    registry = Registry([*default_plugins(), *plugins])
    enabled = [{"name": plugin.name} for plugin in plugins]
    given = [{"name": name, "args": values} for name, values in (args or {}).items()]
    profile: dict[str, Any] = {
        "plugins": {"multiPoint": {"enabled": enabled}},
        "pluginConfig": given,
    }
    return desk_of_profile(cluster, profile, registry, seed)


def desk_of_profile(
    cluster: Cluster, profile: dict[str, Any], registry: Registry, seed: int = 0
) -> Desk:
    """A desk with one profile, as a configuration has it."""
    config = load_config_objects(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [profile],
        },
        registry,
    )
    dice = Dice(seed)
    handle = LocalHandle(cluster.view, config.profiles[0].scheduler_name, dice)
    built = build_profile(config.profiles[0], registry, handle)
    return Desk(cluster, built, dice, Ring(), handle)


class Answer:
    """A decision, for asserting on."""

    def __init__(self, outcome: Placed | Unplaced) -> None:
        self.outcome = outcome
        self.picture: Picture = outcome.decision.picture()
        self._lines = {line.node: line for line in self.picture.lines()}

    def __repr__(self) -> str:
        return f"Answer({self.node or self.message!r})"

    @property
    def node(self) -> str:
        """The chosen node, or an empty string."""
        return self.outcome.decision.node

    @property
    def message(self) -> str:
        """The text of the FailedScheduling event; empty where a node was found."""
        return self.outcome.message if isinstance(self.outcome, Unplaced) else ""

    def why_not(self, node: str) -> str:
        """Why a node was turned down; empty where it was not."""
        rejected = self._lines[node].rejected
        return "" if rejected is None else rejected.message

    @property
    def rejected(self) -> dict[str, str]:
        """Every node that was turned down, and why."""
        return {
            name: line.rejected.message
            for name, line in self._lines.items()
            if line.rejected is not None
        }

    def score(self, node: str, plugin: str) -> int:
        """A plugin's score of a node after normalisation, before the weight."""
        return self._lines[node].scores[plugin].normalized


def decide(
    pod: PodBuilder,
    cluster: Cluster,
    *plugins: type[Plugin],
    args: dict[str, dict[str, Any]] | None = None,
    seed: int = 0,
) -> Answer:
    """Decide one pod; an attempt that fails raises the plugin's error."""
    return _answer(pod, make_desk(cluster, *plugins, args=args, seed=seed))


def place(
    pods: Iterable[PodBuilder],
    cluster: Cluster,
    *plugins: type[Plugin],
    args: dict[str, dict[str, Any]] | None = None,
    seed: int = 0,
) -> list[Answer]:
    """Decide pods one after the other, each on the cluster that those before it have left: what was remembered counts."""
    desk = make_desk(cluster, *plugins, args=args, seed=seed)
    answers = []
    for pod in pods:
        answer = _answer(pod, desk)
        if isinstance(answer.outcome, Placed):
            cluster.assume(answer.outcome.pod, answer.node)
            check(cluster)
        answers.append(answer)
    return answers


def _answer(pod: PodBuilder, desk: Desk) -> Answer:
    outcome = attempt(desk.cluster.info(pod.build()), desk)
    check(desk.cluster)
    if isinstance(outcome, Failed):
        raise outcome.error
    return Answer(outcome)


def wakes(
    plugin: type[Plugin],
    pod: PodBuilder,
    event: tuple[Resource, Action],
    *,
    old: NodeBuilder | PodBuilder | Any = None,
    new: NodeBuilder | PodBuilder | Any = None,
    args: dict[str, Any] | None = None,
) -> bool:
    """Whether an event gives another chance to a pod that the plugin turned down: ``wakes_on`` and its hints.

    A plugin without ``wakes_on`` hears of everything.
    """
    info = Cluster().info(pod.build())
    before, after = (one.build() if isinstance(one, _BUILDERS) else one for one in (old, new))
    asked = msgspec.convert(args or {}, plugin.args_type)
    return any(
        wake.covers(*event) and (wake.hint is None or wake.hint(info, before, after) is Hint.QUEUE)
        for wake in declared(plugin(asked))
    )


_BUILDERS = (NodeBuilder, PodBuilder)
