"""PromQL, as far as it has to be read to hold its names against the metrics that bayplan exposes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from bayplan.telemetry import catalog
from bayplan.telemetry.exposition import render_process
from bayplan.telemetry.instruments import Spec

#: What a scrape adds to every series.
SCRAPED = {"job", "instance", "namespace", "pod", "service", "endpoint", "container"}

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_SELECTOR = re.compile(r"([a-zA-Z_:][\w:]*)\s*(?:\{([^}]*)\})?")
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_RANGE = re.compile(r"\[[^\]]*\]|\b\d+(?:ms|[smhdwy])\b")
_LABEL = re.compile(r"([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)")
#: Words of the language, and functions: what is followed by a parenthesis is none of our metrics.
_KEYWORDS = {"and", "or", "unless", "bool", "offset"}


@cache
def exposed() -> dict[str, frozenset[str]]:
    """Every series that bayplan exposes, with its labels."""
    found: dict[str, frozenset[str]] = {"up": frozenset()}
    for spec in vars(catalog).values():
        if not isinstance(spec, Spec):
            continue
        labels = frozenset(spec.labels)
        if spec.kind == "histogram":
            found[f"{spec.name}_bucket"] = labels | {"le"}
            found[f"{spec.name}_sum"] = found[f"{spec.name}_count"] = labels
        else:
            found[spec.name] = labels
    for line in render_process().decode().splitlines():
        if not line.startswith("#"):
            name, _, rest = line.partition("{")
            found.setdefault(name.split(" ")[0], frozenset(_LABEL.findall(rest)))
    return found


def selectors(query: str) -> Iterator[tuple[str, set[str]]]:
    """Each metric that the query names, with the labels that it asks of it."""
    plain = _RANGE.sub("", _GROUPING.sub("", _STRING.sub('""', query)))
    for found in _SELECTOR.finditer(plain):
        name, matchers = found[1], found[2]
        inside = plain.rfind("{", 0, found.start()) > plain.rfind("}", 0, found.start())
        function = plain[found.end() :].lstrip().startswith("(")
        if inside or name in _KEYWORDS or (matchers is None and function):
            continue
        yield name, set(_LABEL.findall(matchers or ""))


def groupings(query: str) -> set[str]:
    """The labels that the query groups or joins by."""
    lists = _GROUPING.findall(_STRING.sub('""', query))
    return {label.strip() for each in lists for label in each.split(",") if label.strip()}


def unknown(query: str, recorded: frozenset[str] = frozenset()) -> list[str]:
    """Metrics and labels in the query that nobody exposes."""
    series = exposed() | {name: frozenset[str]() for name in recorded}
    wrong, labels = [], set(SCRAPED)
    for name, asked in selectors(query):
        if name not in series:
            wrong.append(name)
            continue
        labels |= series[name]
        wrong += [f"{name}{{{label}}}" for label in sorted(asked - series[name] - SCRAPED)]
    return wrong + [f"by ({label})" for label in sorted(groupings(query) - labels)]
