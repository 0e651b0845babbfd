"""``kubectl get`` for custom resources: the columns that their definition names, by JSON paths."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from bayplan.embedded.objects import Object, at
from bayplan.embedded.tables.cells import AGE, NAME, Column, since

if TYPE_CHECKING:
    from bayplan.embedded import kinds

_STEP = re.compile(
    r"""\.(?P<name>(?:[^.\[\\]|\\.)+) | \[(?P<index>\d+|\*)\] | \['(?P<quoted>[^']+)'\]
      | \[\?\(@\.(?P<field>[\w.]+)==["'](?P<value>[^"']*)["']\)\]""",
    re.VERBOSE,
)


_CREATED: Final = Column(
    "Created At", lambda obj, _now_s: at(obj, "metadata", "creationTimestamp"), "date"
)


def find(obj: Any, path: str) -> list[Any]:
    """What a JSON path finds; the part of the language that printer columns use."""
    found = [obj]
    for step in _STEP.finditer(path):
        found = [inner for one in found for inner in _down(one, step)]
    return found


def _down(value: Any, step: re.Match[str]) -> list[Any]:
    name = step["name"] or step["quoted"]
    if name is not None:
        name = name.replace("\\.", ".")
        return [value[name]] if isinstance(value, dict) and name in value else []
    if not isinstance(value, list):
        return []
    if step["field"] is not None:
        return [one for one in value if str(one.get(step["field"])) == step["value"]]
    if step["index"] == "*":
        return value
    index = int(step["index"])
    return value[index : index + 1]


def columns_of(kind: kinds.Kind) -> tuple[Column, ...]:
    """The columns of a kind without a table of its own."""
    if kind.schema_type:
        return (NAME, _CREATED)
    if not kind.columns:
        return (NAME, AGE)
    return (NAME, *(_column(one) for one in kind.columns))


def _column(one: kinds.Column) -> Column:
    path, kind = one.json_path, one.type

    def cell(obj: Object, now_s: float) -> Any:
        found = find(obj, path)
        if not found:
            return None
        if kind == "date":
            return since(found[0], now_s)
        return _text(found[0]) if kind == "string" else found[0]

    return Column(one.name, cell, kind, one.priority, one.description)


def _text(value: Any) -> str:
    """As kube-apiserver prints what is no text: in JSON."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
