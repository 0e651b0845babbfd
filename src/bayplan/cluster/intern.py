"""Strings and other small values as dense numbers, so that columns can hold them.

Every table of this package interns; plugins see the numbers only through the view.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

H = TypeVar("H", bound=Hashable)

#: The number of a value that was never seen: no row carries it.
UNKNOWN = -1


class Interner(Generic[H]):
    """Values to ids 0, 1, 2, … and back."""

    __slots__ = ("_ids", "values")

    def __init__(self) -> None:
        self._ids: dict[H, int] = {}
        #: The values, by id.
        self.values: list[H] = []

    def id(self, value: H) -> int:
        """The value's id; a new value gets the next one."""
        found = self._ids.get(value)
        if found is None:
            found = self._ids[value] = len(self.values)
            self.values.append(value)
        return found

    def find(self, value: H) -> int:
        """The value's id, or UNKNOWN."""
        return self._ids.get(value, UNKNOWN)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[H]:
        return iter(self.values)
