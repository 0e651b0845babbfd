"""Objects as the API server shows them, and as they will be once what was decided is written.

::

              put                 assume                      put (newer), remove
    (unknown) ───▶ CONFIRMED ──────────────▶ ASSUMED ─────────────────────────────▶ CONFIRMED
                       ▲                        │ restore
                       └────────────────────────┘

An assumption is made for one version of an object and ends with it: whatever the API server shows next is newer than what
was assumed. Used by ``Storage`` for volumes and claims.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from bayplan.model.meta import ObjectMeta


class _HasMeta(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...


T = TypeVar("T", bound=_HasMeta)


class Assumable(Generic[T]):
    """Objects by ``namespace/name``, or by name where the kind has no namespaces."""

    def __init__(self) -> None:
        self._confirmed: dict[str, T] = {}
        self._assumed: dict[str, T] = {}

    def get(self, key: str) -> T | None:
        """The object as it will be."""
        return self._assumed.get(key) or self._confirmed.get(key)

    def confirmed(self, key: str) -> T | None:
        """The object as the API server shows it."""
        return self._confirmed.get(key)

    def is_assumed(self, key: str) -> bool:
        """Whether a decision about the object is still to be confirmed."""
        return key in self._assumed

    def __iter__(self) -> Iterator[T]:
        """The objects as they will be."""
        return (self._assumed.get(key, obj) for key, obj in self._confirmed.items())

    def __len__(self) -> int:
        return len(self._confirmed)

    def put(self, key: str, obj: T) -> T | None:
        """Take over what the API server shows; returns the object as it was."""
        before = self.get(key)
        assumed = self._assumed.get(key)
        if assumed is not None and not _same_version(assumed, obj):
            del self._assumed[key]
        self._confirmed[key] = obj
        return before

    def remove(self, key: str) -> T | None:
        """Forget an object; returns it as it was."""
        before = self.get(key)
        self._assumed.pop(key, None)
        self._confirmed.pop(key, None)
        return before

    def assume(self, key: str, obj: T) -> str:
        """Suppose that the object will be so; returns what stands against it."""
        confirmed = self._confirmed.get(key)
        if confirmed is None:
            return f'"{key}" not found'
        known, supposed = confirmed.metadata.resource_version, obj.metadata.resource_version
        if known != supposed:
            return f'"{key}" is out of sync (stored: {known}, assume: {supposed})'
        self._assumed[key] = obj
        return ""

    def restore(self, key: str, version: str) -> bool:
        """Give up what was assumed for a version of the object; returns whether there was such a thing."""
        assumed = self._assumed.get(key)
        if assumed is None or assumed.metadata.resource_version != version:
            return False
        del self._assumed[key]
        return True

    def audit(self, what: str) -> Iterator[str]:
        """Assumptions that should have ended."""
        for key, assumed in self._assumed.items():
            confirmed = self._confirmed.get(key)
            if confirmed is None:
                yield f"storage: {what} {key} is assumed, but does not exist"
            elif confirmed.metadata.resource_version != assumed.metadata.resource_version:
                yield f"storage: {what} {key} is assumed for a version that is no longer shown"


def _same_version(assumed: _HasMeta, shown: _HasMeta) -> bool:
    """An object without a version (a dump, a case file) is taken for a newer one."""
    version = shown.metadata.resource_version
    return bool(version) and version == assumed.metadata.resource_version
