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
        if name not in patch and isinstance(current.get(name), list):
            current[name] = _in_order(current[name], current[name], order, below.merge_key)
    return current


def _malformed(why: str) -> RequestRefused:
    """kube-apiserver takes a patch that contradicts itself for a fault of its own."""
    return RequestRefused(500, "", why)


def _directed(current: Object, patch: Object, shape: Shape) -> Object:
    rest = {name: value for name, value in patch.items() if name != _DIRECTIVE}
    match patch[_DIRECTIVE]:
        case "replace":
            return rest
        case "delete":
            return {}
        case "merge":
            return apply(current, rest, shape)
        case other:
            raise _malformed(f"unknown patch type: {other}")


def _merged(current: Any, value: Any, shape: Shape, order: Any) -> Any:
    """One field after the patch; None where nothing remains of it."""
    if isinstance(value, dict):
        # An object that says it is to be deleted, and is not there: it stays away.
        if value.get(_DIRECTIVE) == "delete":
            return None if not isinstance(current, dict) else {}
        if "replace" in shape.strategies and isinstance(current, dict):
            return value
        return apply(current if isinstance(current, dict) else {}, value, shape)
    if not isinstance(value, list):
        return value
    items = current if isinstance(current, list) else []
    if "merge" not in shape.strategies:
        return [_plain(one) for one in value if not _is_directive(one)]
    if shape.merge_key:
        merged = _merged_by_key(items, value, shape)
    else:
        merged = items + [one for one in value if one not in items]
    # Where nobody sets an order, the patch's own holds.
    order = [one for one in value if not _is_directive(one)] if order is None else order
    return _in_order(merged, items, order, shape.merge_key)


def _merged_by_key(items: list[Any], patch: list[Any], shape: Shape) -> list[Any]:
    key = shape.merge_key
    kept = [one for one in patch if not _is_directive(one)]
    for one in kept:
        if not isinstance(one, dict) or key not in one:
            raise _malformed(f"map: {one} does not contain declared merge key: {key}")
    for one in patch:
        if not _is_directive(one):
            continue
        if one[_DIRECTIVE] == "replace":
            return [_plain(other) for other in kept]
        if one[_DIRECTIVE] != "delete":
            continue
        if key not in one:
            raise _malformed(f"delete patch type with no merge key defined ({key})")
        items = [other for other in items if _key(other, key) != one[key]]
    merged = list(items)
    for one in kept:
        place = next((n for n, other in enumerate(merged) if _key(other, key) == one[key]), None)
        element = shape.element()
        if place is None:
            merged.append(apply({}, one, element))
        else:
            merged[place] = apply(merged[place], one, element)
    return merged


def _is_directive(item: object) -> bool:
    return isinstance(item, dict) and _DIRECTIVE in item and item[_DIRECTIVE] != "merge"


def _plain(value: Any) -> Any:
    """A value without directives, where there is nothing that they could be about."""
    if isinstance(value, list):
        return [_plain(one) for one in value if not _is_directive(one)]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items() if not name.startswith("$")}
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
    if not isinstance(order, list):
        raise _malformed(f"invalid format: {_ORDER} is a list")
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
