"""Pod groups and where their members stand: kept by ±1 with each pod that comes, gets a node or goes.

::

    READY ── assume, put_pod with a node ──▶ PLACED ──▶ (bound: the API server shows it there)
      ▲  ◀── forget ─────────────────────────┘
    GATED  the pod has scheduling gates: it exists and cannot be placed yet

Pods that belong to no group are never looked at here. Fed by ``cluster.Cluster``; read by the gate at the queue, by
``cycle.gang``, by preemption (whom may a gang spare?) and by whoever writes the groups' status.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from bayplan.model.pod_group import Group, GroupApi, GroupKey

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo

#: Where a status says that the group was complete once.
_WAS_COMPLETE: Final = frozenset({"Scheduled", "Running", "Finished"})


class Standing:
    """Where the members of one group stand, by ``namespace/name``."""

    __slots__ = ("bound", "complete", "finished", "gated", "placed", "ready")

    def __init__(self) -> None:
        #: Without a node, and free to get one.
        self.ready: set[str] = set()
        #: Held back by scheduling gates of their own.
        self.gated: set[str] = set()
        #: On a node, or assumed there, and not on their way out.
        self.placed: set[str] = set()
        #: Those of ``placed`` that the API server shows there.
        self.bound: set[str] = set()
        #: Members that have done their work: they count, and hold nothing.
        self.finished = 0
        #: As many as are needed were bound at one time, since when some member has been placed all the time.
        self.complete = False

    @property
    def present(self) -> int:
        """How many can run, or do."""
        return len(self.ready) + len(self.placed) + self.finished

    @property
    def is_empty(self) -> bool:
        """Whether no pod is known."""
        return not (self.ready or self.gated or self.placed)


#: Of a group that no pod is in; not to be written to.
NOBODY: Final = Standing()


class Gangs:
    """All pod groups."""

    def __init__(self) -> None:
        self._written: dict[GroupKey, dict[GroupApi, Group]] = {}
        #: Of each name the one of the API that goes before the others.
        self._groups: dict[GroupKey, Group] = {}
        self._standings: dict[GroupKey, Standing] = {}
        #: Pods without a node that are in a group.
        self._waiting_in: dict[str, GroupKey] = {}
        #: APIs whose groups are known. Where none is, a pod that names a group is a pod like any other.
        self.served: set[GroupApi] = set()
        #: Groups of which something has changed; emptied by whoever writes their status.
        self.changed: set[GroupKey] = set()

    # --- groups --------------------------------------------------------------------------------------------------------

    def put(self, group: Group) -> None:
        """A group was added or changed."""
        self.served.add(group.api)
        written = self._written.setdefault(group.key, {})
        first_seen = group.api not in written
        written[group.api] = group
        self._groups[group.key] = _first(written)
        self.changed.add(group.key)
        standing = self._standings.get(group.key)
        if first_seen and _was_complete(group):
            standing = standing or self._standings.setdefault(group.key, Standing())
            standing.complete = True
        elif standing is not None:
            self._note_complete(group.key, standing)

    def remove(self, key: GroupKey, api: GroupApi, uid: str = "") -> None:
        """A group was deleted; its pods are still what they were."""
        written = self._written.get(key)
        known = written.get(api) if written is not None else None
        if written is None or known is None or (uid and known.uid and known.uid != uid):
            return
        del written[api]
        if written:
            self._groups[key] = _first(written)
        else:
            del self._written[key], self._groups[key]
            self._drop_if_empty(key)
        self.changed.add(key)

    def group(self, key: GroupKey) -> Group | None:
        """The group of that name; the one of the API that goes before the others."""
        return self._groups.get(key)

    def serves(self, key: GroupKey) -> bool:
        """Whether groups such as this can exist at all."""
        if key.native:
            return GroupApi.NATIVE in self.served
        return GroupApi.COSCHEDULING in self.served or GroupApi.FORMER in self.served

    def __iter__(self) -> Iterator[GroupKey]:
        """Every group that has an object."""
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    # --- what follows from the counts ----------------------------------------------------------------------------------

    def of(self, pod: PodInfo) -> GroupKey | None:
        """The group that decides about a pod; None for pods that stand alone."""
        key = pod.group
        return key if key is not None and self.serves(key) else None

    def standing(self, key: GroupKey) -> Standing:
        """Where its members stand; not to be changed."""
        return self._standings.get(key, NOBODY)

    def lacking(self, key: GroupKey) -> int:
        """How many members have to get a node at once before the group can run."""
        group = self.group(key)
        if group is None:
            return 0
        standing = self.standing(key)
        return max(group.min_member - len(standing.placed) - standing.finished, 0)

    def is_ready(self, key: GroupKey) -> bool:
        """Whether the group exists and has members enough."""
        group = self.group(key)
        return group is not None and group.min_member <= self.standing(key).present

    def is_broken(self, key: GroupKey) -> bool:
        """Whether some members have a node and too few do, and it was never otherwise."""
        standing = self.standing(key)
        return bool(standing.placed) and not standing.complete and self.lacking(key) > 0

    def spare(self, key: GroupKey) -> int | None:
        """How many placed members may be evicted while the others go on; None: as many as one likes."""
        group = self.group(key)
        if group is None or (not group.is_gang and not group.disrupted_whole):
            return None
        if group.disrupted_whole:
            return 0
        return max(len(self.standing(key).placed) - group.min_member, 0)

    # --- pods ----------------------------------------------------------------------------------------------------------

    def waits(self, pod: PodInfo) -> None:
        """A pod without a node, as the API server shows it, or one that was assumed on a node and is not any more."""
        key = pod.group
        if key is None and not self._waiting_in:
            return
        pod_key = pod.key
        before = self._waiting_in.get(pod_key)
        if before is not None and before != key:
            self.gone(pod_key)
        if key is None:
            return
        if pod.terminating:
            self.gone(pod_key)
            return
        standing = self._standings.setdefault(key, Standing())
        there, elsewhere = standing.ready, standing.gated
        if pod.spec.scheduling_gates:
            there, elsewhere = elsewhere, there
        if pod_key in there:
            return  # news of it, and none for its group
        elsewhere.discard(pod_key)
        there.add(pod_key)
        self._waiting_in[pod_key] = key
        self.changed.add(key)

    def gone(self, pod_key: str) -> None:
        """A pod without a node is no more, or has got one."""
        key = self._waiting_in.pop(pod_key, None)
        if key is None:
            return
        standing = self._standings[key]
        standing.ready.discard(pod_key)
        standing.gated.discard(pod_key)
        self._drop_if_empty(key)
        self.changed.add(key)

    def place(self, pod: PodInfo, *, assumed: bool) -> None:
        """A pod is on a node."""
        key = pod.group
        if key is None and not self._waiting_in:
            return
        pod_key = pod.key
        self.gone(pod_key)
        if key is None or pod.terminating:
            return
        standing = self._standings.setdefault(key, Standing())
        standing.placed.add(pod_key)
        self.changed.add(key)
        if not assumed:
            standing.bound.add(pod_key)
            self._note_complete(key, standing)

    def confirm(self, pod: PodInfo) -> None:
        """The API server shows a pod where it was assumed."""
        key = pod.group
        standing = self._standings.get(key) if key is not None else None
        if key is not None and standing is not None and pod.key in standing.placed:
            standing.bound.add(pod.key)
            self._note_complete(key, standing)
            self.changed.add(key)

    def displace(self, pod: PodInfo) -> None:
        """A pod has left its node."""
        key = pod.group
        standing = self._standings.get(key) if key is not None else None
        if key is None or standing is None:
            return
        standing.placed.discard(pod.key)
        standing.bound.discard(pod.key)
        if not standing.placed:
            standing.complete, standing.finished = False, 0
        self._drop_if_empty(key)
        self.changed.add(key)

    def finished(self, key: GroupKey, count: int) -> None:
        """So many members have done their work, by a count of the API server's objects."""
        standing = self._standings.get(key)
        if standing is not None and standing.finished != count:
            standing.finished = count
            self._note_complete(key, standing)
            self.changed.add(key)

    def memory(self, key: GroupKey) -> tuple[bool, int]:
        """What the counts of a group would forget if all its pods left for a moment."""
        standing = self.standing(key)
        return standing.complete, standing.finished

    def remember(self, key: GroupKey, memory: tuple[bool, int]) -> None:
        """All its pods are back."""
        standing = self._standings.get(key)
        if standing is not None:
            standing.complete, standing.finished = memory

    def _note_complete(self, key: GroupKey, standing: Standing) -> None:
        group = self.group(key)
        if group is not None and standing.bound:
            standing.complete |= len(standing.bound) + standing.finished >= group.min_member

    def _drop_if_empty(self, key: GroupKey) -> None:
        standing = self._standings.get(key)
        if standing is not None and standing.is_empty and key not in self._groups:
            del self._standings[key]

    # --- the recount ---------------------------------------------------------------------------------------------------

    def audit(self, placed: Iterable[tuple[PodInfo, bool]]) -> list[str]:
        """What is wrong with the counts, given all placed pods and whether each is assumed only."""
        counted: dict[GroupKey, tuple[set[str], set[str]]] = {}
        for pod, assumed in placed:
            if pod.group is not None and not pod.terminating:
                on_node, bound = counted.setdefault(pod.group, (set(), set()))
                on_node.add(pod.key)
                if not assumed:
                    bound.add(pod.key)
        wrong = []
        for key in {*counted, *self._standings}:
            standing = self.standing(key)
            if (standing.placed, standing.bound) != counted.get(key, (set(), set())):
                wrong.append(
                    f"group {key}: {sorted(standing.placed)} are placed and {sorted(standing.bound)} "
                    f"bound, counted {counted.get(key)}"
                )
            waiting = {pod for pod, group in self._waiting_in.items() if group == key}
            if standing.ready | standing.gated != waiting or standing.ready & standing.gated:
                wrong.append(f"group {key}: the books of its waiting pods differ")
        return wrong


def _first(written: Mapping[GroupApi, Group]) -> Group:
    return next(written[api] for api in GroupApi if api in written)


def _was_complete(group: Group) -> bool:
    return group.status.phase in _WAS_COMPLETE or any(
        condition.type == "PodGroupScheduled" and condition.status == "True"
        for condition in group.status.conditions
    )
