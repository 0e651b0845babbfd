"""Wear and tear: fields that are missing or null, entries that come twice or in another order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.odd.luck import Luck, Thing

#: What objects are known by.
_KEPT = frozenset(
    ("id", "suite", "kind", "apiVersion", "metadata", "name", "uid", "namespace", "nodes", "pod")
)
#: What the API server would never let through, and upstream makes nonsense of.
_NEEDED = frozenset(("config", "containers", "maxSkew"))


def wear(luck: Luck, case: Thing) -> None:
    """Change a few places of the case's objects; both sides have to make the same of it."""
    for _ in range(luck.randint(1, 4)):
        fields = [
            path
            for kind in case
            if kind not in _KEPT | _NEEDED or kind in {"pod", "nodes"}
            for path in _places(case[kind])
        ]
        if fields:
            _change(luck, *luck.one(fields))


def _places(thing: Any) -> Iterator[tuple[Any, Any]]:
    """Everything that could be something else: a container and where in it."""
    if isinstance(thing, dict):
        for key, value in thing.items():
            if key not in _KEPT | _NEEDED:
                yield thing, key
            yield from _places(value)
    elif isinstance(thing, list):
        for value in thing:
            yield from _places(value)


def _change(luck: Luck, within: Any, where: Any) -> None:
    value = within[where]
    if isinstance(value, list) and value and luck.chance(0.5):
        if luck.chance(0.5):
            value.append(luck.one(value))
        else:
            luck.shuffle(value)
    elif luck.chance(0.5):
        within[where] = None
    else:
        del within[where]
