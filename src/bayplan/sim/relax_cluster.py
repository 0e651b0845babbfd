"""Changes around the pod: a node uncordoned, a pod fewer, a neighbour that would not mind, a plugin switched off.

Called by ``relax``; the changes are tried on the cluster and taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from bayplan.cluster.terms import compile_terms
from bayplan.cycle.postfilter import make_room
from bayplan.cycle.record import Picture
from bayplan.errors import BayplanError
from bayplan.framework.preemption import Nominated
from bayplan.model.meta import controller_of
from bayplan.model.node import Node, Taint
from bayplan.model.node_selectors import (
    NAME_FIELD,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
)
from bayplan.model.pod import Affinity, NodeAffinity, Pod, Toleration
from bayplan.sim.relax_pod import term_text, without_anti_affinity
from bayplan.sim.relaxation import Kind, Relaxation
from bayplan.sim.situation import Situation, gone, nodes_by_rank

_replace = msgspec.structs.replace

CORDON: Final = Taint("node.kubernetes.io/unschedulable", effect="NoSchedule")
_FULL: Final = ("Too many pods",)
_HIGHEST: Final = 2**31 - 1
#: Nodes tried one by one for each kind of change.
_TRIED: Final = 12


def easier_clusters(
    situation: Situation, picture: Picture, node: str, *, evict: bool
) -> Iterator[Relaxation]:
    """The cluster with one thing changed; ``node``: only what may help there."""
    yield from _uncordoned(situation, node)
    yield from _pod_slots(situation, picture, node)
    yield from _neighbours(situation)
    if evict:
        yield from _evictions(situation, node)


# Nodes ------------------------------------------------------------------------------------------


def _uncordoned(situation: Situation, only: str) -> Iterator[Relaxation]:
    pod = situation.pod
    cordoned = {name for name, node in situation.nodes.items() if node.spec.unschedulable}
    if not cordoned:
        return
    # One look tells which of them are worth a try: those that would do for somebody who bears with a cordon.
    added = Toleration(CORDON.key, "Exists", "", CORDON.effect)
    patient = _replace(pod, spec=_replace(pod.spec, tolerations=(*pod.spec.tolerations, added)))
    worth = [name for name in nodes_by_rank(situation.decide(patient)) if name in cordoned]
    for name in _few(worth, only):
        node = situation.nodes[name]
        taints = tuple(
            t for t in node.spec.taints if (t.key, t.effect) != (CORDON.key, CORDON.effect)
        )
        yield Relaxation(
            kind=Kind.CORDON,
            text=f"uncordon {name}",
            change={"uncordon": name},
            size=0.2,
            plugin="NodeUnschedulable",
            objects=(
                (
                    node,
                    _replace(node, spec=_replace(node.spec, unschedulable=False, taints=taints)),
                ),
            ),
            node=name,
        )


def _pod_slots(situation: Situation, picture: Picture, only: str) -> Iterator[Relaxation]:
    nodes = situation.cluster.view.nodes
    full = (
        [
            picture.names[row]
            for said, rows in picture.first_rejections()
            if said.reasons == _FULL
            for row in rows.tolist()
        ]
        if picture.rejection is None
        else []
    )
    for name in _few(sorted(full), only):
        row = situation.cluster.view.row_of(name)
        assert row is not None
        there, most = int(nodes.pod_count[row]), int(nodes.max_pods[row])
        node = situation.nodes[name]
        yield Relaxation(
            kind=Kind.POD_SLOT,
            text=f"room for one more pod on {name} ({there} of {most})",
            change={"node": name, "pods": there + 1},
            size=0.2,
            plugin="NodeResourcesFit",
            objects=((node, _with_room(node, there + 1)),),
            node=name,
        )


def _with_room(node: Node, pods: int) -> Node:
    allocatable = {**node.status.allocatable, "pods": str(pods)}
    return _replace(node, status=_replace(node.status, allocatable=allocatable))


def _few(names: list[str], only: str) -> list[str]:
    if only:
        return [only] if only in names else []
    return names[:_TRIED]


# Pods -------------------------------------------------------------------------------------------


def _neighbours(situation: Situation) -> Iterator[Relaxation]:
    """Pods whose anti-affinity keeps this one away, those of one owner together."""
    cluster, pod = situation.cluster, situation.info()
    groups: dict[tuple[str, str, int], list[Pod]] = {}
    for other in situation.pods.values():
        affinity = other.spec.affinity
        if affinity is None or not affinity.pod_anti_affinity.required or not other.spec.node_name:
            continue
        terms = compile_terms(situation.info(other).shape, other.namespace).anti_affinity
        for i, (term, _, _) in enumerate(terms):
            if term.selector.matches(pod.labels) and cluster.namespaces.covered_by_carrier(
                term, pod.namespace
            ):
                text = term_text(affinity.pod_anti_affinity.required[i])
                groups.setdefault((owner_text(other), text, i), []).append(other)
    for (owner, text, i), others in groups.items():
        yield Relaxation(
            kind=Kind.ANTI_AFFINITY_OF_OTHERS,
            text=f"drop the anti-affinity of {owner} to {text}",
            change={
                "owner": owner,
                "podAntiAffinityTerm": i,
                "pods": sorted(other.key for other in others),
            },
            size=0.6,
            plugin="InterPodAffinity",
            objects=tuple((other, _without_term(other, i)) for other in others),
        )


def _without_term(pod: Pod, i: int) -> Pod:
    affinity = pod.spec.affinity
    assert affinity is not None
    return _replace(pod, spec=_replace(pod.spec, affinity=without_anti_affinity(affinity, i)))


def owner_text(pod: Pod) -> str:
    """``ReplicaSet default/web-5d8``, or the pod itself where nobody owns it."""
    owner = controller_of(pod.metadata)
    return f"{owner.kind} {pod.namespace}/{owner.name}" if owner else f"pod {pod.key}"


def _evictions(situation: Situation, node: str) -> Iterator[Relaxation]:
    """What preemption would do if this pod were more important than all others."""
    pod = situation.pod
    first = _replace(pod, spec=_replace(pod.spec, priority=_HIGHEST, preemption_policy=""))
    if node:
        first = _pinned(first, node)
    try:
        nominated = _room_for(situation, first)
    except BayplanError:
        return
    if nominated is None or not nominated.victims:
        return
    victims = [situation.pods[victim.key] for victim in nominated.victims]
    words = [f"{victim.key} (priority {victim.priority})" for victim in victims]
    text = f"evict {', '.join(words)} from {nominated.node}"
    if nominated.violations:
        text += ", which a disruption budget forbids"
    yield Relaxation(
        kind=Kind.EVICTION,
        text=text,
        change={
            "node": nominated.node,
            "evict": [{"pod": victim.key, "priority": victim.priority} for victim in victims],
            "violations": nominated.violations,
        },
        size=0.3 + 0.1 * len(victims),
        plugin="",
        objects=tuple((victim, gone(victim)) for victim in victims),
        node=nominated.node,
    )


def _room_for(situation: Situation, pod: Pod) -> Nominated | None:
    desk = situation.fresh_desk(situation.profile)
    decision = situation.decide(pod)
    return make_room(decision, decision.picture(), desk)[0] if decision.chosen < 0 else None


def _pinned(pod: Pod, node: str) -> Pod:
    """A pod that fits on one node at most."""
    by_name = NodeSelectorRequirement(NAME_FIELD, "In", (node,))
    affinity = pod.spec.affinity or Affinity()
    required = affinity.node_affinity.required
    terms = (NodeSelectorTerm(),) if required is None else required.node_selector_terms
    pinned = NodeSelector(
        tuple(_replace(term, match_fields=(*term.match_fields, by_name)) for term in terms)
    )
    nodes = NodeAffinity(pinned, affinity.node_affinity.preferred)
    return _replace(pod, spec=_replace(pod.spec, affinity=_replace(affinity, node_affinity=nodes)))


# Plugins ----------------------------------------------------------------------------------------


def without_plugins(names: Iterable[str]) -> Iterator[Relaxation]:
    """The profile without one of its plugins."""
    for name in names:
        yield Relaxation(
            kind=Kind.PLUGIN,
            text=f"do without plugin {name}",
            change={"plugin": name},
            size=0.9,
            plugin=name,
            without=name,
        )
