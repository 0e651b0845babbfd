"""Which nodes have room: what a pod asks for against what a node offers and has given away.

Each node's answer is a pattern of bits: bit 0 for too many pods, then two bits per resource, one for too little of it
left, one for more asked than the node offers at all. Patterns are worded once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.framework.status import Code, Rejected, Verdicts

if TYPE_CHECKING:
    from bayplan.cluster.nodes import NodeTable
    from bayplan.cluster.view import Nodes

#: Up to so many nodes, plain integers are faster than columns.
FEW: Final = 24
#: Resources for which two bits each fit into 63 beside the one for pods.
_MOST_RESOURCES: Final = 31
_IN_A_BYTE: Final = 3
_TOO_MANY_PODS: Final = 1


class Asked:
    """What one pod asks for: ids of resources, and how much."""

    __slots__ = ("_worded", "amounts", "names")

    def __init__(self, requests: Mapping[str, int], nodes: NodeTable) -> None:
        self.names = tuple(requests)
        self.amounts = tuple((nodes.resource_id(name), amount) for name, amount in requests.items())
        self._worded: dict[int, Rejected] = {}

    def word(self, bits: int) -> Rejected:
        """The rejection that a pattern stands for."""
        found = self._worded.get(bits)
        if found is None:
            found = self._worded[bits] = _word(bits, self.names)
        return found

    def judge(self, nodes: Nodes) -> Verdicts | Rejected | None:
        """Verdicts on the nodes; None where all of them have room."""
        if len(nodes) <= FEW or len(self.amounts) > _MOST_RESOURCES:
            return self._judge_each(nodes)
        return self._judge_columns(nodes)

    def _judge_columns(self, nodes: Nodes) -> Verdicts | None:
        # A byte holds the bits of three resources and is an eighth of the work.
        number_of = np.uint8 if len(self.amounts) <= _IN_A_BYTE else np.int64
        bits: NDArray[np.integer[Any]] = (nodes.pod_count >= nodes.max_pods).astype(number_of)
        for k, (number, amount) in enumerate(self.amounts):
            offered = nodes.allocatable(number)
            # The difference cannot wrap; adding the pod's request to what is given away could.
            short = offered - nodes.requested(number) < amount
            if short.any():
                bits += np.multiply(short, number_of(2 << 2 * k))
                bits += np.multiply(offered < amount, number_of(4 << 2 * k))
        return Verdicts.from_bits(bits, self.word) if bits.any() else None

    def _judge_each(self, nodes: Nodes) -> Verdicts | Rejected | None:
        """The same, node by node."""
        bits = [
            _TOO_MANY_PODS if there >= most else 0
            for there, most in zip(nodes.pod_count.tolist(), nodes.max_pods.tolist(), strict=True)
        ]
        for k, (number, amount) in enumerate(self.amounts):
            offers, given = nodes.allocatable(number).tolist(), nodes.requested(number).tolist()
            for i, offered in enumerate(offers):
                if amount > offered - given[i]:
                    bits[i] |= (6 if amount > offered else 2) << 2 * k
        if not any(bits):
            return None
        if len(bits) == 1:
            return self.word(bits[0])
        patterns = sorted({pattern for pattern in bits if pattern})
        numbers = {pattern: i + 1 for i, pattern in enumerate(patterns)}
        index = np.array([numbers.get(pattern, 0) for pattern in bits], np.int16)
        return Verdicts(index, [self.word(pattern) for pattern in patterns])


def _word(bits: int, names: tuple[str, ...]) -> Rejected:
    reasons = ["Too many pods"] if bits & _TOO_MANY_PODS else []
    code = Code.UNSCHEDULABLE
    for k, name in enumerate(names):
        if bits >> 2 * k & 2:
            reasons.append(f"Insufficient {name}")
        if bits >> 2 * k & 4:
            code = Code.UNRESOLVABLE
    return Rejected(*reasons, code=code)
