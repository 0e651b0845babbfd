"""The nodes that can use a volume or a pool of storage, ready to be asked of columns.

Volumes are written by thousands with the same few zones, or each with a node of its own. Both are made cheap: equal
selectors are compiled once, and one that wants a single label among given values is told apart, since any number of
those is answered by one look at the label's column.

Used by the storage tables and by VolumeBinding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.node_matching import matcher_mask
from bayplan.errors import SelectorError
from bayplan.model.selectors import (
    LabelSelector,
    NodeMatcher,
    NodeSelector,
    NodeTerm,
    Operator,
    compile_label_selector,
    compile_node_selector,
    requirement,
)

if TYPE_CHECKING:
    from bayplan.cluster.node_rows import NodeRows
    from bayplan.model.storage import TopologySelectorTerm

Mask: TypeAlias = NDArray[np.bool_]

_REMEMBERED = 1 << 14


@dataclass(frozen=True, slots=True)
class VolumeNodes:
    """Terms over labels, one of which must match."""

    matcher: NodeMatcher
    #: The label and its values, where nothing else is asked.
    pinned: tuple[str, tuple[str, ...]] | None = None

    @classmethod
    def of(cls, *terms: NodeTerm) -> VolumeNodes:
        """Nodes that one of the terms matches."""
        pinned = None
        if len(terms) == 1 and len(terms[0].labels) == 1:
            only = terms[0].labels[0]
            if only.operator is Operator.IN:
                pinned = only.key, only.values
        return cls(NodeMatcher(terms), pinned)

    def mask(self, nodes: NodeRows) -> Mask:
        """Which nodes they are."""
        return matcher_mask(nodes, self.matcher)


_NOWHERE = VolumeNodes.of()


@lru_cache(_REMEMBERED)
def nodes_of(selector: NodeSelector | None) -> VolumeNodes | None:
    """The nodes of a volume's node affinity; None: all of them.

    Kubernetes judges volumes by a node's labels alone: conditions on a node's name hold everywhere.
    """
    if selector is None:
        return None
    terms = []
    for term in compile_node_selector(selector).terms:
        if term.problems:
            continue
        if not term.labels:
            return None
        terms.append(NodeTerm(term.labels))
    return VolumeNodes.of(*terms)


@lru_cache(_REMEMBERED)
def nodes_of_topologies(topologies: tuple[TopologySelectorTerm, ...]) -> VolumeNodes | None:
    """The nodes of a class's allowed topologies; None: all of them. A term that does not parse, or asks nothing, has none."""
    if not topologies:
        return None
    terms = []
    for topology in topologies:
        try:
            asked = tuple(
                requirement(one.key, Operator.IN, one.values)
                for one in topology.match_label_expressions
            )
        except SelectorError:
            continue
        if asked:
            terms.append(NodeTerm(asked))
    return VolumeNodes.of(*terms)


def nodes_of_labels(selector: LabelSelector | None) -> VolumeNodes | None:
    """The nodes of a label selector, none where there is no selector or it does not parse; None: all of them."""
    try:
        compiled = compile_label_selector(selector)
    except SelectorError:
        return _NOWHERE
    if compiled.nothing:
        return _NOWHERE
    return None if compiled.empty else VolumeNodes.of(NodeTerm(compiled.requirements))
