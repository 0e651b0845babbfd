"""The counts from scratch, to find out whether those kept by steps of one have gone astray.

Called by ``audit``, in tests and on request. Shares no bookkeeping with what it checks: it walks over all pods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from bayplan.cluster.carriers import Carrier, Role, carried
from bayplan.cluster.domains import NOWHERE, DomainMap
from bayplan.cluster.pods import TERMINATING
from bayplan.cluster.tallies import Tally

if TYPE_CHECKING:
    from bayplan.cluster.counts import Counts
    from bayplan.cluster.namespaces import Namespaces
    from bayplan.cluster.nodes import NodeTable
    from bayplan.cluster.podinfo import Kin
    from bayplan.cluster.pods import PodTable
    from bayplan.cluster.terms import PlacedTerm


T = TypeVar("T")


class _Pod(NamedTuple):
    row: int
    kin: Kin
    terminating: bool
    carries: tuple[tuple[Role, PlacedTerm], ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """How much of what costs selectors times pods is looked at: so many matches, and another part each time."""

    matches: int
    turn: int

    def of(self, items: Collection[T], pods: int) -> list[T]:
        """Some items, each of which is compared with so many pods."""
        at_most = max(self.matches // max(pods, 1), 1)
        if len(items) <= at_most:
            return list(items)
        first = self.turn * at_most % len(items)
        return list(islice(chain(items, items), first, first + at_most))


def stages(
    counts: Counts,
    nodes: NodeTable,
    pods: PodTable,
    namespaces: Namespaces,
    sample: Sample | None = None,
) -> Iterator[list[str]]:
    """One line for each number that is wrong; between two stages the cluster may change. Without a sample all is looked at."""
    yield list(_kins(counts, list(_pods(pods))))
    yield list(_interests(counts, namespaces, sample))
    yield list(_tallies(counts, list(_pods(pods)), namespaces, sample))
    yield list(_carriers(counts, list(_pods(pods))))
    for domains in counts.maps.values():
        counts.follow(domains)  # they catch up when they are asked, and nobody may have
    yield list(_maps(counts, nodes))
    for domains in counts.maps.values():
        counts.follow(domains)
    yield list(_views(counts))


def _pods(pods: PodTable) -> Iterator[_Pod]:
    for row in pods.row_of.values():
        kin, shape = pods.kins[row], pods.shapes[row]
        assert kin is not None
        assert shape is not None
        yield _Pod(
            int(pods.node_row.data[row]),
            kin,
            bool(pods.flags.data[row] & TERMINATING),
            tuple(carried(shape, kin.namespace)),
        )


def _kins(counts: Counts, pods: list[_Pod]) -> Iterator[str]:
    rows: dict[tuple[int, bool], Counter[int]] = {}
    for pod in pods:
        rows.setdefault((pod.kin.id, pod.terminating), Counter())[pod.row] += 1
    for number, kin in counts.tallies.kins.items():
        for terminating, kept in ((False, kin.rows), (True, kin.ending)):
            right = rows.pop((number, terminating), Counter())
            if kept != right:
                yield f"kin {number}, terminating {terminating}: {kept}, should be {dict(right)}"
    for (number, _), right in rows.items():
        yield f"kin {number}: not counted, should be {dict(right)}"


def _interests(counts: Counts, namespaces: Namespaces, sample: Sample | None) -> Iterator[str]:
    interests = counts.carriers.interests
    known: Collection[int] = interests
    if sample is not None:
        known = sample.of(interests, len(counts.carriers.carriers))
    for number in known:
        interest = interests[number]
        speaking = {
            carrier
            for carrier in counts.carriers.carriers.values()
            if carrier.placed.term.selector.matches(interest.kin.labels)
            and namespaces.covered_by_carrier(carrier.placed.term, interest.kin.namespace)
        }
        if set(interest.carriers) != speaking:
            kept = len(interest.carriers)
            yield f"kin {number}: {kept} terms speak of it, should be {len(speaking)}"


def _counted(tally: Tally, pod: _Pod, namespaces: Namespaces) -> bool:
    return not (pod.terminating and tally.key.staying) and all(
        namespaces.covered(term, pod.kin.namespace) and term.selector.matches(pod.kin.labels)
        for term in tally.key.terms
    )


def _tallies(
    counts: Counts, pods: list[_Pod], namespaces: Namespaces, sample: Sample | None
) -> Iterator[str]:
    tallies: Collection[Tally] = counts.tallies.tallies.values()
    for tally in tallies if sample is None else sample.of(tallies, len(pods)):
        key = tally.key
        right = Counter(pod.row for pod in pods if _counted(tally, pod, namespaces))
        kept: Counter[int] = Counter()
        for row, number in zip(*(column.tolist() for column in tally.by_row()), strict=True):
            kept[row] += number
        if kept != right or tally.total != right.total():
            yield f"tally {key}: {dict(kept)}, should be {dict(right)}"
        if tally.per_row is not None:
            column = tally.per_row.data
            by_row = {int(row): int(column[row]) for row in np.flatnonzero(column)}
            if by_row != dict(right):
                yield f"tally {key} per row: {by_row}, should be {dict(right)}"


def _carriers(counts: Counts, pods: list[_Pod]) -> Iterator[str]:
    rows: dict[tuple[Role, PlacedTerm], Counter[int]] = {}
    for pod in pods:
        for carries in pod.carries:
            rows.setdefault(carries, Counter())[pod.row] += 1
    for key, carrier in counts.carriers.carriers.items():
        right = rows.pop(key, Counter())
        if carrier.rows != right or carrier.total != right.total():
            yield f"carriers of {key}: {carrier.rows}, should be {dict(right)}"
    for key, right in rows.items():
        yield f"carriers of {key}: none, should be {dict(right)}"


def _right_domains(domains: DomainMap, nodes: NodeTable) -> dict[int, int]:
    """Domain by row, asking every node for its labels."""
    right = {}
    for row in np.flatnonzero(nodes.alive.data).tolist():
        labels = nodes.labels.of(row)
        value = labels.get(domains.key, "" if domains.blank else None)
        if value is None or not domains.required <= labels.keys():
            continue
        if domains.admission is not None and not domains.admission.mask(np.array([row]))[0]:
            continue
        number = nodes.labels.value_id(domains.key, value)
        if number != NOWHERE:
            right[row] = number
    return right


def _maps(counts: Counts, nodes: NodeTable) -> Iterator[str]:
    for key, domains in counts.maps.items():
        right = _right_domains(domains, nodes)
        kept = {
            row: number for row, number in enumerate(domains.where.tolist()) if number != NOWHERE
        }
        if kept != right:
            yield f"domains of {key}: {kept}, should be {right}"
        present = Counter(right.values())
        kept = {
            int(number): int(domains.present[number]) for number in np.flatnonzero(domains.present)
        }
        if kept != present or domains.size != len(present):
            yield f"nodes by domain of {key}: {kept}, should be {dict(present)}"


def _views(counts: Counts) -> Iterator[str]:
    sources: list[Tally | Carrier] = [
        *counts.tallies.tallies.values(),
        *counts.carriers.carriers.values(),
    ]
    for source in sources:
        for view in source.views:
            where = view.map.where
            right: Counter[int] = Counter()
            for row, number in zip(*(column.tolist() for column in source.by_row()), strict=True):
                if row < len(where) and where[row] != NOWHERE:
                    right[int(where[row])] += number
            kept = {int(number): int(view.counts[number]) for number in np.flatnonzero(view.counts)}
            if kept != right or view.total != right.total():
                what = source.key if isinstance(source, Tally) else source.placed
                yield f"pods by {view.map.key} of {what}: {kept}, should be {dict(right)}"
