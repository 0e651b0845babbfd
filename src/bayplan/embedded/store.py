"""The objects of the API and what can be done with them: create, update, patch, delete; ``reading`` has the rest.

The HTTP side and everything in-process (controllers, node agents, tests) call the same methods with plain dicts, which
are the caller's own before and after. What a write needs is decided in a fixed order: place, metadata, defaults,
admission, validation; then it is put on its shelf and everybody hears of it. Nothing here waits, so a write is atomic.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final, Protocol

from bayplan.clock import Clock, SystemClock
from bayplan.embedded import deleting, refusals, writing
from bayplan.embedded.deleting import DeleteOptions
from bayplan.embedded.entries import Entry
from bayplan.embedded.kinds import Kind
from bayplan.embedded.objects import (
    Object,
    as_object,
    copy_of,
    key_of,
    metadata,
    text_at,
    timestamp,
)
from bayplan.embedded.patching import ownership
from bayplan.embedded.reading import Reading
from bayplan.embedded.rendering import from_storage, to_storage
from bayplan.embedded.rules import (
    custom_schemas,
    defaults,
    names,
    pod_parts,
    priorities,
    validation,
)
from bayplan.embedded.rules.quotas import Quotas
from bayplan.embedded.selecting import Selection
from bayplan.embedded.shelf import WINDOW

NAMESPACES: Final = "namespaces"

#: Namespaces that are always there; those marked True cannot be deleted.
_FIRST_NAMESPACES: Final = {
    "default": True,
    "kube-system": True,
    "kube-public": True,
    "kube-node-lease": False,
}


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How a write is meant."""

    #: The field manager; empty where nobody keeps account of whose fields are whose.
    manager: str = ""
    #: Decide everything and write nothing.
    dry_run: bool = False
    #: ``status`` and its like; empty for the object itself.
    subresource: str = ""


#: How often another name is made up for one that is taken.
_NAME_ATTEMPTS: Final = 7

_PLAIN: Final = WriteOptions()


class Patcher(Protocol):
    """Makes of the current object, if there is one, what it is to be."""

    def __call__(self, current: Object | None) -> Object: ...


