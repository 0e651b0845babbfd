"""Which objects a handler was told of: name, uid and resourceVersion, not the objects. Pure.

A million pods are remembered, so the strings are those of the object itself, which the handler keeps anyway, and nothing is
added but a tuple. Used by ``client.informer`` to tell what a new list leaves out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

#: uid and resourceVersion.
Version: TypeAlias = tuple[str, str]


class Known:
    """The objects of one kind, by namespace and name."""

    def __init__(self) -> None:
        self._versions: dict[str, dict[str, Version]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def get(self, namespace: str, name: str) -> Version | None:
        """What is known of an object."""
        found = self._versions.get(namespace)
        return found.get(name) if found is not None else None

    def put(self, namespace: str, name: str, version: Version) -> None:
        """An object, as it is now."""
        names = self._versions.setdefault(namespace, {})
        self._count += name not in names
        names[name] = version

    def drop(self, namespace: str, name: str) -> Version | None:
        """An object is gone; what was known of it."""
        names = self._versions.get(namespace)
        version = names.pop(name, None) if names is not None else None
        if version is not None:
            self._count -= 1
            if not names:
                del self._versions[namespace]
        return version

    def names(self) -> Iterator[tuple[str, str]]:
        """Namespace and name of every object; what changes meanwhile may or may not be among them."""
        for namespace, names in list(self._versions.items()):
            for name in list(names):
                yield namespace, name
