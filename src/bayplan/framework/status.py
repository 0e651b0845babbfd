"""What a plugin answers: it passes, it rejects with reasons, it steps aside.

Fed by plugins; read by the runner, the cycle and the decision record. A rejection is a value, never an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

#: One bool per node of the view handed in; True lets the node pass.
Mask = NDArray[np.bool_]
#: One score per node of the view handed in.
Scores = NDArray[np.int64]
#: One bit pattern per node: what is wrong with it, 0 where nothing is.
Bits = NDArray[np.integer[Any]]

#: Bit patterns below this are counted instead of sorted.
_COUNTED_PATTERNS: Final = 4096


class Code(IntEnum):
    """Kubernetes' status codes; ``label`` is the name that verdicts print."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6

    @property
    def label(self) -> str:
        """The code's name as Kubernetes writes it."""
        return _LABELS[self]


_LABELS: Final = {
    Code.SUCCESS: "Success",
    Code.ERROR: "Error",
    Code.UNSCHEDULABLE: "Unschedulable",
    Code.UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Code.WAIT: "Wait",
    Code.SKIP: "Skip",
    Code.PENDING: "Pending",
}


class Rejected:
    """A pod or a node is turned down, for reasons that a person will read.

    ``code`` says whether evicting pods could cure it: UNSCHEDULABLE (perhaps) or UNRESOLVABLE (no).
    """

    __slots__ = ("code", "plugin", "reasons")

    def __init__(self, *reasons: str, code: Code = Code.UNSCHEDULABLE, plugin: str = "") -> None:
        for reason in reasons:
            if not isinstance(reason, str):
                raise TypeError(f"Rejected wants its reasons as text, got {reason!r}")
        self.reasons = reasons
        self.code = code
        #: Filled in by the runner; a plugin does not name itself.
        self.plugin = plugin

    def by(self, plugin: str) -> Rejected:
        """The same rejection, signed by ``plugin``."""
        return Rejected(*self.reasons, code=self.code, plugin=plugin)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rejected):
            return NotImplemented
        return (self.code, self.reasons, self.plugin) == (other.code, other.reasons, other.plugin)

    def __hash__(self) -> int:
        return hash((self.code, self.reasons, self.plugin))

    def __repr__(self) -> str:
        return f"Rejected({', '.join(map(repr, self.reasons))}, code={self.code.label})"

    @property
    def message(self) -> str:
        """The reasons in one line."""
        return ", ".join(self.reasons)


def unresolvable(*reasons: str) -> Rejected:
    """A rejection that no eviction can cure."""
    return Rejected(*reasons, code=Code.UNRESOLVABLE)


@final
class Skip:
    """From PreFilter or PreScore: this plugin has nothing to say about this pod."""

    def __repr__(self) -> str:
        return "SKIP"


SKIP: Final = Skip()


@dataclass(frozen=True, slots=True)
class OnlyNodes:
    """From PreFilter: no node but these is worth a look (Kubernetes' PreFilterResult)."""

    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """A column filter's answer where nodes are rejected for different reasons.

    ``index[i]`` is 0 where node ``i`` passes, else ``outcomes[index[i] - 1]`` is what to say of it.
    """

    index: NDArray[np.int16]
    outcomes: Sequence[Rejected]

    @classmethod
    def from_bits(cls, bits: Bits, say: Callable[[int], Rejected]) -> Verdicts:
        """One verdict per distinct bit pattern; 0 passes, ``say`` words each other pattern once."""
        if bits.size and np.maximum.reduce(bits) < _COUNTED_PATTERNS:
            return cls._from_few_bits(bits, say)
        patterns, inverse = np.unique(bits, return_inverse=True)
        outcomes = [say(int(pattern)) for pattern in patterns if pattern]
        index = inverse.astype(np.int16).reshape(bits.shape)
        if len(patterns) == len(outcomes):  # nobody passes: every pattern has an outcome
            index += 1
        return cls(index, outcomes)

    @classmethod
    def _from_few_bits(cls, bits: Bits, say: Callable[[int], Rejected]) -> Verdicts:
        """The same for small patterns, which are counted faster than sorted."""
        counts = np.bincount(bits)
        counts[0] = 0
        patterns = np.flatnonzero(counts)
        numbers = np.zeros(len(counts), np.int16)
        numbers[patterns] = np.arange(1, len(patterns) + 1)
        return cls(numbers[bits], [say(pattern) for pattern in patterns.tolist()])
