"""Sets of fields, as ``metadata.managedFields`` has them, and which fields an object has.

A field is a path of elements: ``f:spec`` a field or a map key, ``k:{"name":"web"}`` an item of a keyed list, ``v:"x"`` a
member of a set. A set of fields is a plain Python set of such paths, so union and difference are Python's. Read by
server-side apply and by the tracking of who wrote what. Rules as in structured-merge-diff v6.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

from bayplan.embedded import refusals
from bayplan.embedded.objects import Object
from bayplan.embedded.schema.shapes import ANY, Shape

Path: TypeAlias = tuple[str, ...]
FieldSet: TypeAlias = frozenset[Path]


def read(fields: object) -> FieldSet:
    """What a ``fieldsV1`` object stands for."""
    return frozenset(_read(fields, ()))


def _read(fields: object, above: Path) -> Iterator[Path]:
    if not isinstance(fields, dict) or not fields:
        if above:
            yield above
        return
    for name, below in fields.items():
        if name == ".":
            yield above
        else:
            yield from _read(below, (*above, name))


def written(fields: FieldSet) -> Object:
    """A set as ``fieldsV1`` has it; ``.`` stands for an element that has others below it."""
    root: Object = {}
    for path in sorted(fields):
        place = root
        for part in path:
            place = place.setdefault(part, {})
        place["."] = {}
    return {name: _trimmed(below) for name, below in root.items()}


def _trimmed(place: Object) -> Object:
    if place.keys() == {"."}:
        return {}
    return {name: below if name == "." else _trimmed(below) for name, below in place.items()}


def shown(path: Path) -> str:
    """A path as it stands in messages: ``.spec.containers[name="web"].image``."""
    text = ""
    for part in path:
        kind, _, rest = part.partition(":")
        match kind:
            case "f":
                text += f".{rest}"
            case "k":
                pairs = json.loads(rest).items()
                text += "[" + ",".join(f"{key}={compact(value)}" for key, value in pairs) + "]"
            case "v":
                text += f"[={rest}]"
            case _:
                text += f"[{rest}]"
    return text


def compact(value: object) -> str:
    """JSON without spaces, keys in order."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def item_key(item: object, shape: Shape) -> str:
    """The element that stands for an item of a keyed list or of a set.

    Raises:
        RequestRefused: 422-like, for an item without any of its keys.
    """
    if shape.list_type == "set":
        return "v:" + compact(item)
    found = {}
    for key in shape.list_keys:
        value = item.get(key) if isinstance(item, dict) else None
        value = shape.key_default(key) if value is None else value
        if value is not None:
            found[key] = value
    if not found:
        keys = ", ".join(shape.list_keys)
        raise refusals.bad_request(
            f"element {compact(item)}: associative list has none of its keys: {keys}"
        )
    return "k:" + compact(found)


def fields_of(value: object, shape: Shape) -> FieldSet:
    """The fields that an applied object makes a claim to: its leaves, its map keys and its list items."""
    return frozenset(_fields(value, shape, ()))


def _fields(value: object, shape: Shape, here: Path) -> Iterator[Path]:
    if isinstance(value, dict) and not shape.atomic and shape.form != "leaf":
        for name, one in value.items():
            path = (*here, f"f:{name}")
            yield from _fields(one, shape.field(name) or ANY, path)
            if one in (None, {}) or shape.form in {"map", "any"}:
                yield path
    elif isinstance(value, list) and not shape.atomic and shape.form == "list":
        for one in value:
            path = (*here, item_key(one, shape))
            yield from _fields(one, shape.element(), path)
            yield path
    elif here:
        yield here


class Difference:
    """What one object has that another has not."""

    def __init__(self, before: object, after: object, shape: Shape) -> None:
        self.added: set[Path] = set()
        self.removed: set[Path] = set()
        self.modified: set[Path] = set()
        self._compare(before, after, shape, ())

    @property
    def touched(self) -> set[Path]:
        """What is new or another than before."""
        return self.added | self.modified

    def _compare(self, before: Any, after: Any, shape: Shape, here: Path) -> None:
        if before == after:
            return
        either = after if before is None else before
        if shape.atomic or shape.form == "leaf" or not _alike(before, after):
            form: type | None = None
        else:
            form = type(either)
        if form is dict:
            self._compare_maps(before, after, shape, here)
        elif form is list and shape.form == "list":
            self._compare_items(before or [], after or [], shape, here)
        elif before is not None and after is not None:
            self.modified.add(here)
            return
        if before is None and here:
            self.added.add(here)
        elif after is None and here:
            self.removed.add(here)

    def _compare_maps(
        self, before: Object | None, after: Object | None, shape: Shape, here: Path
    ) -> None:
        for name in {**(before or {}), **(after or {})}:
            below = shape.field(name) or ANY
            path = (*here, f"f:{name}")
            self._compare(_inside(before, name, below), _inside(after, name, below), below, path)

    def _compare_items(self, before: list[Any], after: list[Any], shape: Shape, here: Path) -> None:
        old = {item_key(one, shape): one for one in before}
        new = {item_key(one, shape): one for one in after}
        element = shape.element()
        for key in {**old, **new}:
            self._compare(old.get(key), new.get(key), element, (*here, key))


def _inside(obj: Object | None, name: str, shape: Shape) -> Any:
    """A field as Go has it: what is no pointer is there, if empty, whenever its struct is there."""
    if obj is None:
        return None
    value = obj.get(name)
    if value is None and shape.always:
        return {} if shape.form == "struct" else [] if shape.form == "list" else None
    return value


def _alike(before: object, after: object) -> bool:
    return before is None or after is None or type(before) is type(after)
