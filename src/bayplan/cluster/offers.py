"""What nodes offer, as floats: for plugins that divide by it.

Allocatable changes seldom and is divided by often, so the conversion is kept. Filled from the node table when it is
read; the table says when it is out of date.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bayplan.cluster.columns import Column, Rows

#: From here on ``100 * x / y``, rounded down, may differ between floats and integers.
EXACT: Final = (1 << 53) // 100


class Offer(NamedTuple):
    """What some nodes offer of one resource."""

    #: At least 1, also where a node offers nothing: a divisor.
    whole: NDArray[np.float64]
    #: Nodes that offer nothing; None where there are none.
    absent: NDArray[np.bool_] | None
    #: Nodes that offer so much that floats are not exact enough; None where there are none.
    huge: NDArray[np.bool_] | None


class Offers:
    """What the nodes of one table offer of each resource."""

    __slots__ = ("_allocatable", "_made", "_offers", "_rows", "version")

    def __init__(self, allocatable: list[Column[np.int64]], rows: Rows) -> None:
        self._allocatable = allocatable
        self._rows = rows
        #: Counted up by the table whenever what a node offers changes.
        self.version = 0
        self._made = (-1, -1)
        self._offers: dict[int, Offer] = {}

    def of(self, resource: int) -> Offer:
        """What all nodes offer of the resource with this id."""
        used = self._rows.used
        if self._made != (self.version, used):
            self._offers.clear()
            self._made = (self.version, used)
        offer = self._offers.get(resource)
        if offer is None:
            offer = self._offers[resource] = _convert(self._allocatable[resource].data[:used])
        return offer


def _convert(column: NDArray[np.int64]) -> Offer:
    absent, huge = column <= 0, column >= EXACT
    whole = np.maximum(column, 1).astype(np.float64)
    return Offer(whole, absent if absent.any() else None, huge if huge.any() else None)
