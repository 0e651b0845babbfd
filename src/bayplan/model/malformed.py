"""Why a document cannot be read, in words that name the object and the field.

Called by ``decode`` once reading has failed, so nothing here is in a hurry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from bayplan.errors import DecodeError
from bayplan.model.meta import KubeObject, kind_of

#: ``Expected `int`, got `str` - at `$.spec.priority```, or ``… - at `key` in `$.metadata.labels```.
_MESSAGE = re.compile(r"(?P<what>.*?)(?: - at (?P<key>`key` in )?`\$(?P<path>.*)`)?", re.DOTALL)
#: How msgspec writes the place of a map's value, whose key it does not know any more.
_SOME_KEY = "[...]"
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")

#: More entries than this are not tried out one by one.
_MAX_TRIED = 10_000


def explain(cls: type[msgspec.Struct], tree: object, error: Exception) -> DecodeError:
    """The error to raise for a document that could not be read as ``cls``.

    Args:
        cls: what it should have been.
        tree: the document, as far as it is JSON at all; else None.
        error: what msgspec or Python said.
    """
    obj = _describe(cls, tree)
    if isinstance(error, RecursionError):
        return DecodeError("nested too deeply", obj=obj)
    if isinstance(error, UnicodeDecodeError | UnicodeEncodeError):
        return DecodeError(f"not valid UTF-8: {error.reason}", obj=obj)
    if not isinstance(error, msgspec.ValidationError):
        return DecodeError(_lower(str(error)), obj=obj)
    what, key, path = _parts(error)
    if key:
        return DecodeError(f"map keys: {what}", path=path.removeprefix("."), obj=obj)
    if path.endswith(_SOME_KEY) and isinstance(tree, Mapping):
        path = _with_key(cls, tree, path.removesuffix(_SOME_KEY))
    return DecodeError(what, path=path.removeprefix("."), obj=obj)


def _parts(error: msgspec.ValidationError) -> tuple[str, bool, str]:
    """What is wrong, whether a key is, and where."""
    found = _MESSAGE.fullmatch(str(error))
    if found is None:
        return str(error), False, ""
    what = found["what"].replace("`", "").replace(" | null", "")
    what = what.replace("int | float | str", "quantity")
    return _lower(what), found["key"] is not None, found["path"] or ""


def _lower(text: str) -> str:
    # "JSON is malformed" stays as it is.
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


def _describe(cls: type[msgspec.Struct], tree: object) -> str:
    """``Pod default/web``, as far as it can be told."""
    kind = kind_of(cls) if issubclass(cls, KubeObject) else ""
    if not isinstance(tree, Mapping):
        return kind
    said = tree.get("kind")
    if not kind and isinstance(said, str):
        kind = said
    meta = tree.get("metadata")
    parts = [meta.get(part) for part in ("namespace", "name")] if isinstance(meta, Mapping) else []
    name = "/".join(part for part in parts if isinstance(part, str) and part)
    return f"{kind} {name}".strip()


def _with_key(cls: type[msgspec.Struct], tree: Mapping[str, Any], path: str) -> str:
    """The path to the entry of the map at ``path`` that does not fit."""
    steps = [name or int(index) for name, index in _STEP.findall(path)]
    entries = _at(tree, steps)
    if isinstance(entries, Mapping) and len(entries) <= _MAX_TRIED:
        for key, value in entries.items():
            try:
                msgspec.convert(_alone(steps, {key: value}), cls)
            except (msgspec.MsgspecError, RecursionError, TypeError, ValueError):
                return f"{path}.{key}"
    return path


def _at(tree: Any, steps: list[str | int]) -> Any:
    for step in steps:
        try:
            tree = tree[step]
        except (LookupError, TypeError):
            return None
    return tree


def _alone(steps: list[str | int], leaf: object) -> object:
    """A document with nothing in it but what leads to the leaf."""
    for step in reversed(steps):
        leaf = [leaf] if isinstance(step, int) else {step: leaf}
    return leaf
