"""Pods that are supposed to run on some nodes as well: those to which the nodes are promised.

Made for one attempt by the cycle; ``thinned`` adds them to its columns. Sums are made per column that somebody reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.podinfo import PodInfo, Shape

#: Nobody asks for so much; whoever does is supposed one by one, with sums that saturate.
_HUGE: Final = 1 << 40 << 20


class Guests:
    """Pods by the position of their node, for ``size`` nodes."""

    __slots__ = ("_by_position", "_owner", "_pods", "_shapes", "_which", "counts", "is_plain")

    def __init__(self, by_position: Mapping[int, Sequence[PodInfo]], size: int) -> None:
        self._by_position = by_position
        self._pods = [pod for pods in by_position.values() for pod in pods]
        sizes = [len(pods) for pods in by_position.values()]
        self._owner = np.repeat(np.fromiter(by_position, np.intp, len(by_position)), sizes)
        #: How many there are per node.
        self.counts: NDArray[np.intp] = np.bincount(self._owner, minlength=size)
        #: Whether columns can show each node's guests: no host ports, no amounts that saturate.
        self.is_plain: NDArray[np.bool_] = np.ones(size, np.bool_)
        #: Few shapes occur; what a pod asks for is looked up once for each.
        numbers: dict[Shape, int] = {}
        self._which = np.fromiter(
            (numbers.setdefault(pod.shape, len(numbers)) for pod in self._pods),
            np.intp,
            len(self._pods),
        )
        self._shapes = list(numbers)
        plain = np.array([_is_plain(shape) for shape in self._shapes], np.bool_)
        if not plain.all():
            self.is_plain[self._owner[~plain[self._which]]] = False

    def __len__(self) -> int:
        return len(self._pods)

    def on(self, i: int) -> Sequence[PodInfo]:
        """The guests of node ``i``."""
        return self._by_position.get(i, ())

    def requested(self, resource: str) -> NDArray[np.int64]:
        """What they ask for, per node."""
        return self._sum([shape.placed.requests.get(resource, 0) for shape in self._shapes])

    def nonzero_cpu(self) -> NDArray[np.int64]:
        """As scores count it."""
        return self._sum([shape.placed.nonzero_cpu for shape in self._shapes])

    def nonzero_memory(self) -> NDArray[np.int64]:
        """As scores count it."""
        return self._sum([shape.placed.nonzero_memory for shape in self._shapes])

    def _sum(self, amounts: list[int]) -> NDArray[np.int64]:
        total = np.zeros(len(self.counts), np.int64)
        # Kept out of the sum is what would not fit; the nodes of such pods are not plain.
        each = np.array([min(amount, _HUGE) for amount in amounts], np.int64)
        np.add.at(total, self._owner, each[self._which])
        return total


def _is_plain(shape: Shape) -> bool:
    placed = shape.placed
    small = all(amount < _HUGE for amount in placed.requests.values())
    return (
        small
        and not shape.host_ports
        and placed.nonzero_cpu < _HUGE
        and placed.nonzero_memory < _HUGE
    )
