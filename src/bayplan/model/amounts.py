"""Amounts of resources as people write them: 500m, 1536Mi, 2.

Amounts are as the cluster keeps them: CPU in thousandths, everything else in whole units. Read by
whoever tells people of amounts, and by the status of elastic quotas.
"""

from __future__ import annotations

from typing import Final

_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_STEP: Final = 1024
#: Resources counted in bytes.
_BYTES: Final = ("memory", "ephemeral-storage")
_HUGE_PAGES: Final = "hugepages-"


def in_bytes(resource: str) -> bool:
    """Whether a resource is counted in bytes."""
    return resource in _BYTES or resource.startswith(_HUGE_PAGES)


def quantity_text(resource: str, amount: int) -> str:
    """An exact quantity that Kubernetes reads as this amount."""
    if resource == "cpu":
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if not in_bytes(resource) or amount == 0:
        return str(amount)
    power = 0
    while amount % _STEP == 0 and power < len(_BINARY) - 1:
        amount //= _STEP
        power += 1
    return f"{amount}{_BINARY[power]}"


def rounded_up(resource: str, amount: int, most: int) -> int:
    """The next amount that is easy on the eye, but not above ``most``: 300000001 bytes become 287Mi."""
    if not in_bytes(resource):
        return min(amount, most)
    unit = 1
    while amount >= unit * _STEP * 10 and unit < _STEP**4:
        unit *= _STEP
    return min(-(-amount // unit) * unit, most)
