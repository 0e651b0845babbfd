"""Which events may cure a pod that required terms kept from its nodes.

Namespaces are looked at by name here: kube-scheduler has no namespace's labels at hand when it decides whether an event
matters (interpodaffinity/plugin.go, isSchedulableAfterPodChange).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bayplan.cluster.namespaces import NO_LABELS
from bayplan.cluster.terms import Terms, compile_affinity, compile_terms
from bayplan.framework.events import Hint

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.terms import PlacedTerm
    from bayplan.model.node import Node
    from bayplan.model.pod import Pod


def after_pod_change(pod: PodInfo, old: Pod | None, new: Pod | None) -> Hint:
    """A pod came, went or got other labels."""
    if old is not None and new is not None and new.metadata.uid == pod.uid:
        return Hint.QUEUE  # its own labels: somebody's anti-affinity may mean it no more
    if any(other is not None and not _has_node(other) for other in (old, new)):
        return Hint.SKIP
    terms = compile_terms(pod.shape, pod.namespace)
    cured = bool(terms.problem) or _is_cured(pod, terms, old, new)
    return Hint.QUEUE if cured else Hint.SKIP


def _is_cured(pod: PodInfo, terms: Terms, old: Pod | None, new: Pod | None) -> bool:
    near, far = terms.affinity, terms.anti_affinity
    if new is None:
        assert old is not None
        if _match_all(far, old):
            return True
        theirs = compile_affinity(old.spec.affinity, old.metadata.namespace)
        return bool(theirs.problem) or _all_speak_of(
            theirs.anti_affinity, pod.namespace, pod.labels
        )
    if old is None:
        return _match_all(near, new)
    return (not _match_all(near, old) and _match_all(near, new)) or (
        _match_all(far, old) and not _match_all(far, new)
    )


def after_node_change(pod: PodInfo, old: Node | None, new: Node | None) -> Hint:
    """A node came or got other labels."""
    terms = compile_terms(pod.shape, pod.namespace)
    if terms.problem:
        return Hint.QUEUE
    after = new.metadata.labels if new is not None else NO_LABELS
    if old is None:
        # Pods that keep away are tried on any new node: where there is no label nothing can be wrong with it.
        cured = bool(terms.anti_affinity) or any(t.topology_key in after for t in terms.affinity)
        return Hint.QUEUE if cured else Hint.SKIP
    before = old.metadata.labels
    moves = [
        (term.topology_key in after and before.get(term.topology_key) != after[term.topology_key])
        for term in terms.affinity
    ]
    moves += [
        (term.topology_key in before and before[term.topology_key] != after.get(term.topology_key))
        for term in terms.anti_affinity
    ]
    return Hint.QUEUE if any(moves) else Hint.SKIP


def _has_node(other: Pod) -> bool:
    return bool(other.spec.node_name or other.status.nominated_node_name)


def _match_all(terms: tuple[PlacedTerm, ...], other: Pod) -> bool:
    return _all_speak_of(terms, other.metadata.namespace, other.metadata.labels)


def _all_speak_of(terms: tuple[PlacedTerm, ...], namespace: str, labels: Mapping[str, str]) -> bool:
    return bool(terms) and all(
        (namespace in placed.term.namespaces or placed.term.namespace_selector.matches(NO_LABELS))
        and placed.term.selector.matches(labels)
        for placed in terms
    )