class Store(Reading):
    """All objects."""

    def __init__(
        self, clock: Clock | None = None, *, rng: Random | None = None, window: int = WINDOW
    ) -> None:
        super().__init__(clock or SystemClock(), window=window)
        self.quotas = Quotas(self.shelves)
        self._rng = rng or Random()

    def seed(self) -> None:
        """Write what every cluster has, if it is not there."""
        for name in _FIRST_NAMESPACES:
            if not self.find(NAMESPACES, name):
                self.create(NAMESPACES, {"metadata": {"name": name}})
        for one in priorities.system_classes():
            if not self.find(priorities.SHELF, one["metadata"]["name"]):
                self.create(priorities.SHELF, one)

    # Writing

    def create(
        self,
        kind: Kind | str,
        obj: Object,
        namespace: str = "",
        options: WriteOptions = _PLAIN,
    ) -> Object:
        """Write a new object.

        Raises:
            RequestRefused: it cannot be.
        """
        known = self.kind(kind)
        obj = copy_of(obj)
        namespace = namespace or text_at(obj, "metadata", "namespace")
        writing.check_place(known, obj, namespace)
        self._check_namespace(known, obj, namespace)
        obj = to_storage(known, obj)
        stamp = timestamp(self.clock.now())
        writing.begin(known, obj, stamp, self._uid(), partial(self._name, known, namespace))
        self._fill_in(known, obj)
        if known.shelf == "pods":
            priorities.resolve(obj, self.shelves)
        elif known.shelf == priorities.GROUPS:
            priorities.resolve_group(obj, self.shelves)
        defaults.complete(known.shelf, obj)
        validation.check(known, obj)
        if known.shelf == priorities.SHELF:
            priorities.check_default(obj, self.shelves)
        name = metadata(obj)["name"]
        if key_of(namespace, name) in self.shelves[known.shelf].entries:
            raise refusals.already_exists(known.plural, known.group, name)
        self.quotas.admit(known, obj, namespace)
        self._track(known, None, obj, options)
        if not options.dry_run:
            self.shelves.put(known.shelf, obj)
        return from_storage(known, obj)

    def update(
        self,
        kind: Kind | str,
        obj: Object,
        namespace: str = "",
        options: WriteOptions = _PLAIN,
    ) -> Object:
        """Write an object in place of what has its name; where its kind allows, a new one.

        Raises:
            RequestRefused: it cannot be.
        """
        known = self.kind(kind)
        obj = copy_of(obj)
        namespace = namespace or text_at(obj, "metadata", "namespace")
        writing.check_place(known, obj, namespace)
        entry = self.find(known, text_at(obj, "metadata", "name"), namespace)
        if entry is None and known.creates_on_update and not options.subresource:
            metadata(obj).pop("resourceVersion", None)
            return self.create(known, obj, namespace, options)
        if entry is None:
            name = text_at(obj, "metadata", "name")
            raise refusals.not_found(known.plural, known.group, name)
        return self._replace(known, obj, entry, options)

    def patch(
        self,
        kind: Kind | str,
        name: str,
        patcher: Patcher,
        namespace: str = "",
        options: WriteOptions = _PLAIN,
    ) -> Object:
        """Change an object by a function of its current state; server-side apply may create it.

        Raises:
            RequestRefused: it cannot be.
        """
        known = self.kind(kind)
        entry = self.find(known, name, namespace)
        current = None if entry is None else from_storage(known, entry.decode())
        changed = patcher(current)
        writing.check_place(known, changed, namespace, name)
        if entry is None:
            return self.create(known, changed, namespace, options)
        writing.check_patched_uid(known, changed, entry.decode())
        # A patch that says no version is meant for whatever version there is.
        if not text_at(changed, "metadata", "resourceVersion"):
            metadata(changed)["resourceVersion"] = str(entry.version)
        return self._replace(known, changed, entry, options)

    def mutate(
        self, kind: Kind | str, name: str, change: Callable[[Object], Any], namespace: str = ""
    ) -> Object:
        """Change an object as the server itself does: nothing is checked, nothing is taken back."""
        known = self.kind(kind)
        obj = self.entry(known, name, namespace).decode()
        before = copy_of(obj)
        change(obj)
        if obj != before:
            self.shelves.put(known.shelf, obj)
        return from_storage(known, obj)

    def finalize(
        self, kind: Kind | str, name: str, change: Callable[[Object], Any], namespace: str = ""
    ) -> None:
        """Change an object as ``mutate`` does, and let it go if nothing holds it any more."""
        known = self.kind(kind)
        obj = self.entry(known, name, namespace).decode()
        change(obj)
        self._put_or_remove(known, obj)

    def delete(
        self,
        kind: Kind | str,
        name: str,
        namespace: str = "",
        options: DeleteOptions | None = None,
    ) -> tuple[Object, bool]:
        """Let an object go; returns its last state, and whether it is gone already.

        Raises:
            RequestRefused: there is none, or it is not the one that is meant.
        """
        options = options or DeleteOptions()
        known = self.kind(kind)
        entry = self.entry(known, name, namespace)
        if known.shelf == NAMESPACES and _FIRST_NAMESPACES.get(name):
            why = "this namespace may not be deleted"
            raise refusals.forbidden(known.plural, known.group, name, why)
        obj = entry.decode()
        deleting.check(known, obj, options)
        before = copy_of(obj)
        at_once = deleting.mark(known, obj, options, self.clock.now())
        if not options.dry_run:
            # A pod that goes at once is first seen going, as in kube-apiserver, which does it in two steps.
            if obj != before and (not at_once or known.shelf == "pods"):
                self.shelves.put(known.shelf, obj)
            # Whoever heard of that may have been quicker.
            if at_once and self.find(known, name, namespace):
                self.shelves.remove(known.shelf, obj)
        return from_storage(known, obj), at_once

    def delete_all(
        self, kind: Kind | str, wanted: Selection, options: DeleteOptions | None = None
    ) -> Sequence[Object]:
        """Let all objects of a selection go; returns their last states."""
        known = self.kind(kind)
        entries = list(self.shelves[known.shelf].select(wanted))
        return [
            self.delete(known, entry.name, entry.namespace, options)[0]
            for entry in entries
            if self.find(known, entry.name, entry.namespace)
        ]

    def _replace(self, kind: Kind, obj: Object, entry: Entry, options: WriteOptions) -> Object:
        old = entry.decode()
        writing.check_uid(kind, obj, old)
        writing.check_version(kind, obj, old)
        obj = to_storage(kind, obj)
        part = options.subresource if options.subresource in pod_parts.PARTS else ""
        if part:
            obj = pod_parts.with_part(obj, old, part)
        obj = writing.split(kind, obj, old, options.subresource)
        writing.carry_on(kind, obj, old)
        metadata(obj)["resourceVersion"] = str(entry.version)
        if options.subresource == "finalize":
            section = as_object(obj.get("spec")).get("finalizers")
            obj = old | {"spec": {**as_object(old.get("spec")), "finalizers": section or []}}
        elif kind.shelf == NAMESPACES:
            obj["spec"] = as_object(obj.get("spec")) | as_object(old.get("spec"))
        self._fill_in(kind, obj)
        if kind.shelf == "pods":
            _keep_priority(obj, old)
        # What may be changed by way of a part is the part's business.
        validation.check(kind, obj, None if part else old)
        if part:
            pod_parts.check_part(obj, old, part)
        if kind.shelf == priorities.SHELF:
            priorities.check_default(obj, self.shelves)
        writing.count_generation(kind, obj, old)
        if options.dry_run or obj == old:
            return from_storage(kind, obj)
        self._track(kind, old, obj, options)
        self._put_or_remove(kind, obj)
        return from_storage(kind, obj)

    def _put_or_remove(self, kind: Kind, obj: Object) -> None:
        if deleting.is_over(kind, obj):
            self.shelves.remove(kind.shelf, obj)
        else:
            self.shelves.put(kind.shelf, obj)

    @staticmethod
    def _fill_in(kind: Kind, obj: Object) -> None:
        if kind.custom_schema is not None:
            custom_schemas.fill_in(obj, kind.custom_schema)
        else:
            defaults.fill_in(kind.shelf, obj)

    def _track(self, kind: Kind, old: Object | None, obj: Object, options: WriteOptions) -> None:
        if options.manager:
            ownership.track(
                kind,
                old,
                obj,
                manager=options.manager,
                subresource=options.subresource,
                time=timestamp(self.clock.now()),
            )

    def _check_namespace(self, kind: Kind, obj: Object, namespace: str) -> None:
        if not kind.namespaced:
            return
        if not namespace:
            raise refusals.bad_request("an empty namespace may not be set during creation")
        entry = self.shelves[NAMESPACES].entries.get(namespace)
        if entry is None:
            if names.label_problems(namespace):
                raise refusals.bad_request(f"invalid namespace {namespace!r}")
            raise refusals.not_found(NAMESPACES, "", namespace)
        if entry.fields.get("status.phase") == "Terminating":
            raise refusals.terminating(
                kind.plural, kind.group, text_at(obj, "metadata", "name"), namespace
            )

    def _name(self, kind: Kind, namespace: str, base: str) -> str:
        """A generated name, as a rule one that is free."""
        name = writing.generated(base, self._rng.randrange)
        for _ in range(_NAME_ATTEMPTS):
            if not self.find(kind, name, namespace):
                break
            name = writing.generated(base, self._rng.randrange)
        return name

    def _uid(self) -> str:
        return str(uuid.UUID(int=self._rng.getrandbits(128), version=4))


def _keep_priority(pod: Object, old: Object) -> None:
    """Whoever writes a pod without its priority does not mean to change it."""
    spec, before = as_object(pod.get("spec")), as_object(old.get("spec"))
    for field in ("priority", "preemptionPolicy"):
        if spec.get(field) is None and field in before:
            spec[field] = before[field]
