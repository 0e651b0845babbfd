"""Custom resources: a CustomResourceDefinition makes kinds that are served from that moment on.

Listens to the definitions in the store. A definition is accepted if nobody else has its names, and its status says so;
when it is deleted its objects go with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayplan.embedded.entries import Change, ChangeType
from bayplan.embedded.kinds import Column, Kind
from bayplan.embedded.objects import Object, as_list, as_object, at, number_at, text_at, timestamp
from bayplan.embedded.selecting import Selection

if TYPE_CHECKING:
    from bayplan.embedded.store import Store

SHELF: Final = "customresourcedefinitions.apiextensions.k8s.io"


class Customs:
    """Keeps the kinds that definitions make."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kinds: dict[str, list[Kind]] = {}
        store.shelves[SHELF].listen(self._on_change)

    def resume(self) -> None:
        """Serve what was defined before the server started."""
        for entry in list(self._store.shelves[SHELF].entries.values()):
            self._serve(entry.name, entry.decode())

    def _on_change(self, change: Change) -> None:
        name = change.entry.name
        if change.type is not ChangeType.DELETED:
            self._serve(name, change.entry.decode())
            return
        for kind in self._kinds.pop(name, []):
            self._store.delete_all(kind, Selection())
            self._store.kinds.remove(kind)

    def _serve(self, name: str, definition: Object) -> None:
        taken = self._taken_by_others(name, definition)
        if not taken:
            kinds = kinds_of(definition)
            for old in self._kinds.get(name, []):
                if old.version not in {kind.version for kind in kinds}:
                    self._store.kinds.remove(old)
            for kind in kinds:
                self._store.kinds.add(kind)
            self._kinds[name] = kinds
        now_s = self._store.clock.now()
        self._store.mutate(SHELF, name, lambda obj: _accept(obj, taken, now_s))

    def _taken_by_others(self, name: str, definition: Object) -> str:
        """Why its names cannot be had; empty if they can."""
        own = self._kinds.get(name, [])
        group, kind = (
            text_at(definition, "spec", "group"),
            text_at(definition, "spec", "names", "kind"),
        )
        for other in self._store.kinds:
            if other.group == group and other.kind == kind and other not in own:
                return f'"{kind}" is already in use'
        return ""


def kinds_of(definition: Object) -> list[Kind]:
    """The kinds that a definition makes: one for each version that is served."""
    spec = as_object(definition.get("spec"))
    return [
        _kind(spec, as_object(version))
        for version in as_list(spec.get("versions"))
        if at(version, "served") is not False
    ]


def _kind(spec: Object, version: Object) -> Kind:
    names = as_object(spec.get("names"))
    below = as_object(version.get("subresources"))
    kind = text_at(names, "kind")
    return Kind(
        group=text_at(spec, "group"),
        version=text_at(version, "name"),
        plural=text_at(names, "plural"),
        kind=kind,
        namespaced=spec.get("scope") != "Cluster",
        short_names=tuple(as_list(names.get("shortNames"))),
        categories=tuple(as_list(names.get("categories"))),
        singular=text_at(names, "singular") or kind.lower(),
        has_status="status" in below,
        has_generation=True,
        subresources=tuple(name for name in ("status", "scale") if name in below),
        custom_schema=at(version, "schema", "openAPIV3Schema"),
        columns=tuple(map(_column, as_list(version.get("additionalPrinterColumns")))),
    )


def _column(given: Object) -> Column:
    return Column(
        text_at(given, "name"),
        text_at(given, "type") or "string",
        text_at(given, "jsonPath"),
        number_at(given, "priority"),
        text_at(given, "description"),
    )


def _accept(definition: Object, taken: str, now_s: float) -> None:
    """Write into its status whether a definition is served."""
    spec = as_object(definition.get("spec"))
    names = as_object(spec.get("names"))
    stored = [
        text_at(one, "name") for one in as_list(spec.get("versions")) if at(one, "storage") is True
    ]
    before = as_object(definition.get("status"))
    accepted = (
        ("False", "KindConflict", taken) if taken else ("True", "NoConflicts", "no conflicts found")
    )
    established = (
        ("False", "NotAccepted", "not all names are accepted")
        if taken
        else ("True", "InitialNamesAccepted", "the initial names have been accepted")
    )
    definition["status"] = before | {
        "conditions": [
            _condition(before, "NamesAccepted", accepted, now_s),
            _condition(before, "Established", established, now_s),
        ],
        "acceptedNames": names | {"listKind": names.get("listKind") or f"{names.get('kind')}List"},
        "storedVersions": before.get("storedVersions") or stored,
    }


def _condition(before: Object, kind: str, said: tuple[str, str, str], now_s: float) -> Object:
    status, reason, message = said
    for one in as_list(before.get("conditions")):
        if one.get("type") == kind and one.get("status") == status:
            return as_object(one)
    return {
        "type": kind,
        "status": status,
        "lastTransitionTime": timestamp(now_s),
        "reason": reason,
        "message": message,
    }
