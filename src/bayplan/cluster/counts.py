"""Everything that counts placed pods by selector and topology, kept by steps of one as pods come and go.

::

    kin ──matches──▶ Tally ──┐                      (pods that match a selector: spread, affinity of the pod to place)
                             ├─▶ DomainCounts ─▶ DomainMap      (pods per zone, per host, …)
    pod ──carries──▶ Carrier ┘                      (terms of placed pods: anti-affinity against the pod to place)

Tallies, maps and views are made when a plugin first asks and dropped when nobody has asked for long. Carriers are kept
as long as somebody carries them, with a view only where a pod that they speak of was looked at.

Fed by the cluster's hooks (``place``, ``row_changed``, ``namespace_changed``); read by PodTopologySpread and
InterPodAffinity. What a plugin keeps between two attempts holds as long as the versions that it has noted do.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.carriers import Carrier, CarrierTable, Interest
from bayplan.cluster.changes import Reads
from bayplan.cluster.domains import Admission, DomainCounts, DomainMap, Source
from bayplan.cluster.pods import TERMINATING
from bayplan.cluster.tallies import Tally, TallyTable

if TYPE_CHECKING:
    from bayplan.cluster.journal import Journal
    from bayplan.cluster.namespaces import Namespaces
    from bayplan.cluster.nodes import NodeTable
    from bayplan.cluster.podinfo import Kin, PodInfo
    from bayplan.cluster.pods import PodTable
    from bayplan.cluster.terms import Term

#: Bytes that may be held for plugins that might ask again.
ROOM: Final = 256 << 20
#: So many tallies and no more, small as they may be: selectors that name one pod each would fill the room in the end.
TALLIES: Final = 8_192
#: About what a tally takes beside its arrays.
_TALLY_BYTES: Final = 2048
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
        self.tallies = TallyTable(namespaces)
        self.carriers = CarrierTable(namespaces)
        self.maps: dict[MapKey, DomainMap] = {}
        #: Changes when a node comes, goes or is relabelled.
        self.topology = 0
        self._moves: list[int] = []
        self._moves_dropped = 0
        self._clock = 0
        self._bytes = 0

    # --- what the cluster tells ----------------------------------------------------------------------------------------

    def place(self, pod: PodInfo, node_row: int, sign: int) -> None:
        """A pod was placed on a row (+1) or taken away (-1)."""
        self.tallies.place(pod, node_row, sign)
        if pod.shape.has_affinity_terms and self.carriers.place(
            pod.shape, pod.kin.namespace, node_row, sign
        ):
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
        self.tallies.namespace_changed(name)
        self.carriers.namespace_changed(name)

    # --- what plugins ask ----------------------------------------------------------------------------------------------

    def tally(self, terms: tuple[Term, ...], *, staying: bool = False) -> Tally:
        """The placed pods that match all terms (at least one); ``staying`` leaves out those being deleted."""
        tally = self.tallies.tally(terms, staying=staying)
        is_new = not tally.used
        self._clock += 1
        tally.used = self._clock
        if is_new:
            self._grow(_TALLY_BYTES)
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
        elif admission is not None:
            found.admission = admission
        self.follow(found)
        return found

    def view(self, source: Tally | Carrier, domains: DomainMap) -> DomainCounts:
        """The pods of a tally or the carriers of a term in each domain."""
        self._clock += 1
        for view in source.views:
            if view.map is domains:
                break
        else:
            view = DomainCounts(source, domains)
            source.views.append(view)
            domains.counts.append(view)
            self._grow(view.counts.nbytes)
        view.used = self._clock
        return view

    def refresh(self, view: DomainCounts) -> bool:
        """Bring a view up to date with the nodes; False where it was dropped and another one must be asked for."""
        if not (view.live and self.follow(view.map)):
            return False
        view.used = self._clock
        return True

    def follow(self, domains: DomainMap) -> bool:
        """Bring a map up to date with the nodes; False where it was dropped and another one must be asked for."""
        if not domains.live:
            return False
        domains.lengthen()
        end = self._moves_dropped + len(self._moves)
        if domains.position != end or domains.honors_taints:
            self._catch_up(domains, end)
        self._clock += 1
        domains.used = self._clock
        return True

    def interest(self, kin: Kin) -> Interest:
        """The terms of placed pods that speak of pods of this kin."""
        return self.carriers.interest(kin)

    # --- keeping in step -----------------------------------------------------------------------------------------------

    @property
    def _taints(self) -> int:
        return self._journal.versions(Reads.NODE_TAINTS)[0]

    def _catch_up(self, domains: DomainMap, end: int) -> None:
        tainted = domains.honors_taints and domains.taints != self._taints
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
            for tally in self.tallies.kins[kin.id].tallies:
                if not (terminating and tally.staying):
                    found[tally] += 1
            if shape.has_affinity_terms:
                found.update(self.carriers.of(shape, kin.namespace))
        return found

    # --- memory --------------------------------------------------------------------------------------------------------

    def _grow(self, nbytes: int) -> None:
        self._bytes += nbytes
        if self._bytes > ROOM:
            self.trim(ROOM * 3 // 4)
        elif len(self.tallies.tallies) > TALLIES:
            by_use = sorted(self.tallies.tallies.values(), key=_last_use)
            for tally in by_use[: TALLIES // 4]:
                self._drop_tally(tally)

    def trim(self, max_bytes: int) -> None:
        """Drop what was not asked for longest until about so many bytes are left."""
        self._bytes = self.nbytes
        for tally in sorted(self.tallies.tallies.values(), key=_last_use):
            # Never what is being asked for just now.
            if self._bytes <= max_bytes or _last_use(tally) >= self._clock:
                break
            self._drop_tally(tally)
        for name, domains in sorted(self.maps.items(), key=lambda item: item[1].used):
            if self._bytes <= max_bytes or domains.used >= self._clock:
                break
            self._bytes -= domains.nbytes
            for view in domains.counts:
                view.live = False
                view.source.views.remove(view)
            domains.counts = []
            domains.live = False
            del self.maps[name]

    def _drop_tally(self, tally: Tally) -> None:
        self.tallies.drop(tally)
        self._bytes -= _TALLY_BYTES
        for view in tally.views:
            view.live = False
            view.map.counts.remove(view)
            self._bytes -= view.counts.nbytes
        tally.views.clear()
        if tally.per_row is not None:
            self._bytes -= tally.per_row.data.nbytes
            self._nodes.rows.drop(tally.per_row)

    @property
    def nbytes(self) -> int:
        """About how many bytes are held for plugins."""
        tallies = self.tallies.tallies.values()
        rows = sum(tally.per_row.data.nbytes for tally in tallies if tally.per_row is not None)
        maps = sum(domains.nbytes for domains in self.maps.values())
        return rows + maps + len(tallies) * _TALLY_BYTES


def _last_use(tally: Tally) -> int:
    return max([tally.used, *(view.used for view in tally.views)])
