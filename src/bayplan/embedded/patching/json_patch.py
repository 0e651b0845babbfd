"""JSON patch (RFC 6902): a list of operations on paths.

Read by ``bayplan.embedded.patching``. The document is changed in place; a patch that fails half way leaves it half
changed, so the caller hands in a copy.
"""

from __future__ import annotations

from typing import Any

from bayplan.embedded import refusals
from bayplan.embedded.objects import copy_of
from bayplan.errors import RequestRefused


def apply(document: Any, operations: object) -> Any:
    """The document after all operations.

    Raises:
        RequestRefused: 400 for what is no JSON patch, 422 for one that does not fit the document.
    """
    if not isinstance(operations, list):
        raise refusals.bad_request(
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
        )
    for one in operations:
        if not isinstance(one, dict) or not isinstance(one.get("path"), str):
            raise refusals.bad_request(
                "error decoding patch: an operation is an object with a path"
            )
        document = _operation(document, one)
    return document


def _operation(document: Any, one: dict[str, Any]) -> Any:
    path = _parts(one["path"])
    match one.get("op"):
        case "add":
            return _add(document, path, _value(one))
        case "remove":
            return _remove(document, path)
        case "replace":
            if path:
                _find(document, path)
                document = _remove(document, path)
            return _add(document, path, _value(one))
        case "move":
            source = _parts(str(one.get("from", "")))
            moved = _find(document, source)
            return _add(_remove(document, source), path, moved)
        case "copy":
            return _add(document, path, copy_of(_find(document, _parts(str(one.get("from", ""))))))
        case "test":
            if _lookup(document, path) != one.get("value"):
                raise _unfit(f"testing value {one['path']} failed")
            return document
        case op:
            raise _unfit(f"unexpected kind: {op}")


def _value(one: dict[str, Any]) -> Any:
    if "value" not in one:
        raise refusals.bad_request(f"error decoding patch: {one['op']} operation without a value")
    return one["value"]


def _parts(path: str) -> list[str]:
    if path and not path.startswith("/"):
        raise refusals.bad_request(f'error decoding patch: the path "{path}" does not begin with /')
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _unfit(why: str) -> RequestRefused:
    """kube-apiserver does not say more; why is in the exception's notes."""
    refusal = RequestRefused(
        422,
        "Invalid",
        "the server rejected our request due to an error in our request",
        details={},
    )
    refusal.add_note(why)
    return refusal


def _missing(path: list[str]) -> RequestRefused:
    return _unfit(f"the path /{'/'.join(path)} does not exist in the object")


def _index(items: list[Any], part: str, path: list[str], *, room: int = 0) -> int:
    index = int(part) if part.lstrip("-").isdecimal() else None
    if index is None or not -len(items) <= index < len(items) + room:
        raise _missing(path)
    return index


def _find(document: Any, path: list[str]) -> Any:
    for part in path:
        if isinstance(document, list):
            document = document[_index(document, part, path)]
        elif isinstance(document, dict) and part in document:
            document = document[part]
        else:
            raise _missing(path)
    return document


def _lookup(document: Any, path: list[str]) -> Any:
    """As ``_find``, but what is missing is null, as tests have it."""
    try:
        return _find(document, path)
    except RequestRefused:
        return None


def _add(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent, last = _find(document, path[:-1]), path[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list):
        at = len(parent) if last == "-" else _index(parent, last, path, room=1)
        parent.insert(at, value)
    else:
        raise _missing(path)
    return document


def _remove(document: Any, path: list[str]) -> Any:
    _find(document, path)
    if not path:
        return None
    parent, last = _find(document, path[:-1]), path[-1]
    if isinstance(parent, dict):
        del parent[last]
    else:
        del parent[_index(parent, last, path)]
    return document
