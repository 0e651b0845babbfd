"""Strategic merge patch: a merge patch that knows which lists are merged by a key, with directives of its own.

``$patch: replace | delete`` stands in an object, ``$retainKeys``, ``$setElementOrder/<list>`` and
``$deleteFromPrimitiveList/<list>`` stand beside the fields they are about. Which lists are merged, and by which key, is in
the shapes. Read by ``bayplan.embedded.patching``. Order of lists as in apimachinery/pkg/util/strategicpatch.
"""

from __future__ import annotations

from typing import Any, Final

from bayplan.embedded.objects import Object
from bayplan.embedded.schema.shapes import ANY, Shape
from bayplan.errors import RequestRefused

_DIRECTIVE: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_ORDER: Final = "$setElementOrder/"
_DELETE: Final = "$deleteFromPrimitiveList/"


def apply(current: Object, patch: Object, shape: Shape) -> Object:
    """The object after the patch; what was there is changed in place.

    Raises:
        RequestRefused: 500, for a directive that does not exist or does not fit.
    """
    if _DIRECTIVE in patch:
        return _directed(current, patch, shape)
    _retain(current, patch)
    orders = {
        name.removeprefix(_ORDER): value for name, value in patch.items() if name.startswith(_ORDER)
    }
    for name, value in patch.items():
        if name == _RETAIN or name.startswith(_ORDER):
            continue
        if name.startswith(_DELETE):
            _delete_values(current, name.removeprefix(_DELETE), value)
        elif value is None:
            current.pop(name, None)
        else:
            merged = _merged(current.get(name), value, shape.field(name) or ANY, orders.get(name))
            if merged is None:
                current.pop(name, None)
            else:
                current[name] = merged
    for name, order in orders.items():
        below = shape.field(name) or ANY
        if not isinstance(order, list):
            raise _malformed(f"invalid format: {_ORDER}{name} is a list")
        if name not in patch and isinstance(current.get(name), list):
            current[name] = _in_order(current[name], current[name], order, below.merge_key)
    return current


def _malformed(why: str) -> RequestRefused:
    """kube-apiserver takes a patch that contradicts itself for a fault of its own."""
    return RequestRefused(500, "", why)


def _directed(current: Object, patch: Object, shape: Shape) -> Object:
    match patch[_DIRECTIVE]:
        case "replace":
            return _written(patch)  # type: ignore[no-any-return]
        case "delete":
            return {}
        case other:
            raise _malformed(f"unknown patch type: {other} in map: {_go(patch)}")


def _merged(current: Any, value: Any, shape: Shape, order: Any) -> Any:
    """One field after the patch; None where nothing remains of it."""
    if order is not None:
        _check_order(value, order, shape.merge_key)
    if type(current) is not type(value):
        new = None if _is_directive(value) else _plain(value)
        return new if order is None else _in_order(new or [], [], order, shape.merge_key)
    if isinstance(value, dict):
        return _written(value) if "replace" in shape.strategies else apply(current, value, shape)
    if not isinstance(value, list):
        return value
    if "merge" not in shape.strategies:
        return _written(value)
    if shape.merge_key:
        merged = _merged_by_key(current, value, shape)
    else:
        merged = current + [one for one in value if one not in current]
    # Where nobody sets an order, the patch's own holds.
    order = [one for one in value if not _is_directive(one)] if order is None else order
    return _in_order(merged, current, order, shape.merge_key)


def _merged_by_key(items: list[Any], patch: list[Any], shape: Shape) -> list[Any]:
    key = shape.merge_key
    kept = [one for one in patch if not _is_directive(one)]
    for one in kept:
        if not isinstance(one, dict) or key not in one:
            raise _malformed(f"map: {_go(one)} does not contain declared merge key: {key}")
    for one in patch:
        if not _is_directive(one):
            continue
        if one[_DIRECTIVE] == "replace":
            return [_written(other) for other in kept]
        if one[_DIRECTIVE] != "delete":
            raise _malformed(f"unknown patch type: {one[_DIRECTIVE]} in map: {_go(one)}")
        if key not in one:
            raise _malformed(f"map: {_go(one)} does not contain declared merge key: {key}")
        items = [other for other in items if _key(other, key) != one[key]]
    merged = list(items)
    for one in kept:
        place = next((n for n, other in enumerate(merged) if _key(other, key) == one[key]), None)
        if place is None:
            merged.append(_written(one))
        else:
            merged[place] = apply(merged[place], one, shape.element())
    return merged


