"""Files of Kubernetes objects as plain values: JSON, JSON lines, YAML, several documents in a file.

Read by ``dump`` and ``manifest``. YAML is understood as kubectl understands it (``framework.config.scalars``): dates stay
text, ``yes`` is true, keys are words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, ClassVar, Final

import msgspec
import yaml

from bayplan.errors import BayplanError
from bayplan.framework.config.scalars import resolve

_PLAIN: Final = "tag:bayplan.io,2026:plain"
_MERGE: Final = "<<"


class Unreadable(BayplanError):
    """A file, or the rest of one, that is neither JSON nor YAML."""


def documents(data: bytes, *, yaml_only: bool = False) -> Iterator[Any]:
    """The documents of a file that say anything, one by one.

    Raises:
        Unreadable: where the text breaks off or makes no sense; what came before has been given out.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"not UTF-8 text: {error.reason} at byte {error.start}") from error
    if not yaml_only and text.lstrip()[:1] in {"{", "["}:
        yield from _json(text)
    else:
        yield from _yaml(text)


def _json(text: str) -> Iterator[Any]:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        yield from _several_json(text)
    else:
        yield value


def _several_json(text: str) -> Iterator[Any]:
    """Document after document; the standard library tells where one ends, and what is wrong."""
    decoder, end = json.JSONDecoder(), 0
    while True:
        start = end + len(text[end:]) - len(text[end:].lstrip())
        if start == len(text):
            return
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            raise Unreadable(f"line {error.lineno}: not JSON: {error.msg}") from error
        except RecursionError as error:
            raise Unreadable("nested too deeply") from error
        yield value


def _yaml(text: str) -> Iterator[Any]:
    try:
        for document in yaml.load_all(text, Loader=_Loader):
            if document is not None:
                yield document
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark is not None else ""
        message = ", ".join(part for part in (error.context, error.problem) if part)
        raise Unreadable(f"{line}not YAML: {message}") from error
    except yaml.YAMLError as error:
        raise Unreadable(f"not YAML: {error}") from error
    except RecursionError as error:
        raise Unreadable("nested too deeply") from error


_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SafeLoader):  # type: ignore[misc]
    """Scalars by Kubernetes' rules, keys as they are written."""

    # One resolver for all unquoted scalars: what they mean is decided in ``_plain``.
    yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {}


def _plain(loader: Any, node: yaml.ScalarNode) -> Any:
    return resolve(node.value)


def _mapping(loader: Any, node: yaml.MappingNode) -> Iterator[dict[str, Any]]:
    """In two steps, so that an alias may point at something unfinished."""
    found: dict[str, Any] = {}
    yield found
    merged: list[Any] = []
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise yaml.constructor.ConstructorError(
                None, None, "a key has to be a word, not a list or a mapping", key.start_mark
            )
        if key.value == _MERGE and key.tag == _PLAIN:
            merged.append(loader.construct_object(value, deep=True))
        elif key.value in found:
            raise yaml.constructor.ConstructorError(
                None, None, f'key "{key.value}" already set in map', key.start_mark
            )
        else:
            found[key.value] = loader.construct_object(value, deep=True)
    for source in merged:
        for mapping in source if isinstance(source, list) else [source]:
            for key, value in mapping.items() if isinstance(mapping, dict) else ():
                found.setdefault(key, value)


_Loader.add_implicit_resolver(_PLAIN, re.compile(""), None)
_Loader.add_constructor(_PLAIN, _plain)
_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
