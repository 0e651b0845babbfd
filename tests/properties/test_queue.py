"""The queue against a naive model: whatever happens in whatever order, each pod is where the rules say.

The model keeps a list of pods and walks through it for everything; it shares no code with the queue but the plugins' verdicts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.queueing.scene import Gate, Scene, listener

from bayplan import Action, Hint, PodInfo, Resource, WakeOn
from bayplan.framework.events import ClusterEvent
from bayplan.model.meta import ObjectMeta
from bayplan.model.node import Node
from bayplan.queueing.entry import Queued
from bayplan.testing import make_pod

NAMES = tuple("abcd")
#: An event says by a node's labels whom it cures: pods of that class, and in the eyes of which plugins.
CLASSES = ("x", "y")
CURED = ("all", *CLASSES)
BLAMED = (("Fit",), ("Fit", "Never"), ("Fit", "Gang"), ("Never",), ())


def cures(plugin: str, group: str, node: Any) -> bool:
    return bool(node.metadata.labels.get(plugin) in (group, "all"))


def wakes(plugin: str) -> WakeOn:
    def hint(pod: PodInfo, old: Any, new: Any) -> Hint:
        return Hint.QUEUE if cures(plugin, pod.labels["group"], new) else Hint.SKIP

    return WakeOn(Resource.NODE, Action.ADD, hint)


@dataclass
class Model:
    """One pod, as a naive reader of the rules would keep it."""

    name: str
    uid: str
    group: str
    priority: int
    queued_at: float
    place: str = "active"
    failures: int = 0
    errors: int = 0
    blamed: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    until: float = -math.inf
    flushed_at: float = -math.inf
    missed: list[ClusterEvent] = field(default_factory=list)
    gone: bool = False

    @property
    def turn(self) -> tuple[float, int, float]:
        """Who is smaller is first; of equals either may be."""
        until = self.until if self.place == "backoff" else 0.0
        return (until, -self.priority, self.queued_at)


class QueueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate(WakeOn(Resource.NODE, Action.ADD))
        self.scene = Scene(
            self.gate,
            listener("Fit", wakes("Fit")),
            listener("Gang", wakes("Gang")),
            listener("Never", WakeOn(Resource.SERVICE, Action.ADD)),
        )
        self.waiting: dict[str, Model] = {}
        self.out: dict[str, tuple[Queued, Model]] = {}
        self.born = 0
        self.swept_at: float | None = None

    # --- the model -----------------------------------------------------------------------------------------------------

    def to_active(self, pod: Model) -> None:
        if not self.shut(pod):
            pod.place = "active"

    def shut(self, pod: Model) -> bool:
        if pod.name not in self.gate.shut:
            return False
        pod.place, pod.blamed = "gated", pod.blamed | {"Gate"}
        return True

    def back(self, pod: Model, *, now: bool) -> None:
        if now or pod.until < math.floor(self.scene.now):
            self.to_active(pod)
        elif not self.shut(pod):
            pod.place = "backoff"

    def verdict(self, pod: Model, event: ClusterEvent) -> str:
        if not pod.blamed | pod.pending:
            return "backoff"
        if event.is_wildcard:
            return "backoff" if event.new is None or event.new.uid == pod.uid else ""
        keen = {p for p in ("Fit", "Gang") if cures(p, pod.group, event.new)} | {"Gate"}
        if keen & pod.pending:
            return "now"
        return "backoff" if keen & pod.blamed else ""

    def hears(self, event: ClusterEvent) -> None:
        for pod in list(self.waiting.values()):
            if pod.place in ("unschedulable", "gated"):
                verdict = self.verdict(pod, event)
                if verdict:
                    self.back(pod, now=verdict == "now")
        for _, pod in self.out.values():
            pod.missed.append(event)

    # --- what may happen -----------------------------------------------------------------------------------------------

    @rule(
        name=st.sampled_from(NAMES),
        group=st.sampled_from(CLASSES),
        priority=st.integers(0, 2),
        shut=st.sampled_from((False, False, True)),
    )
    def add(self, name: str, group: str, priority: int, *, shut: bool) -> None:
        if name in self.waiting:
            return
        self.born += 1
        pod = Model(name, f"{name}-{self.born}", group, priority, self.scene.now)
        (self.gate.shut.add if shut else self.gate.shut.discard)(name)
        self.scene.add(make_pod(name).uid(pod.uid).label("group", group).priority(priority))
        self.waiting[name] = pod
        self.to_active(pod)

    @rule(name=st.sampled_from(NAMES))
    def remove(self, name: str) -> None:
        pod = self.waiting.pop(name, None)
        if pod is not None:
            self.scene.queue.remove(f"default/{name}", pod.uid, self.scene.now)

    @rule(data=st.data())
    @precondition(lambda self: self.out)
    def remove_one_that_is_out(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.out)))
        pod = self.out[uid][1]
        pod.gone = True
        self.scene.queue.remove(f"default/{pod.name}", uid, self.scene.now)

    @rule(name=st.sampled_from(NAMES), group=st.sampled_from(CLASSES))
    def relabel(self, name: str, group: str) -> None:
        """No plugin wants to hear of labels; classes change all the same."""
        pod = self.waiting.get(name)
        if pod is not None:
            pod.group = group
            new = make_pod(name).uid(pod.uid).label("group", group).priority(pod.priority)
            self.scene.queue.update(self.scene.info(new), self.scene.now)

    @rule()
    def pop(self) -> None:
        queued = self.scene.queue.pop(self.scene.now)
        ready = [p for p in self.waiting.values() if p.place == "active"]
        if not ready:
            ready = [p for p in self.waiting.values() if p.place == "backoff" and not p.errors]
        if not ready:
            assert queued is None
            return
        assert queued is not None
        pod = self.waiting.pop(queued.pod.name)
        assert pod.turn == min(other.turn for other in ready)
        pod.missed = []
        self.out[pod.uid] = (queued, pod)

    @rule(
        data=st.data(),
        blamed=st.sampled_from(BLAMED),
        pending=st.sampled_from(((), (), ("Gang",), ("Fit",))),
        is_error=st.sampled_from((False, False, False, True)),
    )
    @precondition(lambda self: self.out)
    def requeue(
        self, data: st.DataObject, blamed: Sequence[str], pending: Sequence[str], *, is_error: bool
    ) -> None:
        self.come_back(data.draw(st.sampled_from(sorted(self.out))), blamed, pending, is_error)

    @rule(
        blamed=st.sampled_from(BLAMED),
        is_error=st.sampled_from((False, False, False, True)),
        fit=st.sampled_from(("", *CURED)),
    )
    def a_whole_attempt(self, blamed: Sequence[str], fit: str, *, is_error: bool) -> None:
        before = set(self.out)
        self.pop()
        if fit:
            self.a_node_comes(fit, "")
        for uid in set(self.out) - before:
            self.come_back(uid, blamed, (), is_error)

    def come_back(
        self, uid: str, blamed: Sequence[str], pending: Sequence[str], is_error: bool
    ) -> None:
        queued, pod = self.out.pop(uid)
        if is_error:
            self.scene.break_down(queued)
            blamed = pending = ()
        else:
            self.scene.turn_down(queued, *blamed, pending=pending)
        if pod.gone or pod.name in self.waiting:
            return
        pod.blamed, pod.pending = frozenset(blamed), frozenset(pending)
        if blamed or pending:
            pod.failures, pod.errors = pod.failures + 1, 0
        else:
            pod.errors += 1
        pod.queued_at, pod.flushed_at = self.scene.now, -math.inf
        wait_s = min(10, 2 ** ((pod.errors or pod.failures) - 1))
        pod.until = math.floor(self.scene.now + wait_s)
        self.waiting[pod.name] = pod
        verdicts = {self.verdict(pod, event) for event in pod.missed}
        if not (blamed or pending) or verdicts - {""}:
            self.back(pod, now="now" in verdicts)
        else:
            pod.place = "unschedulable"

    @rule(data=st.data())
    @precondition(lambda self: self.out)
    def done(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.out)))
        del self.out[uid]
        self.scene.queue.done(uid)

    @rule(fit=st.sampled_from(CURED), gang=st.sampled_from(("", *CURED)))
    def a_node_comes(self, fit: str, gang: str) -> None:
        node = Node(metadata=ObjectMeta(name="n", labels={"Fit": fit, "Gang": gang}))
        event = ClusterEvent.of(Resource.NODE, Action.ADD, None, node)
        self.scene.event(event)
        self.hears(event)

    @rule(name=st.sampled_from(NAMES))
    def the_gate_opens(self, name: str) -> None:
        self.gate.shut.discard(name)

    @rule(name=st.sampled_from(NAMES))
    def activate(self, name: str) -> None:
        pod = self.waiting.get(name)
        flying = [q for q, p in self.out.values() if p.name == name]
        for queued in flying:
            if pod is None or pod.place == "active":
                self.scene.queue.activate([queued.pod], self.scene.now)
                event = ClusterEvent.force_activate(queued.pod)
                for _, other in self.out.values():
                    other.missed.append(event)
        if pod is not None:
            waits = self.scene.queue.get(f"default/{name}")
            assert waits is not None
            self.scene.queue.activate([waits.pod], self.scene.now)
            if pod.place == "backoff":
                pod.place = "active"
            elif pod.place != "active":
                self.to_active(pod)

    @rule(seconds=st.sampled_from((0.3, 1.0, 2.5, 31.0, 400.0)))
    def time_passes(self, seconds: float) -> None:
        self.scene.pass_time(seconds)
        now = self.scene.now
        over = [
            p for p in self.waiting.values() if p.place == "backoff" and p.until < math.floor(now)
        ]
        for pod in over:
            pod.place = "active"
        if self.swept_at is None:
            self.swept_at = now
        elif now - self.swept_at >= 30:
            self.swept_at = now
            self.sweep(now)

    def sweep(self, now: float) -> None:
        late = [
            p
            for p in self.waiting.values()
            if p.place in ("unschedulable", "gated") and now - max(p.queued_at, p.flushed_at) > 300
        ]
        for pod in late:
            pod.flushed_at = now
            self.back(pod, now=False)
        if late:
            for _, pod in self.out.values():
                pod.missed.append(ClusterEvent.unschedulable_timeout())

    # --- what must hold ------------------------------------------------------------------------------------------------

    @invariant()
    def every_pod_is_where_the_model_says(self) -> None:
        places = {q.pod.name: q.place.value for q in self.scene.queue.pods()}
        assert places == {pod.name: pod.place for pod in self.waiting.values()}

    @invariant()
    def the_books_are_in_order(self) -> None:
        assert self.scene.queue.audit() == []
        assert sum(self.scene.queue.pending().values()) == len(self.waiting)
        assert self.scene.queue.in_flight_events()["PodPopped"] == len(self.out)

    @invariant()
    def nobody_backs_off_without_a_deadline(self) -> None:
        if any(pod.place == "backoff" for pod in self.waiting.values()):
            deadline = self.scene.queue.next_deadline()
            assert deadline is not None
            assert deadline <= self.scene.now + 11


TestQueue = QueueMachine.TestCase
TestQueue.settings = settings(max_examples=150, stateful_step_count=60)
