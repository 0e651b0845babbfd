"""Kinds: which resources the API serves, and how each differs from the rest.

``Kind`` is a row of data; ``Kinds`` finds one by path, by name or by kind, and takes new ones while the server runs
(custom resources, groups from outside). Read by the store, discovery, the OpenAPI documents and the HTTP routes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

VERBS: Final = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)


@dataclass(frozen=True, slots=True)
class Column:
    """One of a custom resource's ``additionalPrinterColumns``."""

    name: str
    type: str
    json_path: str
    priority: int = 0
    description: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """One resource in one version."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    singular: str = ""
    #: There is a ``status`` subresource, and writes to the object leave the status alone.
    has_status: bool = False
    #: ``metadata.generation`` counts changes of anything but metadata and status.
    has_generation: bool = False
    #: A client that creates the object may give it a status.
    creates_status: bool = False
    #: PUT to a name that is not there creates the object.
    creates_on_update: bool = False
    #: PUT needs ``metadata.resourceVersion``.
    needs_version: bool = False
    #: Names may be more than DNS allows: they only must fit into a path.
    loose_names: bool = False
    #: Only POST: reviews, which are answered and not stored.
    create_only: bool = False
    #: Only GET, and no watch: made when it is asked for, and not stored.
    computed: bool = False
    subresources: tuple[str, ...] = ()
    #: Where objects are kept: kinds that share it are views of the same objects.
    storage: str = ""
    #: Full name in the tables of ``schema``; empty for custom resources.
    schema_type: str = ""
    #: The OpenAPI schema of a custom resource.
    custom_schema: dict[str, object] | None = field(default=None, compare=False)
    columns: tuple[Column, ...] = ()

    @property
    def api_version(self) -> str:
        """``apps/v1``, ``v1``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """``deployments.apps``, ``pods``: how messages name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def list_kind(self) -> str:
        """``PodList``."""
        return f"{self.kind}List"

    @property
    def shelf(self) -> str:
        """The name of the place where its objects are kept."""
        return self.storage or self.resource

    @property
    def verbs(self) -> tuple[str, ...]:
        """What can be done with it."""
        if self.computed:
            return ("get", "list")
        return ("create",) if self.create_only else VERBS


class Kinds:
    """All kinds that are served now."""

    def __init__(self, kinds: tuple[Kind, ...] = ()) -> None:
        self._by_path: dict[tuple[str, str, str], Kind] = {}
        self._by_name: dict[str, Kind] = {}
        self._by_kind: dict[tuple[str, str], Kind] = {}
        self._listeners: list[Callable[[], None]] = []
        for kind in kinds:
            self.add(kind)

    def __iter__(self) -> Iterator[Kind]:
        return iter(list(self._by_path.values()))

    def add(self, kind: Kind) -> None:
        """Serve a kind from now on, in place of what had its path."""
        self._by_path[kind.group, kind.version, kind.plural] = kind
        # Another kind's objects under one more name do not take the name of a resource that is there.
        if not kind.storage or kind.resource not in self._by_name:
            self._by_name[kind.resource] = kind
        self._by_kind[kind.api_version, kind.kind] = kind
        self._changed()

    def remove(self, kind: Kind) -> None:
        """Serve it no longer."""
        self._by_path.pop((kind.group, kind.version, kind.plural), None)
        self._by_kind.pop((kind.api_version, kind.kind), None)
        if self._by_name.get(kind.resource) == kind:
            del self._by_name[kind.resource]
            for other in self:
                if other.resource == kind.resource:
                    self._by_name[kind.resource] = other
        self._changed()

    def at_path(self, group: str, version: str, plural: str) -> Kind | None:
        """The kind that a URL names."""
        return self._by_path.get((group, version, plural))

    def named(self, resource: str) -> Kind | None:
        """The kind that is called ``pods`` or ``deployments.apps``."""
        return self._by_name.get(resource)

    def of(self, api_version: str, kind: str) -> Kind | None:
        """The kind that an object says it is."""
        return self._by_kind.get((api_version, kind))

    def groups(self) -> dict[str, dict[str, list[Kind]]]:
        """Kinds by group and version, in the order in which they were added."""
        found: dict[str, dict[str, list[Kind]]] = {}
        for kind in self:
            found.setdefault(kind.group, {}).setdefault(kind.version, []).append(kind)
        return found

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call this whenever a kind comes or goes."""
        self._listeners.append(listener)

    def _changed(self) -> None:
        for listener in self._listeners:
            listener()
