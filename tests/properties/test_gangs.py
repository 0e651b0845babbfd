"""Gangs over random histories: none is ever decided below its minimum, no room leaks, and all that fit are placed in the end."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bayplan.cluster.audit import check
from bayplan.cluster.podinfo import PodInfo
from bayplan.cycle.gang import GangPlaced, attempt_gang
from bayplan.cycle.gang_trial import Member
from bayplan.framework.events import Action, ClusterEvent, Resource
from bayplan.framework.pod_news import pod_of
from bayplan.model.pod_group import Group, GroupApi, GroupKey
from bayplan.plugins.gang_scheduling import GangScheduling, with_gangs
from bayplan.queueing.entry import Queued, Rejection
from bayplan.queueing.scheduling import SchedulingQueue
from bayplan.testing import make_node, make_pod
from bayplan.testing.scheduler import make_cluster, make_desk

LABEL = "scheduling.x-k8s.io/pod-group"
NAMES = ("red", "green")
GANGS = st.sampled_from(NAMES)


class Gangs(RuleBasedStateMachine):
    """The queue, the columns and the gang's attempt, as the loop puts them together, without a loop."""

    @initialize(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=2))
    def begin(self, sizes: Sequence[int]) -> None:
        nodes = [
            make_node(f"n{i}").capacity(cpu=str(size), pods="99") for i, size in enumerate(sizes)
        ]
        self.cluster = make_cluster(*nodes)
        self.desk = make_desk(self.cluster)
        gate = GangScheduling(None, self.desk.handle)  # type: ignore[arg-type]
        self.queue = SchedulingQueue({"default-scheduler": with_gangs(self.desk.profile, gate)})
        self.now = 0.0
        self.made = 0
        #: Assumed pods that are on their way to the API server.
        self.sending: dict[str, tuple[Queued, str]] = {}
        self.alive: dict[str, PodInfo] = {}

    # --- what the world does -------------------------------------------------------------------------------------------

    @rule(name=GANGS, least=st.sampled_from([2, 3, 4, 5, 1, 2**31]))
    def change_group(self, name: str, least: int) -> None:
        key = GroupKey("default", name)
        self.cluster.gangs.put(Group(key, GroupApi.COSCHEDULING, least))
        self.queue.on_group(key, self.now, "PodGroupUpdate")

    @rule(name=GANGS)
    def delete_group(self, name: str) -> None:
        key = GroupKey("default", name)
        self.cluster.gangs.remove(key, GroupApi.COSCHEDULING)
        self.queue.on_group(key, self.now, "PodGroupUpdate")

    @rule(name=GANGS, count=st.integers(2, 5), cpu=st.integers(1, 2))
    def add_members(self, name: str, count: int, cpu: int) -> None:
        for _ in range(count):
            self.made += 1
            pod = make_pod(f"p{self.made}").uid(f"u{self.made}").label(LABEL, name)
            self._add(self.cluster.info(pod.requests(cpu=str(cpu)).build()))

    @rule(cpu=st.integers(1, 2))
    def add_single(self, cpu: int) -> None:
        self.made += 1
        pod = make_pod(f"p{self.made}").uid(f"u{self.made}").requests(cpu=str(cpu))
        self._add(self.cluster.info(pod.build()))

    def _add(self, info: PodInfo) -> None:
        group, gangs = info.group, self.cluster.gangs
        was_ready = group is None or gangs.is_ready(group)
        self.alive[info.key] = info
        self.cluster.put_pod(info)
        self.queue.add(info, self.now)
        if group is not None and not was_ready and gangs.is_ready(group):
            self.queue.on_group(group, self.now, "UnschedulablePodAdd")

    @rule(data=st.data())
    def delete_pod(self, data: st.DataObject) -> None:
        if not self.alive:
            return
        key = data.draw(st.sampled_from(sorted(self.alive)))
        info = self.alive.pop(key)
        was_placed = key in self.cluster.pods.row_of
        self.sending.pop(key, None)
        self.cluster.remove_pod(info.namespace, info.name, info.uid)
        self.queue.remove(key, info.uid, self.now)
        self.queue.done(info.uid)
        if was_placed:
            self._freed(info)

    @rule(data=st.data(), fails=st.booleans())
    def binding_ends(self, data: st.DataObject, fails: bool) -> None:
        if not self.sending:
            return
        key = data.draw(st.sampled_from(sorted(self.sending)))
        queued, node = self.sending.pop(key)
        if fails:
            self.cluster.forget(queued.pod)
            self.queue.requeue(queued, self.now, Rejection(is_error=True))
            self._freed(queued.pod)
        else:
            self._confirm(queued, node)

    def _confirm(self, queued: Queued, node: str) -> None:
        bound = pod_of(queued.pod)
        info = self.cluster.info(bound)
        info.node_name = node
        self.cluster.put_pod(info)
        self.queue.done(info.uid)

    def _freed(self, info: PodInfo) -> None:
        event = ClusterEvent.of(Resource.ASSIGNED_POD, Action.DELETE, pod_of(info), None)
        self.queue.on_event(event, self.now)

    # --- what the scheduler does ---------------------------------------------------------------------------------------

    @rule()
    def decide_all(self) -> None:
        """Until nobody is ready."""
        self.now += 11.0
        for _ in range(len(self.alive) + 1):
            self.queue.flush(self.now)
            queued = self.queue.pop(self.now)
            if queued is None:
                return
            self._turn(queued)

    def _turn(self, queued: Queued) -> None:
        gangs = self.cluster.gangs
        key = gangs.of(queued.pod)
        if key is None or (gangs.group(key) is not None and not gangs.lacking(key)):
            self._decide([queued], Group(GroupKey("", ""), GroupApi.COSCHEDULING, 1))
            return
        members = [queued, *self.queue.pop_group(queued, self.now)]
        group = gangs.group(key)
        if group is None:
            self._back(members, frozenset({"GangScheduling"}))
            return
        self._decide(members, group)

    def _decide(self, members: list[Queued], group: Group) -> None:
        before = set(self.cluster.pods.row_of)
        asked = [Member(queued.pod, self.desk) for queued in members]
        outcome = attempt_gang(group, asked, self.cluster)
        by_uid = {queued.pod.uid: queued for queued in members}
        if isinstance(outcome, GangPlaced):
            placed = self.cluster.gangs.standing(group.key).placed
            assert len(placed) >= group.min_member or not group.is_gang
            for held in outcome.held:
                queued = by_uid.pop(held.member.pod.uid)
                self.sending[queued.pod.key] = (queued, held.outcome.node)
            self._back(list(by_uid.values()), frozenset({"NodeResourcesFit"}))
        else:
            assert set(self.cluster.pods.row_of) == before
            self._back(members, outcome.rejected_by)

    def _back(self, members: list[Queued], why: frozenset[str]) -> None:
        for queued in members:
            self.queue.requeue(queued, self.now, Rejection(why))

    # --- what holds ----------------------------------------------------------------------------------------------------

    @invariant()
    def books_are_right(self) -> None:
        if hasattr(self, "queue"):
            check(self.cluster)
            assert self.queue.audit() == []

    @invariant()
    def nobody_is_lost(self) -> None:
        if hasattr(self, "queue"):
            for key in self.alive:
                assert (key in self.cluster.pods.row_of) or self.queue.get(key) is not None

    def teardown(self) -> None:
        """Let bindings succeed and decide for long enough: then no gang that would fit is still waiting."""
        if not hasattr(self, "queue"):
            return
        for _ in range(4):
            while self.sending:
                _, (queued, node) = self.sending.popitem()
                self._confirm(queued, node)
            self.now += 400.0
            self.decide_all()
        gangs = self.cluster.gangs
        for name in NAMES:
            key = GroupKey("default", name)
            group = gangs.group(key)
            waiting = [self.alive[k] for k in sorted(gangs.standing(key).ready)]
            if group is None or not waiting or not gangs.lacking(key):
                continue
            outcome = attempt_gang(group, [Member(pod, self.desk) for pod in waiting], self.cluster)
            assert not isinstance(outcome, GangPlaced), f"{key} fits and waits"


TestGangs = Gangs.TestCase
TestGangs.settings = settings(max_examples=80, stateful_step_count=25, deadline=None)
