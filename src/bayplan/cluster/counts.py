"""Everything that counts placed pods by selector and topology, kept by steps of one as pods come and go.

::

    kin ──matches──▶ Tally ──┐                      (pods that match a selector: spread, affinity of the pod to place)
                             ├─▶ DomainCounts ─▶ DomainMap      (pods per zone, per host, …)
    pod ──carries──▶ Carrier ┘                      (terms of placed pods: anti-affinity against the pod to place)

Tallies, maps and views are made when a plugin first asks and dropped when nobody has asked for long. Carriers are always
kept, with a view only where a pod that they speak of was looked at.

Fed by the cluster's hooks (``place``, ``row_changed``, ``namespace_changed``); read by PodTopologySpread and
InterPodAffinity. What a plugin keeps between two attempts holds as long as the versions that it has noted do.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster import recount
from bayplan.cluster.carriers import Carrier, Role, carried
from bayplan.cluster.changes import Reads
from bayplan.cluster.domains import Admission, DomainCounts, DomainMap, Source
from bayplan.cluster.matching import KinFile, TermFile
from bayplan.cluster.pods import TERMINATING
from bayplan.cluster.tallies import KinCount, Tally, TallyKey

if TYPE_CHECKING:
    from bayplan.cluster.journal import Journal
    from bayplan.cluster.namespaces import Namespaces
    from bayplan.cluster.nodes import NodeTable
    from bayplan.cluster.podinfo import Kin, PodInfo, Shape
    from bayplan.cluster.pods import PodTable
    from bayplan.cluster.terms import PlacedTerm, Term

#: Bytes of arrays that may be held for plugins that might ask again.
ROOM: Final = 256 << 20
#: Kins without placed pods, and terms without carriers, that are remembered.
IDLE: Final = 4096
#: Moves of rows that are remembered; who is further behind looks at every row.
MOVES: Final = 1 << 14

MapKey = tuple[str, frozenset[str], object, bool]


class Counts:
    """The counts of one cluster."""

    def __init__(
        self, nodes: NodeTable, pods: PodTable, journal: Journal, namespaces: Namespaces
    ) -> None:
        self._nodes = nodes
        self._pods = pods
        self._journal = journal
        self._namespaces = namespaces
        #: Changes when a node comes, goes or is relabelled.
        self.topology = 0
        self._moves: list[int] = []
        self._moves_dropped = 0
        self._serial = 0
        self._clock = 0
        self.kins: dict[int, KinCount] = {}
        self._idle_kins: OrderedDict[int, None] = OrderedDict()
        self._kin_file: KinFile[KinCount] = KinFile()
        self.tallies: dict[TallyKey, Tally] = {}
        self._tally_file: TermFile[Tally] = TermFile()
        self.carriers: dict[tuple[Role, PlacedTerm], Carrier] = {}
        self._carrier_file: TermFile[Carrier] = TermFile()
        self._idle_carriers: OrderedDict[Carrier, None] = OrderedDict()
        self.maps: dict[MapKey, DomainMap] = {}
        self._bytes = 0

    # --- what the cluster tells ----------------------------------------------------------------------------------------

    def place(self, pod: PodInfo, node_row: int, sign: int) -> None:
        """A pod was placed on a row (+1) or taken away (-1)."""
        kin = self.kins.get(pod.kin.id)
        if kin is None:
            kin = self._enter(pod.kin)
        terminating = pod.terminating
        kin.change(node_row, sign, terminating=terminating)
        self._note_idle(kin)
        for tally in kin.tallies:
            if not (terminating and tally.key.staying):
                tally.change(node_row, sign)
        if pod.shape.has_affinity_terms:
            carriers = self._carriers_of(pod.shape, pod.namespace)
            for carrier in carriers:
                carrier.change(node_row, sign)
                self._note_idle_carrier(carrier)
            if carriers:
                self._journal.topic_changed(Reads.AFFINITY_TERMS)

    def before_row_change(self, row: int) -> None:
        """A node's labels are about to change, or it comes or goes."""
        # Nothing to do: maps remember where they have counted a row.

    def after_row_change(self, row: int) -> None:
        """A node's labels have changed, or it has come or gone."""
        self.topology += 1
        self._moves.append(row)
        if len(self._moves) > 2 * MOVES:
            del self._moves[:MOVES]
            self._moves_dropped += MOVES

    def namespace_changed(self, name: str) -> None:
        """A namespace has come, gone or been relabelled."""
        for kin in self._kin_file.in_namespace(name):
            kin.carriers = None
            for tally in [*kin.tallies, *self._tally_file.candidates(kin.kin)]:
                counted = kin in tally.kins
                if self._matches(tally, kin.kin) is counted:
                    continue
                if counted:
                    del tally.kins[kin], kin.tallies[tally]
                else:
                    tally.kins[kin] = kin.tallies[tally] = None
                tally.total += (-1 if counted else 1) * tally.number_of(kin)
                tally.recount()

    # --- what plugins ask ----------------------------------------------------------------------------------------------

    def tally(self, terms: tuple[Term, ...], *, staying: bool = False) -> Tally:
        """The placed pods that match all terms (at least one); ``staying`` leaves out those being deleted."""
        key = TallyKey(terms, staying)
        tally = self.tallies.get(key)
        if tally is None:
            tally = self._new_tally(key)
        self._clock += 1
        tally.used = self._clock
        return tally

    def per_row(self, tally: Tally) -> NDArray[np.int32]:
        """A tally's pods by row."""
        if tally.per_row is None:
            tally.per_row = self._nodes.rows.column(np.int32)
            rows, numbers = tally.by_row()
            np.add.at(tally.per_row.data, rows, numbers)
            self._grow(tally.per_row.data.nbytes)
        return tally.per_row.data

    def domains(
        self,
        key: str,
        required: frozenset[str] = frozenset(),
        admission: Admission | None = None,
        *,
        blank: bool = False,
    ) -> DomainMap:
        """The domains of a topology key over the rows that have it, all ``required`` labels, and are admitted.

        With ``blank`` a row without the label belongs to the domain of the empty value, where there is one.
        """
        name = (key, required, admission.key if admission is not None else None, blank)
        found = self.maps.get(name)
        if found is None:
            found = self.maps[name] = DomainMap(self._nodes, key, required, admission, blank=blank)
            found.position = self._moves_dropped + len(self._moves)
            found.taints = self._taints
            self._grow(found.where.nbytes)
        else:
            if admission is not None:
                found.admission = admission
            self._follow(found)
        self._clock += 1
        found.used = self._clock
        return found

    def view(self, source: Tally | Carrier, domains: DomainMap) -> DomainCounts:
        """The pods of a tally or the carriers of a term in each domain."""
        for view in source.views:
            if view.map is domains:
                self._clock += 1
                view.used = self._clock
                return view
        view = DomainCounts(source, domains)
        source.views.append(view)
        domains.counts.append(view)
        self._grow(view.counts.nbytes)
        return view

    def refresh(self, view: DomainCounts) -> bool:
        """Bring a view up to date with the nodes; False where it was dropped and another one must be asked for."""
        if not view.live:
            return False
        view.used = self._clock + 1
        return self.follow(view.map)

    def follow(self, domains: DomainMap) -> bool:
        """Bring a map up to date with the nodes; False where it was dropped and another one must be asked for."""
        if not domains.live:
            return False
        self._follow(domains)
        self._clock += 1
        domains.used = self._clock
        return True

    def interest(self, kin: Kin) -> KinCount:
        """The carried terms that speak of pods of this kin, up to date (``carriers`` is not None)."""
        found = self.kins.get(kin.id)
        if found is None:
            found = self._enter(kin)
        if found.carriers is None:
            self._serial += 1
            found.generation = self._serial
            found.carriers = {
                carrier: None
                for carrier in self._carrier_file.candidates(kin)
                if self._speaks_of(carrier, kin)
            }
        return found

    # --- keeping in step -----------------------------------------------------------------------------------------------

    def _enter(self, kin: Kin) -> KinCount:
        """Begin to count a kin."""
        found = self.kins[kin.id] = KinCount(kin)
        self._kin_file.add(found, kin)
        for tally in self._tally_file.candidates(kin):
            if self._matches(tally, kin):
                tally.kins[found] = found.tallies[tally] = None
        self._note_idle(found)
        return found

    def _note_idle(self, kin: KinCount) -> None:
        """Remember which kins have no placed pods, and forget those that have had none for longest."""
        number = kin.kin.id
        if kin.rows or kin.ending:
            if number in self._idle_kins:
                del self._idle_kins[number]
            return
        self._idle_kins[number] = None
        if len(self._idle_kins) > IDLE:
            oldest, _ = self._idle_kins.popitem(last=False)
            dropped = self.kins.pop(oldest)
            self._kin_file.remove(dropped, dropped.kin)
            for tally in dropped.tallies:
                del tally.kins[dropped]

    def _carriers_of(self, shape: Shape, namespace: str) -> list[Carrier]:
        key = (self, namespace)
        known: list[Carrier] | None = shape.memo.get(key)
        if known is None or not all(carrier.live for carrier in known):
            known = [self._carrier(role, term) for role, term in carried(shape, namespace)]
            shape.memo[key] = known
        return known

    def _carrier(self, role: Role, placed: PlacedTerm) -> Carrier:
        carrier = self.carriers.get((role, placed))
        if carrier is None:
            self._serial += 1
            carrier = self.carriers[role, placed] = Carrier(role, placed, self._serial)
            self._carrier_file.add(carrier, carrier.anchors)
            for kin in self._kin_file.candidates(carrier.anchors):
                if kin.carriers is not None and self._speaks_of(carrier, kin.kin):
                    self._serial += 1
                    kin.generation = self._serial
                    kin.carriers[carrier] = None
        return carrier

    def _note_idle_carrier(self, carrier: Carrier) -> None:
        if carrier.total:
            self._idle_carriers.pop(carrier, None)
            return
        self._idle_carriers[carrier] = None
        if len(self._idle_carriers) > IDLE:
            oldest, _ = self._idle_carriers.popitem(last=False)
            oldest.live = False
            del self.carriers[oldest.role, oldest.placed]
            self._carrier_file.remove(oldest, oldest.anchors)
            self._detach(oldest.views)
            for kin in self._kin_file.candidates(oldest.anchors):
                if kin.carriers is not None and oldest in kin.carriers:
                    del kin.carriers[oldest]
                    self._serial += 1
                    kin.generation = self._serial

    def _new_tally(self, key: TallyKey) -> Tally:
        self._serial += 1
        tally = self.tallies[key] = Tally(key, self._serial)
        self._tally_file.add(tally, tally.anchors)
        for kin in self._kin_file.candidates(tally.anchors):
            if kin not in tally.kins and self._matches(tally, kin.kin):
                tally.kins[kin] = kin.tallies[tally] = None
                tally.total += tally.number_of(kin)
        return tally

    def _matches(self, tally: Tally, kin: Kin) -> bool:
        covered = self._namespaces.covered
        return all(
            covered(term, kin.namespace) and term.selector.matches(kin.labels)
            for term in tally.key.terms
        )

    def _speaks_of(self, carrier: Carrier, kin: Kin) -> bool:
        term = carrier.placed.term
        return term.selector.matches(kin.labels) and self._namespaces.covered_by_carrier(
            term, kin.namespace
        )

    @property
    def _taints(self) -> int:
        return self._journal.versions(Reads.NODE_TAINTS)[0]

    def _follow(self, domains: DomainMap) -> None:
        """Bring a map up to date with the nodes."""
        domains.lengthen()
        end = self._moves_dropped + len(self._moves)
        admission = domains.admission
        tainted = admission is not None and admission.taints and domains.taints != self._taints
        if domains.position == end and not tainted:
            return
        moved = self._moves[max(domains.position - self._moves_dropped, 0) :]
        behind = domains.position < self._moves_dropped or len(moved) > len(domains.where) // 8 + 8
        if behind or tainted or domains.outdated:
            domains.taints = self._taints
            domains.rebuild()
        else:
            for row in dict.fromkeys(moved):
                domains.move(row, self._tallied_at(row) if domains.counts else {})
        domains.position = end

    def _tallied_at(self, row: int) -> Counter[Source]:
        """How many pods of each source are on a row."""
        found: Counter[Source] = Counter()
        for pod in self._pods.on_node(row):
            kin, shape = self._pods.kins[pod], self._pods.shapes[pod]
            assert kin is not None
            assert shape is not None
            terminating = bool(self._pods.flags.data[pod] & TERMINATING)
            for tally in self.kins[kin.id].tallies:
                if not (terminating and tally.key.staying):
                    found[tally] += 1
            if shape.has_affinity_terms:
                found.update(self._carriers_of(shape, kin.namespace))
        return found

    # --- memory --------------------------------------------------------------------------------------------------------

    def _grow(self, nbytes: int) -> None:
        self._bytes += nbytes
        if self._bytes > ROOM:
            self.trim(ROOM * 3 // 4)

    def trim(self, max_bytes: int) -> None:
        """Drop what was not asked for longest until about so many bytes are left."""
        self._bytes = self.nbytes
        old = sorted(self.tallies.values(), key=_last_use)
        for tally in old[:-1]:  # the newest is being asked for just now
            if self._bytes <= max_bytes:
                break
            self._drop(tally)
        for name, domains in sorted(self.maps.items(), key=lambda item: item[1].used)[:-1]:
            if self._bytes <= max_bytes:
                break
            self._bytes -= domains.where.nbytes + sum(view.counts.nbytes for view in domains.counts)
            for view in domains.counts:
                view.live = False
                view.source.views.remove(view)
            domains.counts = []
            domains.live = False
            del self.maps[name]

    def _drop(self, tally: Tally) -> None:
        tally.live = False
        tally.version += 1
        del self.tallies[tally.key]
        self._tally_file.remove(tally, tally.anchors)
        for kin in tally.kins:
            del kin.tallies[tally]
        self._detach(tally.views)
        if tally.per_row is not None:
            self._bytes -= tally.per_row.data.nbytes
            self._nodes.rows.drop(tally.per_row)

    def _detach(self, views: list[DomainCounts]) -> None:
        for view in views:
            view.live = False
            view.map.counts.remove(view)
            self._bytes -= view.counts.nbytes
        views.clear()

    def audit(self) -> list[str]:
        """Recount everything from scratch and describe each difference."""
        for domains in self.maps.values():
            self._follow(domains)
        return recount.differences(self, self._nodes, self._pods, self._namespaces)

    @property
    def nbytes(self) -> int:
        """The bytes in arrays."""
        maps = sum(
            domains.where.nbytes + sum(view.counts.nbytes for view in domains.counts)
            for domains in self.maps.values()
        )
        rows = sum(
            tally.per_row.data.nbytes
            for tally in self.tallies.values()
            if tally.per_row is not None
        )
        return maps + rows


def _last_use(tally: Tally) -> int:
    return max([tally.used, *(view.used for view in tally.views)])
