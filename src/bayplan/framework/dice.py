"""Seeded chance: ties between equally good nodes are broken by it, and a run can be repeated.

Handed to the cycle by whoever starts it; the draw of each decision is part of its record.
"""

from __future__ import annotations

from typing import Final

_MASK: Final = (1 << 64) - 1


class Dice:
    """SplitMix64: small, fast, the same on every machine."""

    __slots__ = ("state",)

    def __init__(self, seed: int) -> None:
        self.state = seed & _MASK

    def below(self, n: int) -> int:
        """A number from 0 to n-1."""
        self.state = z = (self.state + 0x9E3779B97F4A7C15) & _MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        # The high bits scaled: a bias of n in 2**64, which no cluster will notice.
        return ((z ^ (z >> 31)) * n) >> 64