def _check_order(value: Any, order: Any, key: str) -> None:
    if not isinstance(order, list) or not isinstance(value, list):
        raise _malformed(f"invalid format: {_ORDER} is a list beside a list")
    wanted = iter([_key(one, key) for one in order])
    kept = [_key(one, key) for one in value if not _is_directive(one)]
    if order and not all(one in wanted for one in kept):
        raise _malformed(
            f"The order in patch list:\n{_go(value)}\n"
            f" doesn't match {_ORDER.rstrip('/')} list:\n{_go(order)}\n"
        )


def _go(value: Any) -> str:
    """A value as Go prints it in messages."""
    match value:
        case dict():
            return f"map[{' '.join(f'{name}:{_go(value[name])}' for name in sorted(value))}]"
        case list():
            return f"[{' '.join(map(_go, value))}]"
        case None:
            return "<nil>"
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def _is_directive(item: object) -> bool:
    return isinstance(item, dict) and _DIRECTIVE in item


def _plain(value: Any) -> Any:
    """A value without directives, where there is nothing yet that they could be about."""
    if isinstance(value, list):
        return [_plain(one) for one in value if not _is_directive(one)]
    if isinstance(value, dict):
        return {
            name: _plain(one)
            for name, one in value.items()
            if not name.startswith("$") and one is not None and not _is_directive(one)
        }
    return value


def _written(value: Any) -> Any:
    """A value as kube-apiserver takes it over unread: directives deeper down are fields that do not exist."""
    if isinstance(value, list):
        return [_written(one) for one in value]
    if isinstance(value, dict):
        return {name: _written(one) for name, one in value.items() if not name.startswith("$")}
    return value


def _key(item: object, key: str) -> Any:
    return item.get(key) if key and isinstance(item, dict) else item


def _retain(current: Object, patch: Object) -> None:
    keys = patch.get(_RETAIN)
    if keys is None:
        return
    if not isinstance(keys, list):
        raise _malformed(f"invalid format: {_RETAIN} is a list of field names")
    strays = [
        name
        for name, value in patch.items()
        if name[0] != "$" and name not in keys and value is not None
    ]
    if strays:
        raise _malformed(f"{_RETAIN} is missing {', '.join(sorted(strays))}, which the patch sets")
    for name in [name for name in current if name not in keys]:
        del current[name]


def _delete_values(current: Object, name: str, values: object) -> None:
    items = current.get(name)
    if not isinstance(values, list):
        raise _malformed(f"invalid format: {_DELETE}{name} is a list")
    if isinstance(items, list):
        current[name] = [one for one in items if one not in values]


def _in_order(merged: list[Any], before: list[Any], order: Any, key: str) -> list[Any]:
    """The list in the order that the patch asks for.

    Items that only the server knows stay in front of those that they stood in front of before.
    """
    wanted = [_key(one, key) for one in order]
    places = [_key(one, key) for one in before]
    ours = sorted(
        (one for one in merged if _key(one, key) in wanted),
        key=lambda one: wanted.index(_key(one, key)),
    )
    theirs = [one for one in merged if _key(one, key) not in wanted]
    result: list[Any] = []
    while ours and theirs:
        mine, other = _key(ours[0], key), _key(theirs[0], key)
        known = mine in places and other in places
        theirs_first = known and places.index(other) < places.index(mine)
        result.append((theirs if theirs_first else ours).pop(0))
    return result + ours + theirs
