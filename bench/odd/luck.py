"""Seeded chance, as the parts of a generated case want it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
#: An object as it stands in a case: what JSON has.
Thing = dict[str, Any]


class Luck(random.Random):
    """A random generator with the words that cases are made of."""

    #: Whether amounts may be so large that sums of them do not fit into 64 bits.
    extreme = False

    def chance(self, share: float) -> bool:
        """True in this share of the throws."""
        return self.random() < share

    def one(self, choices: Sequence[T]) -> T:
        """One of them."""
        return choices[self.randrange(len(choices))]

    def some(self, choices: Sequence[T], most: int, least: int = 0) -> list[T]:
        """A few different ones."""
        return self.sample(choices, min(len(choices), self.randint(least, most)))

    def times(self, make: Callable[[], T], most: int, least: int = 0) -> list[T]:
        """A few made alike."""
        return [make() for _ in range(self.randint(least, most))]

    def maybe(self, thing: Thing, field: str, share: float, make: Callable[[], Any]) -> None:
        """Set a field in a share of the throws; else it stays absent."""
        if self.chance(share):
            thing[field] = make()


_VERSIONS = {
    **dict.fromkeys(("CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment"), "storage.k8s.io/v1"),
    **dict.fromkeys(("ReplicaSet", "StatefulSet"), "apps/v1"),
    "PodDisruptionBudget": "policy/v1",
}  # fmt: skip


def thing(kind: str, name: str, namespace: str = "", **fields: Any) -> Thing:
    """An object of Kubernetes."""
    meta: Thing = {"name": name}
    if namespace:
        meta["namespace"] = namespace
    meta |= fields.pop("metadata", {})
    return {"apiVersion": _VERSIONS.get(kind, "v1"), "kind": kind, "metadata": meta, **fields}
