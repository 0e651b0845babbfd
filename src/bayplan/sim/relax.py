"""What would make a pod fit: one thing changed at a time, each tried by the same cycle that turned the pod down.

Called by ``explanation``. Every suggestion has been tried: with the change made, the pod passes all filters on the nodes
that the suggestion names. The smallest change comes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Final

from bayplan.cycle.record import Decision, Picture
from bayplan.errors import BayplanError
from bayplan.sim.relax_cluster import easier_clusters, without_plugins
from bayplan.sim.relax_pod import easier_pods
from bayplan.sim.relax_requests import smaller_requests
from bayplan.sim.relaxation import Kind, Relaxation, Suggestion, in_words
from bayplan.sim.situation import Situation, nodes_by_rank

#: Suggestions of one kind that differ in the node alone: more than this say nothing new.
_MOST_ALIKE: Final = 3
#: Changes of one kind that are tried: each costs about as much as a decision.
_MOST_TRIED: Final = 24
_PER_NODE: Final = frozenset({Kind.REQUESTS, Kind.CORDON, Kind.POD_SLOT})
_NODES_NAMED: Final = 3


def suggestions(
    situation: Situation, now: Decision, picture: Picture, *, node: str = "", evict: bool = True
) -> list[Suggestion]:
    """Single changes after which the pod fits, the smallest first.

    Args:
        situation: the pod and what is around it.
        now: what was decided.
        picture: of ``now``.
        node: only what makes it fit there, whether or not it fits elsewhere.
        evict: also evictions; not where the pod preempts by itself.
    """
    found: list[Suggestion] = []
    tried: Counter[Kind] = Counter()
    accepted: Counter[Kind] = Counter()
    for relaxation in _relaxations(situation, now, picture, node, evict=evict):
        kind = relaxation.kind
        most = _MOST_ALIKE if kind in _PER_NODE else _MOST_TRIED
        if tried[kind] >= _MOST_TRIED or accepted[kind] >= most:
            continue
        tried[kind] += 1
        suggestion = attempt(situation, relaxation, node)
        if suggestion is not None:
            accepted[kind] += 1
            found.append(suggestion)
    found += _plugins(situation, picture, found, now, node)
    return sorted(found, key=lambda one: (one.size, one.text))


def _relaxations(
    situation: Situation, now: Decision, picture: Picture, node: str, *, evict: bool
) -> Iterator[Relaxation]:
    for relaxation in chain(
        smaller_requests(situation, now, picture),
        easier_pods(situation),
        easier_clusters(situation, picture, node, evict=evict),
    ):
        if not node or not relaxation.node or relaxation.node == node:
            yield relaxation


def _plugins(
    situation: Situation, picture: Picture, found: list[Suggestion], now: Decision, node: str
) -> Iterator[Suggestion]:
    """Plugins that alone stand in the way, where no change of another kind satisfies them."""
    satisfied = {one.plugin for one in found}
    objecting = (
        {said.plugin for said, _ in picture.first_rejections()}
        if (picture.rejection is None)
        else set[str]()
    )
    objecting |= now.evaluation.prefilter.plugins
    known = {plugin.name for plugin in situation.profile.plugins}
    for relaxation in without_plugins(sorted((objecting - satisfied) & known)):
        suggestion = attempt(situation, relaxation, node)
        if suggestion is not None:
            yield _with_reasons(suggestion, picture)


def _with_reasons(suggestion: Suggestion, picture: Picture) -> Suggestion:
    """What the plugin says of the nodes that the pod fits on but for it."""
    rows = {name: row for row, name in enumerate(picture.names)}
    said = (picture.verdict(rows[name]) for name in suggestion.nodes)
    reasons = sorted({one.message for one in said if one is not None})
    return replace(
        suggestion,
        text=f"{suggestion.text}, which says: {'; '.join(reasons)}",
        change={**suggestion.change, "reasons": reasons},
    )


def attempt(situation: Situation, relaxation: Relaxation, node: str = "") -> Suggestion | None:
    """Make the change and decide again; None where the pod still does not fit."""
    try:
        with situation.supposing(relaxation.objects):
            nodes = nodes_by_rank(situation.decide(relaxation.pod, without=relaxation.without))
    except BayplanError:
        # A plugin cannot cope with what is supposed: nothing can be promised then.
        return None
    wanted = node or relaxation.node
    if not nodes or (wanted and wanted not in nodes):
        return None
    if wanted:
        nodes = [wanted, *(name for name in nodes if name != wanted)]
    return Suggestion(
        kind=relaxation.kind,
        text=f"{relaxation.text}: fits on {_names(nodes)}",
        change=relaxation.change,
        nodes=tuple(nodes),
        size=relaxation.size,
        plugin=relaxation.plugin,
    )


def _names(nodes: list[str]) -> str:
    if len(nodes) <= _NODES_NAMED + 1:
        return in_words(nodes)
    return in_words([*nodes[:_NODES_NAMED], f"{len(nodes) - _NODES_NAMED} more"])
