"""Numbers that stand somewhere: on the nodes themselves, in the configuration, in a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from bayplan.errors import BayplanError
from bayplan.providers.source import KnownNode, Readings


class NodeLabels:
    """Labels and annotations of nodes that hold numbers; one that is no number is not known."""

    def __init__(self, keys: Mapping[str, str], nodes: Callable[[], Iterable[KnownNode]]) -> None:
        self._keys = keys
        self._nodes = nodes

    async def read(self) -> Readings:
        readings: dict[str, dict[str, float]] = {metric: {} for metric in self._keys}
        for node in self._nodes():
            for metric, key in self._keys.items():
                number = _number(node.labels.get(key) or node.annotations.get(key, ""))
                if number is not None:
                    readings[metric][node.name] = number
        return readings


class Static:
    """The configuration's own table; ``*`` stands for nodes that are not named."""

    def __init__(
        self,
        values: Mapping[str, Mapping[str, float]],
        nodes: Callable[[], Iterable[KnownNode]],
    ) -> None:
        self._values = values
        self._nodes = nodes

    async def read(self) -> Readings:
        return _by_metric(self._values, self._nodes())


class Table:
    """A CSV file: ``node,price,power``, one line per node, ``*`` for those that are not named."""

    def __init__(self, path: Path, nodes: Callable[[], Iterable[KnownNode]]) -> None:
        self._path = path
        self._nodes = nodes

    async def read(self) -> Readings:
        try:
            with self._path.open(encoding="utf-8", newline="") as lines:
                values = self._values(csv.DictReader(lines))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise BayplanError(f"{self._path}: {error}") from error
        return _by_metric(values, self._nodes())

    def _values(self, table: csv.DictReader[str]) -> dict[str, dict[str, float]]:
        if table.fieldnames is None or table.fieldnames[0] != "node":
            raise BayplanError(f'{self._path}: line 1: the first column must be called "node"')
        values: dict[str, dict[str, float]] = {}
        for row in table:
            known = values.setdefault(row["node"], {})
            for metric in table.fieldnames[1:]:
                text = (row[metric] or "").strip()
                number = _number(text)
                if text and number is None:
                    raise BayplanError(
                        f"{self._path}: line {table.line_num}: {metric}: {text!r} is no number"
                    )
                if number is not None:
                    known[metric] = number
        return values


def _by_metric(
    values: Mapping[str, Mapping[str, float]], nodes: Iterable[KnownNode]
) -> dict[str, dict[str, float]]:
    readings: dict[str, dict[str, float]] = {}
    others = values.get("*", {})
    for node in nodes:
        for metric, number in {**others, **values.get(node.name, {})}.items():
            readings.setdefault(metric, {})[node.name] = number
    return readings


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
