"""Values that a plugin keeps for the length of one attempt, under typed keys.

Written by PreFilter and PreScore; read by the later points of the same attempt. A what-if works on a clone, so that
"suppose these pods were gone" never leaks into the real attempt.
"""

from __future__ import annotations

from typing import Any, Generic, Protocol, Self, TypeVar, runtime_checkable

T = TypeVar("T")


@runtime_checkable
class Clonable(Protocol):
    """A value that a what-if may change: it knows how to copy itself."""

    def clone(self) -> Self:
        """A copy that can be changed without touching this one."""
        ...


class StateKey(Generic[T]):
    """The name of one value in the cycle state; the type parameter is the value's type."""

    __slots__ = ("label",)

    def __init__(self, label: str = "") -> None:
        self.label = label

    def __repr__(self) -> str:
        return f"StateKey({self.label!r})"


class CycleState:
    """Typed scratch space of one attempt."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[StateKey[Any], Any] = {}

    def __setitem__(self, key: StateKey[T], value: T) -> None:
        self._values[key] = value

    def __getitem__(self, key: StateKey[T]) -> T:
        value: T = self._values[key]
        return value

    def get(self, key: StateKey[T]) -> T | None:
        """The value, or None where nothing was written."""
        return self._values.get(key)

    def __contains__(self, key: StateKey[Any]) -> bool:
        return key in self._values

    def clone(self) -> CycleState:
        """A state for a what-if: values that can clone themselves are copied, others are shared."""
        copy = CycleState()
        for key, value in self._values.items():
            # Not isinstance(value, Clonable): that takes longer than most clones.
            clone = getattr(value, "clone", None)
            copy._values[key] = value if clone is None else clone()
        return copy

    def fork(self) -> CycleState:
        """A state that starts with the same values; what is written under a key there is not seen here."""
        copy = CycleState()
        copy._values = self._values.copy()
        return copy
