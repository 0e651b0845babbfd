"""What node agents do with pods: start those that are bound to their node, end those that are done or to go.

Fed by changes of pods and nodes; writes statuses. How long things take is fixed, and per pod said by annotations:
``bayplan.io/runs-for: 5s`` completes a pod after that time (pods of a Job complete anyway), ``bayplan.io/stops-after: 10s``
is how long it takes to stop, at most its grace period. Pods of a node that is gone are removed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayplan.embedded.agents import status
from bayplan.embedded.deleting import DeleteOptions
from bayplan.embedded.entries import Change, ChangeType, Entry
from bayplan.embedded.following import follow
from bayplan.embedded.objects import (
    Object,
    as_list,
    as_object,
    at,
    number_at,
    seconds_of,
    text_at,
)

if TYPE_CHECKING:
    from bayplan.embedded.agents.fleet import Fleet
    from bayplan.embedded.store import Store

RUNS_FOR: Final = "bayplan.io/runs-for"
STOPS_AFTER: Final = "bayplan.io/stops-after"
_DELETING: Final = b'"deletionTimestamp"'


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things take."""

    start_s: float = 0.5
    stop_s: float = 0.5
    #: What pods of a Job do before they are done, unless they say.
    job_s: float = 5.0


class PodAgents:
    """The pods of all nodes."""

    def __init__(self, store: Store, fleet: Fleet, pace: Pace | None = None) -> None:
        self._store = store
        self._fleet = fleet
        self._pace = pace or Pace()
        #: What is to happen next, by the pod's uid: the stage that it leads to, and the alarm.
        self._next: dict[str, tuple[str, asyncio.TimerHandle]] = {}
        #: Pods that run and have nothing before them, so that their changes need no look.
        self._settled: set[str] = set()
        self._addresses = 0
        self._stop_following: Callable[[], None] = lambda: None
        fleet.on_gone(self._on_node_gone)
        fleet.on_new(self._on_node_new)

    def start(self) -> None:
        """Begin; needs a running loop."""
        self._stop_following = follow(self._store, "pods", self._on_pod)

    def stop(self) -> None:
        """Leave all pods as they are."""
        self._stop_following()
        for _, timer in self._next.values():
            timer.cancel()
        self._next.clear()

    def _on_pod(self, change: Change) -> None:
        entry = change.entry
        if change.type is ChangeType.DELETED:
            self._forget(entry.uid)
            return
        node = entry.fields["spec.nodeName"]
        if node and node in self._fleet:
            self._attend(entry)

    def _attend(self, entry: Entry) -> None:
        if _DELETING in entry.raw:
            pod = entry.decode()
            if text_at(pod, "metadata", "deletionTimestamp"):
                self._plan(entry, "stop", self._stopping_s(pod))
                return
        match entry.fields["status.phase"]:
            case "Pending" | "":
                self._plan(entry, "run", self._pace.start_s)
            case "Running" if entry.uid not in self._settled:
                # One that was running before we were: count from when it began.
                pod = entry.decode()
                began_s = seconds_of(text_at(pod, "status", "startTime"))
                self._plan_end(entry, pod, (began_s or 0.0) - self._store.clock.now())

    def _plan(self, entry: Entry, stage: str, delay_s: float) -> None:
        at_s = asyncio.get_running_loop().time() + max(0.0, delay_s)
        planned = self._next.get(entry.uid)
        if planned is not None:
            if planned[0] == stage and planned[1].when() <= at_s:
                return
            planned[1].cancel()
        act = {"run": self._run, "finish": self._finish, "stop": self._remove}[stage]
        timer = asyncio.get_running_loop().call_at(
            at_s, act, entry.namespace, entry.name, entry.uid
        )
        self._next[entry.uid] = (stage, timer)

    def _plan_end(self, entry: Entry, pod: Object, already_s: float) -> None:
        self._settled.add(entry.uid)
        runs_s = self._running_s(pod)
        if runs_s is not None:
            self._plan(entry, "finish", runs_s + min(already_s, 0.0))

    def _running_s(self, pod: Object) -> float | None:
        said = duration_s(_annotation(pod, RUNS_FOR))
        if said is not None:
            return said
        owners = as_list(at(pod, "metadata", "ownerReferences"))
        if any(one.get("kind") == "Job" and one.get("controller") for one in owners):
            return self._pace.job_s
        return None

    def _stopping_s(self, pod: Object) -> float:
        said = duration_s(_annotation(pod, STOPS_AFTER))
        grace_s = float(number_at(pod, "metadata", "deletionGracePeriodSeconds"))
        return min(self._pace.stop_s if said is None else said, grace_s)

    def _here(self, namespace: str, name: str, uid: str) -> Entry | None:
        self._next.pop(uid, None)
        entry = self._store.find("pods", name, namespace)
        return entry if entry is not None and entry.uid == uid else None

    def _run(self, namespace: str, name: str, uid: str) -> None:
        entry = self._here(namespace, name, uid)
        if entry is None:
            return
        node = entry.fields["spec.nodeName"]
        host = self._fleet.address(node)
        address = host if entry.fields["spec.hostNetwork"] == "true" else self._next_address()
        now_s = self._store.clock.now()
        self._settled.add(uid)
        pod = self._store.mutate(
            "pods", name, lambda pod: status.run(pod, address, host, now_s), namespace
        )
        self._plan_end(entry, pod, 0.0)

    def _finish(self, namespace: str, name: str, uid: str) -> None:
        if self._here(namespace, name, uid) is not None:
            now_s = self._store.clock.now()
            self._store.mutate("pods", name, lambda pod: status.finish(pod, now_s), namespace)

    def _remove(self, namespace: str, name: str, uid: str) -> None:
        if self._here(namespace, name, uid) is not None:
            self._store.delete("pods", name, namespace, DeleteOptions(grace_s=0))

    def _next_address(self) -> str:
        """Addresses come from 10.0.0.0/8 in order; after sixteen million they begin again."""
        self._addresses = self._addresses % 0xFF_FFFE + 1
        number = self._addresses
        return f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"

    def _forget(self, uid: str) -> None:
        self._settled.discard(uid)
        planned = self._next.pop(uid, None)
        if planned is not None:
            planned[1].cancel()

    def _of_node(self, node: str) -> list[Entry]:
        entries = self._store.shelves["pods"].entries.values()
        return [entry for entry in entries if entry.fields["spec.nodeName"] == node]

    def _on_node_gone(self, node: str) -> None:
        for entry in self._of_node(node):
            self._plan(entry, "stop", 0.0)

    def _on_node_new(self, node: str) -> None:
        for entry in self._of_node(node):
            self._attend(entry)


def _annotation(pod: Object, name: str) -> str:
    return text_at(as_object(at(pod, "metadata", "annotations")), name)


def duration_s(text: str) -> float | None:
    """``5s``, ``1m30s``, ``500ms``; None for what is none."""
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
    total, rest = 0.0, text.strip()
    while rest:
        digits = len(rest) - len(rest.lstrip("0123456789."))
        number, rest = rest[:digits], rest[digits:]
        letters = len(rest) - len(rest.lstrip("hms"))
        unit, rest = rest[:letters], rest[letters:]
        if unit not in units or number.count(".") > 1 or number in ("", "."):
            return None
        total += float(number) * units[unit]
    return total if text.strip() else None
