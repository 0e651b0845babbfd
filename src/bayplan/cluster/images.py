"""Which images are on which nodes.

Kept by the node table; read by ImageLocality. As in kube-scheduler an image has one size, the one reported by the node
that brought its name in first, for as long as any node has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bayplan.model.node import ContainerImage


class ImageState:
    """One image name: its size, and the rows of the nodes that have it."""

    __slots__ = ("_row_numbers", "rows", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows: set[int] = set()
        self._row_numbers: NDArray[np.intp] | None = None

    @property
    def row_numbers(self) -> NDArray[np.intp]:
        """The rows as an array, kept until they change."""
        if self._row_numbers is None:
            self._row_numbers = np.fromiter(self.rows, np.intp, len(self.rows))
        return self._row_numbers

    def add(self, row: int) -> None:
        """One more node has it."""
        self.rows.add(row)
        self._row_numbers = None

    def discard(self, row: int) -> None:
        """One node has it no more."""
        self.rows.discard(row)
        self._row_numbers = None


class ImageIndex:
    """Image name to size and rows."""

    def __init__(self) -> None:
        self._states: dict[str, ImageState] = {}
        #: By row, each name with the size that its own node reports.
        self._reported: dict[int, dict[str, int]] = {}

    def get(self, name: str) -> ImageState | None:
        """The image's state, or None where no node has it."""
        return self._states.get(name)

    def put(self, row: int, images: Sequence[ContainerImage]) -> bool:
        """Set a row's images; returns whether anything changed."""
        reported: dict[str, int] = {}
        for image in images:
            for name in image.names:
                reported.setdefault(name, image.size_bytes)
        if reported == self._reported.get(row, {}):
            return False
        self.remove(row)
        for name, size in reported.items():
            state = self._states.get(name)
            if state is None:
                state = self._states[name] = ImageState(size)
            state.add(row)
        self._reported[row] = reported
        return True

    def remove(self, row: int) -> bool:
        """Forget a row's images; returns whether it had any."""
        names = self._reported.pop(row, {})
        for name in names:
            state = self._states[name]
            state.discard(row)
            if not state.rows:
                del self._states[name]
        return bool(names)

    def of(self, row: int) -> Mapping[str, int]:
        """Image name to size on one row."""
        return {name: self._states[name].size for name in self._reported.get(row, {})}

    def audit(self) -> Iterator[str]:
        """Differences between what nodes report and what is said of images."""
        holders: dict[str, set[int]] = {}
        for row, reported in self._reported.items():
            for name in reported:
                holders.setdefault(name, set()).add(row)
        for name in holders.keys() | self._states.keys():
            state = self._states.get(name)
            rows = state.rows if state is not None else set()
            if rows != holders.get(name, set()):
                yield f"image {name} is on rows {sorted(rows)}, reported by {sorted(holders.get(name, ()))}"
