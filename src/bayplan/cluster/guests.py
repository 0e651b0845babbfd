"""Pods that are supposed to run on some nodes as well: those to which the nodes are promised.

Made for one attempt by the cycle; ``thinned`` adds them to its columns. Sums are made per column that somebody reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.podinfo import PodInfo

#: Nobody asks for so much; whoever does is supposed one by one, with sums that saturate.
_HUGE: Final = 1 << 40 << 20


class Guests:
    """Pods by the position of their node, for ``size`` nodes."""

    __slots__ = ("_by_position", "_owner", "_pods", "counts", "is_plain")

    def __init__(self, by_position: Mapping[int, Sequence[PodInfo]], size: int) -> None:
        self._by_position = by_position
        self._pods = [pod for pods in by_position.values() for pod in pods]
        sizes = [len(pods) for pods in by_position.values()]
        self._owner = np.repeat(np.fromiter(by_position, np.intp, len(by_position)), sizes)
        #: How many there are per node.
        self.counts: NDArray[np.intp] = np.bincount(self._owner, minlength=size)
        #: Whether columns can show each node's guests: no host ports, no amounts that saturate.
        self.is_plain: NDArray[np.bool_] = np.ones(size, np.bool_)
        for i, pod in zip(self._owner.tolist(), self._pods, strict=True):
            if pod.shape.host_ports or not _is_small(pod):
                self.is_plain[i] = False

    def __len__(self) -> int:
        return len(self._pods)

    def on(self, i: int) -> Sequence[PodInfo]:
        """The guests of node ``i``."""
        return self._by_position.get(i, ())

    def requested(self, resource: str) -> NDArray[np.int64]:
        """What they ask for, per node."""
        return self._sum([pod.shape.placed.requests.get(resource, 0) for pod in self._pods])

    def nonzero_cpu(self) -> NDArray[np.int64]:
        """As scores count it."""
        return self._sum([pod.shape.placed.nonzero_cpu for pod in self._pods])

    def nonzero_memory(self) -> NDArray[np.int64]:
        """As scores count it."""
        return self._sum([pod.shape.placed.nonzero_memory for pod in self._pods])

    def _sum(self, amounts: list[int]) -> NDArray[np.int64]:
        # Kept out of the sum are those that would not fit; their nodes are not plain.
        small = [min(amount, _HUGE) for amount in amounts]
        total = np.zeros(len(self.counts), np.int64)
        np.add.at(total, self._owner, np.array(small, np.int64))
        return total


def _is_small(pod: PodInfo) -> bool:
    placed = pod.shape.placed
    return all(amount < _HUGE for amount in placed.requests.values()) and (
        placed.nonzero_cpu < _HUGE and placed.nonzero_memory < _HUGE
    )
