"""Node selectors asked of whole columns of nodes, and what a pod requires of its node in all.

Fed by compiled selectors (``model.node_selectors``); read by the plugins that judge nodes by labels: node affinity,
topology spread, volumes. A requirement is looked up once per distinct label value, not once per node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import iand, ior
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayplan.model.node_selectors import NAME_FIELD
from bayplan.model.selectors import (
    NameRequirement,
    NodeMatcher,
    NodeTerm,
    Operator,
    Requirement,
    compile_node_selector,
    parse_int64,
    selector_from_map,
)

if TYPE_CHECKING:
    from bayplan.cluster.node_rows import NodeRows
    from bayplan.cluster.podinfo import Shape

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RequiredNodes:
    """Which nodes a pod may run on, by ``nodeSelector`` and required node affinity together."""

    labels: tuple[Requirement, ...] = ()
    #: None where there is no required node affinity.
    affinity: NodeMatcher | None = None

    def matches(self, labels: Mapping[str, str], node_name: str) -> bool:
        """Whether one node will do."""
        if not all(one.matches(labels) for one in self.labels):
            return False
        return self.affinity is None or self.affinity.matches(labels, node_name)

    def mask(self, nodes: NodeRows) -> Mask | None:
        """Which nodes will do; None: all of them."""
        masks = [requirement_mask(nodes, one) for one in self.labels]
        if self.affinity is not None:
            masks.append(matcher_mask(nodes, self.affinity))
        return reduce(iand, masks) if masks else None


def required_nodes(shape: Shape) -> RequiredNodes:
    """What a pod of this shape requires; compiled once and kept with the shape."""
    found: RequiredNodes | None = shape.memo.get(RequiredNodes)
    if found is None:
        spec = shape.spec
        required = spec.affinity.node_affinity.required if spec.affinity is not None else None
        found = shape.memo[RequiredNodes] = RequiredNodes(
            selector_from_map(spec.node_selector).requirements,
            None if required is None else compile_node_selector(required),
        )
    return found


def matcher_mask(nodes: NodeRows, matcher: NodeMatcher) -> Mask:
    """Which nodes one of the terms matches."""
    masks = [term_mask(nodes, term) for term in matcher.terms]
    return reduce(ior, masks) if masks else np.zeros(len(nodes), np.bool_)


def term_mask(nodes: NodeRows, term: NodeTerm) -> Mask:
    """Which nodes meet all requirements of a term; a term that does not parse matches none."""
    if term.problems:
        return np.zeros(len(nodes), np.bool_)
    masks = [requirement_mask(nodes, one) for one in term.labels]
    masks += [_name_mask(nodes, one) for one in term.fields]
    return reduce(iand, masks)


def requirement_mask(nodes: NodeRows, requirement: Requirement) -> Mask:
    """Which nodes' labels meet a requirement. The array is the caller's to change."""
    column = nodes.label(requirement.key)
    mask: Mask
    match requirement.operator:
        case Operator.EXISTS:
            mask = column >= 0
        case Operator.DOES_NOT_EXIST:
            mask = column < 0
        case Operator.IN:
            mask = _one_of(nodes, requirement, column)
        case Operator.NOT_IN:
            mask = _one_of(nodes, requirement, column)
            np.logical_not(mask, out=mask)
        case _:
            mask = _compared(nodes, requirement, column)
    return mask


def _one_of(nodes: NodeRows, requirement: Requirement, column: NDArray[np.int32]) -> Mask:
    value_id = nodes.table.labels.value_id
    ids = [value_id(requirement.key, value) for value in requirement.values]
    known = [number for number in ids if number >= 0]
    mask: Mask
    if not known:
        mask = np.zeros(len(column), np.bool_)
    elif len(known) == 1:
        mask = column == known[0]
    else:
        values = nodes.table.labels.values(requirement.key)
        wanted = np.zeros(len(values) + 1, np.bool_)
        wanted[known] = True
        # An absent label is -1, which reads the last entry: False.
        mask = wanted.take(column)
    return mask


def _compared(nodes: NodeRows, requirement: Requirement, column: NDArray[np.int32]) -> Mask:
    """Gt and Lt: no for a label that is absent or no number."""
    numbers, valid = nodes.table.labels.integers(requirement.key)
    bound = parse_int64(requirement.values[0])
    if bound is None:
        return np.zeros(len(column), np.bool_)
    beyond = numbers > bound if requirement.operator is Operator.GT else numbers < bound
    return (beyond & valid).take(column)


def _name_mask(nodes: NodeRows, requirement: NameRequirement) -> Mask:
    if requirement.field != NAME_FIELD:
        return np.full(len(nodes), requirement.matches(""), np.bool_)
    row = nodes.table.row_of.get(requirement.value, -1)
    named: Mask = nodes.rows == row
    return named if requirement.operator is Operator.IN else ~named
