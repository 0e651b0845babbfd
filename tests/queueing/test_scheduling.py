"""The queue's rules, one by one: who is next, who waits for how long, and what wakes whom."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan import Action, Hint, PodInfo, Resource, WakeOn
from bayplan.framework.events import ClusterEvent
from bayplan.model.pod import Pod
from bayplan.queueing.entry import Place, QueueSettings, Rejection
from bayplan.queueing.scheduling import SchedulingQueue
from bayplan.telemetry.catalog import EXTENSION_POINT_DURATION, HINT_DURATION
from bayplan.telemetry.instruments import HistogramVec
from bayplan.testing import make_pod
from tests.queueing.scene import (
    NODE_ADD,
    POD_DELETE,
    Gate,
    Scene,
    listener,
    make_profile,
    queue_it,
    skip_it,
)

ON_NODE_ADD = WakeOn(Resource.NODE, Action.ADD, queue_it)


@pytest.fixture
def scene() -> Scene:
    """Fit wakes by new nodes and Never by nothing."""
    return Scene(listener("Fit", ON_NODE_ADD), listener("Never"))


# --- the order ---------------------------------------------------------------------------------------------------------


def test_the_more_important_pod_first_then_the_older(scene: Scene) -> None:
    scene.add("first", make_pod("vip").priority(10))
    scene.now += 1
    scene.add("second", make_pod("low").priority(-1))
    assert scene.drain() == ["vip", "first", "second", "low"]


def test_equals_go_in_the_order_of_their_coming(scene: Scene) -> None:
    scene.add(*(f"p{i}" for i in range(20)))
    assert scene.drain() == [f"p{i}" for i in range(20)]


def test_a_pod_that_comes_back_stands_behind_those_that_came_meanwhile(scene: Scene) -> None:
    scene.add("failed")
    queued = scene.pop()
    scene.now += 1
    scene.add("new")
    scene.now += 1
    scene.turn_down(queued, "Fit")
    scene.pass_time(10)
    scene.event(NODE_ADD)
    assert scene.drain() == ["new", "failed"]


def test_an_empty_queue_has_nothing_to_pop(scene: Scene) -> None:
    assert scene.queue.pop(scene.now) is None


def test_a_pod_that_is_popped_counts_its_attempts(scene: Scene) -> None:
    scene.add("p")
    queued = scene.pop()
    assert (queued.attempts, queued.initial_attempt_at, queued.last_try_at) == (1, 100.0, 100.0)
    scene.break_down(queued)
    scene.pass_time(5)
    again = scene.pop()
    assert again is queued
    assert (again.attempts, again.initial_attempt_at, again.last_try_at) == (2, 100.0, 105.0)


def test_a_queue_sort_that_raises_puts_that_pod_last() -> None:
    profile = make_profile()

    def picky(pod: PodInfo, queued_at: float) -> float:
        if pod.name == "odd":
            raise ValueError("no idea")
        return queued_at

    profile.queue_sort[0].sort_key = picky  # type: ignore[method-assign]
    queue = SchedulingQueue({profile.name: profile})
    scene = Scene()
    scene.queue = queue
    scene.add("odd", "even")
    assert scene.drain() == ["even", "odd"]


# --- backing off -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failures", "wait_s"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10), (2000, 10)]
)
def test_the_wait_doubles_up_to_the_longest(scene: Scene, failures: int, wait_s: float) -> None:
    scene.add("p")
    for _ in range(failures):
        queued = scene.pop()
        scene.turn_down(queued, "Fit")
        scene.event(NODE_ADD)  # to the backoff
    assert scene.where("p") is Place.BACKOFF
    # It ends with the whole second that it falls into.
    scene.pass_time(wait_s)
    assert scene.where("p") is Place.BACKOFF
    assert scene.queue.next_deadline() == scene.now + 1
    scene.pass_time(1)
    assert scene.where("p") is Place.ACTIVE


def test_waits_end_with_the_second_that_they_fall_into(scene: Scene) -> None:
    scene.now = 100.7
    scene.add("p")
    scene.break_down(scene.pop())  # until 101.7
    assert scene.queue.next_deadline() == 102.0
    scene.now = 101.9
    scene.queue.flush(scene.now)
    assert scene.where("p") is Place.BACKOFF
    scene.now = 102.0
    scene.queue.flush(scene.now)
    assert scene.where("p") is Place.ACTIVE


def test_errors_in_a_row_are_counted_for_themselves(scene: Scene) -> None:
    scene.add("p")
    queued = scene.pop()
    for _ in range(3):
        scene.turn_down(queued, "Fit")
        scene.event(NODE_ADD)
        queued = scene.pop()
    scene.break_down(queued)
    assert (queued.unschedulable_count, queued.error_count) == (3, 1)
    assert queued.backoff_until == scene.now + 1
    scene.pass_time(2)
    scene.turn_down(scene.pop(), "Fit")
    assert (queued.unschedulable_count, queued.error_count) == (4, 0)


def test_when_none_is_ready_one_that_was_turned_down_is_popped_before_its_time(
    scene: Scene,
) -> None:
    scene.add("low", make_pod("vip").priority(1))
    first, second = scene.pop(), scene.pop()
    scene.turn_down(second, "Fit")
    scene.turn_down(first, "Fit")
    scene.event(NODE_ADD)
    assert scene.queue.pending()["backoff"] == 2
    # The waits end in the same second: QueueSort decides.
    assert scene.drain() == ["vip", "low"]
    assert scene.incoming()["active", "PopFromBackoffQ"] == 2


def test_one_that_met_an_error_is_never_popped_before_its_time(scene: Scene) -> None:
    scene.add("p")
    scene.break_down(scene.pop())
    assert scene.queue.pop(scene.now) is None
    scene.pass_time(2)
    assert scene.pop().pod.name == "p"


def test_a_longest_wait_of_nothing_turns_waiting_off() -> None:
    scene = Scene(settings=QueueSettings(max_backoff_s=0))
    scene.add("p")
    scene.break_down(scene.pop())
    assert scene.where("p") is Place.ACTIVE


# --- events ------------------------------------------------------------------------------------------------------------


def test_a_pod_that_was_turned_down_waits_for_its_plugin_s_event(scene: Scene) -> None:
    scene.park("p", "Fit")
    scene.event(POD_DELETE)
    assert scene.where("p") is Place.UNSCHEDULABLE
    scene.event(NODE_ADD)
    assert scene.where("p") is Place.ACTIVE
    assert scene.incoming() == {
        ("active", "UnschedulablePodAdd"): 1,
        ("unschedulable", "ScheduleAttemptFailure"): 1,
        ("active", "NodeAdd"): 1,
    }


def test_events_of_other_plugins_do_not_wake(scene: Scene) -> None:
    scene.park("p", "Never")
    scene.event(NODE_ADD)
    assert scene.where("p") is Place.UNSCHEDULABLE


def test_a_pod_that_still_backs_off_waits_for_the_rest(scene: Scene) -> None:
    scene.add("p")
    scene.turn_down(scene.pop(), "Fit")
    scene.event(NODE_ADD)
    assert scene.where("p") is Place.BACKOFF
    scene.pass_time(2)
    assert scene.where("p") is Place.ACTIVE
    assert scene.incoming()["active", "BackoffComplete"] == 1


def test_a_plugin_that_said_pending_wakes_at_once() -> None:
    scene = Scene(listener("Gang", ON_NODE_ADD), listener("Fit", ON_NODE_ADD))
    scene.add("p")
    scene.turn_down(scene.pop(), "Fit", pending=["Gang"])
    scene.event(NODE_ADD)
    assert scene.where("p") is Place.ACTIVE


def test_where_one_plugin_said_pending_another_s_event_still_means_backoff() -> None:
    scene = Scene(
        listener("Gang", WakeOn(Resource.NODE, Action.ADD, skip_it)), listener("Fit", ON_NODE_ADD)
    )
    scene.add("p")
    scene.turn_down(scene.pop(), "Fit", pending=["Gang"])
    scene.event(NODE_ADD)
    assert scene.where("p") is Place.BACKOFF


def test_one_plugin_that_says_queue_is_enough() -> None:
    scene = Scene(
        listener("A", WakeOn(Resource.NODE, Action.ADD, skip_it)), listener("B", ON_NODE_ADD)
    )
    scene.park("p", "A", "B")
    scene.event(NODE_ADD)
    assert scene.where("p") is Place.ACTIVE


def test_a_hint_that_raises_counts_as_yes() -> None:
    def broken(pod: PodInfo, old: Any, new: Any) -> Hint:
        raise KeyError("oops")

    scene = Scene(listener("Fit", WakeOn(Resource.NODE, Action.ADD, broken)))
    scene.park("p", "Fit")
    scene.event(NODE_ADD)
    assert scene.where("p") is Place.ACTIVE


def test_hints_are_timed() -> None:
    times = iter(range(100))
    profile = make_profile(listener("Fit", ON_NODE_ADD))
    scene = Scene()
    scene.queue = SchedulingQueue(
        {profile.name: profile}, metrics=scene.metrics, timer=lambda: float(next(times))
    )
    scene.park("p", "Fit")
    scene.event(NODE_ADD)
    timed = [each for each in scene.metrics.instruments if each.spec is HINT_DURATION]
    assert isinstance(timed[0], HistogramVec)
    assert {labels: cells[-1] for labels, cells in timed[0].cells.items()} == {
        ("Fit", "NodeAdd", "Queue"): 1.0
    }


def test_only_pods_up_to_a_priority_are_woken(scene: Scene) -> None:
    scene.park(make_pod("low").priority(1), "Fit")
    scene.park(make_pod("high").priority(9), "Fit")
    scene.event(NODE_ADD, up_to_priority=5)
    assert (scene.where("low"), scene.where("high")) == (Place.ACTIVE, Place.UNSCHEDULABLE)


def test_all_pods_but_one_are_woken(scene: Scene) -> None:
    own = scene.park("own", "Fit")
    scene.park("other", "Fit")
    scene.event(NODE_ADD, besides=own.pod.uid)
    assert (scene.where("own"), scene.where("other")) == (Place.UNSCHEDULABLE, Place.ACTIVE)


def test_alike_pods_share_one_question() -> None:
    asked = []

    def counting(pod: PodInfo, old: Any, new: Any) -> Hint:
        asked.append(pod.labels)
        return Hint.QUEUE

    scene = Scene(listener("Fit", WakeOn(Resource.NODE, Action.ADD, counting)))
    for i in range(10):
        scene.park(make_pod(f"a{i}").label("app", "a"), "Fit")
        scene.park(make_pod(f"b{i}").label("app", "b"), "Fit")
    scene.event(NODE_ADD)
    assert asked == [{"app": "a"}, {"app": "b"}]
    assert scene.queue.pending()["active"] == 20


def test_a_hint_that_asks_who_the_pod_is_is_asked_of_each() -> None:
    def only_p3(pod: PodInfo, old: Any, new: Any) -> Hint:
        return Hint.QUEUE if pod.name == "p3" else Hint.SKIP

    scene = Scene(listener("Fit", WakeOn(Resource.NODE, Action.ADD, only_p3)))
    for i in range(5):
        scene.park(f"p{i}", "Fit")
    scene.event(NODE_ADD)
    assert scene.drain() == ["p3"]


def test_an_event_that_nobody_wants_to_hear_of_leaves_no_trace(scene: Scene) -> None:
    scene.add("p")
    queued = scene.pop()
    scene.event(ClusterEvent.of(Resource.STORAGE_CLASS, Action.ADD, None, "a class"))
    assert scene.queue.in_flight_events() == {"PodPopped": 1}
    scene.queue.done(queued.pod.uid)


# --- what happens while a pod is out -----------------------------------------------------------------------------------


def test_an_event_that_a_pod_missed_counts_when_it_comes_back(scene: Scene) -> None:
    scene.add("p")
    queued = scene.pop()
    scene.event(NODE_ADD)
    scene.turn_down(queued, "Fit")
    assert scene.where("p") is Place.BACKOFF
    assert scene.queue.audit() == []


def test_an_event_from_before_the_attempt_does_not(scene: Scene) -> None:
    scene.add("other", "p")
    other = scene.pop()
    scene.event(NODE_ADD)
    scene.turn_down(scene.pop(), "Fit")
    assert scene.where("p") is Place.UNSCHEDULABLE
    scene.turn_down(other, "Fit")
    assert scene.where("other") is Place.BACKOFF


def test_an_event_of_a_pending_plugin_skips_the_backoff() -> None:
    scene = Scene(listener("Gang", ON_NODE_ADD), listener("Fit", ON_NODE_ADD))
    scene.add("p")
    queued = scene.pop()
    scene.event(NODE_ADD)
    scene.turn_down(queued, "Fit", pending=["Gang"])
    assert scene.where("p") is Place.ACTIVE


def test_events_are_kept_no_longer_than_somebody_may_ask_for_them(scene: Scene) -> None:
    scene.add("a", "b")
    a = scene.pop()
    scene.event(NODE_ADD)
    b = scene.pop()
    scene.event(NODE_ADD)
    assert scene.queue.in_flight_events() == {"NodeAdd": 2, "PodPopped": 2}
    scene.queue.done(a.pod.uid)
    assert scene.queue.in_flight_events() == {"NodeAdd": 1, "PodPopped": 1}
    scene.queue.done(b.pod.uid)
    assert scene.queue.in_flight_events() == {"PodPopped": 0}


def test_a_pod_that_changes_while_it_is_out_comes_back_as_it_is_then() -> None:
    scene = Scene(listener("Taints", WakeOn(Resource.POD, Action.UPDATE_POD_TOLERATION, queue_it)))
    scene.add("p")
    queued = scene.pop()
    scene.queue.update(scene.info(make_pod("p").tolerate("dedicated")), scene.now)
    scene.turn_down(queued, "Taints")
    assert scene.where("p") is Place.BACKOFF
    assert len(queued.pod.spec.tolerations) == 1


def test_a_pod_that_is_gone_when_it_comes_back_is_dropped(scene: Scene) -> None:
    scene.add("p")
    queued = scene.pop()
    scene.queue.remove("default/p", queued.pod.uid, scene.now)
    scene.turn_down(queued, "Fit")
    assert scene.where("p") is Place.OUT
    assert scene.queue.in_flight_events() == {"PodPopped": 0}


def test_a_pod_created_anew_under_its_name_stays_and_the_old_one_is_dropped(scene: Scene) -> None:
    scene.add(make_pod("p").uid("old"))
    queued = scene.pop()
    scene.add(make_pod("p").uid("new"))
    scene.turn_down(queued, "Fit")
    waits = scene.queue.get("default/p")
    assert waits is not None
    assert (waits.pod.uid, waits.place) == ("new", Place.ACTIVE)
    assert scene.queue.audit() == []


# --- gates -------------------------------------------------------------------------------------------------------------


def test_a_gated_pod_never_gets_into_the_queue(scene: Scene) -> None:
    scene.add(gated("p"))
    assert scene.queue.pending() == {"active": 0, "backoff": 0, "unschedulable": 0, "gated": 1}
    assert scene.queue.unschedulable_by_plugin() == {("SchedulingGates", "default-scheduler"): 1}
    assert scene.queue.pop(scene.now) is None
    scene.event(NODE_ADD)
    assert scene.where("p") is Place.GATED


def test_the_last_gate_that_goes_lets_the_pod_in(scene: Scene) -> None:
    scene.add(gated("p", "a", "b"))
    scene.now += 3
    scene.queue.update(scene.info(gated("p", "b")), scene.now)
    assert scene.where("p") is Place.GATED
    scene.now += 3
    scene.queue.update(scene.info("p"), scene.now)
    queued = scene.pop()
    # The clock of the SLI starts now: who gates a pod answers for the time.
    assert queued.initial_attempt_at == 106.0
    assert (
        "active",
        "UnschedulablePodUpdatePodSchedulingGatesEliminated",
    ) in scene.incoming()


def test_a_gate_is_asked_again_only_at_its_own_events() -> None:
    gate = Gate(WakeOn(Resource.ASSIGNED_POD, Action.DELETE, queue_it))
    scene = Scene(gate, listener("Fit", ON_NODE_ADD))
    gate.shut.add("p")
    scene.add("p")
    gate.asked.clear()
    scene.event(NODE_ADD)
    assert gate.asked == []
    scene.event(POD_DELETE)
    assert gate.asked == ["p"]
    gate.shut.clear()
    scene.event(POD_DELETE)
    assert scene.where("p") is Place.ACTIVE


def test_what_turned_the_pod_down_before_may_open_the_gate_when_the_gate_s_event_comes() -> None:
    """As with preemption: it gates the pod while victims go, and room is what the pod waits for."""
    gate = Gate(WakeOn(Resource.POD, Action.DELETE, skip_it))
    scene = Scene(gate, listener("Fit", WakeOn(Resource.POD, Action.DELETE, queue_it)))
    scene.add("p")
    queued = scene.pop()
    gate.shut.add("p")
    scene.event(POD_DELETE)
    scene.turn_down(queued, "Fit")
    assert scene.where("p") is Place.GATED
    gate.shut.clear()
    scene.event(POD_DELETE)
    assert scene.where("p") is Place.BACKOFF


def test_gates_are_asked_before_the_backoff_and_not_after() -> None:
    gate = Gate()
    scene = Scene(gate)
    scene.add("p")
    scene.break_down(scene.pop())
    gate.asked.clear()
    scene.pass_time(2)
    assert (scene.where("p"), gate.asked) == (Place.ACTIVE, [])


def test_a_gate_that_raises_keeps_the_pod_out() -> None:
    class Broken(Gate):
        def pre_enqueue(self, pod: PodInfo) -> None:
            raise OSError("no answer")

    scene = Scene(Broken())
    scene.add("p")
    assert scene.where("p") is Place.GATED


def test_the_gate_that_is_shut_is_asked_first() -> None:
    class Second(Gate):
        name = "Second"

    first, second = Gate(), Second(ON_NODE_ADD)
    scene = Scene(first, second)
    second.shut.add("p")
    scene.add("p")
    assert first.asked == ["p"]
    scene.event(NODE_ADD)
    assert (first.asked, second.asked) == (["p"], ["p", "p"])


def test_gates_are_timed() -> None:
    times = iter(range(100))
    scene = Scene()
    profile = make_profile()
    scene.queue = SchedulingQueue(
        {profile.name: profile}, metrics=scene.metrics, timer=lambda: float(next(times))
    )
    scene.add("p", gated("q"))
    timed = [each for each in scene.metrics.instruments if each.spec is EXTENSION_POINT_DURATION]
    assert isinstance(timed[0], HistogramVec)
    assert {labels: cells[-1] for labels, cells in timed[0].cells.items()} == {
        ("PreEnqueue", "Success", "default-scheduler"): 1.0,
        ("PreEnqueue", "UnschedulableAndUnresolvable", "default-scheduler"): 1.0,
    }


# --- news of the pod itself --------------------------------------------------------------------------------------------


def own_news(pod: PodInfo, old: Pod | None, new: Pod | None) -> Hint:
    return Hint.QUEUE if new is not None and new.uid == pod.uid else Hint.SKIP


@pytest.mark.parametrize(
    ("action", "after", "wakes"),
    [
        pytest.param(Action.UPDATE_POD_LABEL, make_pod("p").label("a", "b"), True, id="label"),
        pytest.param(
            Action.UPDATE_POD_TOLERATION, make_pod("p").label("a", "b"), False, id="other"
        ),
        pytest.param(
            Action.UPDATE_POD_TOLERATION, make_pod("p").tolerate("x"), True, id="tolerates"
        ),
        pytest.param(Action.UPDATE, make_pod("p").annotation("a", "b"), True, id="something"),
        pytest.param(Action.UPDATE, make_pod("p").label("a", "b"), True, id="a case of it"),
        pytest.param(
            Action.UPDATE_POD_LABEL, make_pod("p").annotation("a", "b"), False, id="vague"
        ),
    ],
)
def test_news_of_the_pod_itself(action: Action, after: Any, *, wakes: bool) -> None:
    scene = Scene(listener("Fit", WakeOn(Resource.POD, action, own_news)))
    scene.park("p", "Fit")
    scene.queue.update(scene.info(after), scene.now)
    assert scene.where("p") is (Place.ACTIVE if wakes else Place.UNSCHEDULABLE)
    assert scene.queue.audit() == []


def test_a_pod_that_asks_for_less_may_fit() -> None:
    scene = Scene(listener("Fit", WakeOn(Resource.POD, Action.UPDATE_POD_SCALE_DOWN, own_news)))
    scene.park(make_pod("p").requests(cpu="2"), "Fit")
    scene.queue.update(scene.info(make_pod("p").requests(cpu="3")), scene.now)
    assert scene.where("p") is Place.UNSCHEDULABLE
    scene.queue.update(scene.info(make_pod("p").requests(cpu="1")), scene.now)
    assert scene.where("p") is Place.ACTIVE


def test_a_ready_pod_is_brought_up_to_date_where_it_stands(scene: Scene) -> None:
    scene.add("a", "b")
    scene.queue.update(scene.info(make_pod("a").label("x", "y")), scene.now)
    queued = scene.pop()
    assert (queued.pod.name, queued.pod.labels) == ("a", {"x": "y"})


def test_a_pod_that_backs_off_is_brought_up_to_date_where_it_stands(scene: Scene) -> None:
    scene.add("p")
    scene.break_down(scene.pop())
    scene.queue.update(scene.info(make_pod("p").label("x", "y")), scene.now)
    assert scene.where("p") is Place.BACKOFF
    scene.pass_time(2)
    assert scene.pop().pod.labels == {"x": "y"}


def test_a_change_of_priority_changes_the_turn(scene: Scene) -> None:
    scene.add("a", "b")
    scene.queue.update(scene.info(make_pod("b").priority(1)), scene.now)
    assert scene.drain() == ["b", "a"]


def test_a_pod_that_nobody_knows_is_let_in_by_an_update(scene: Scene) -> None:
    scene.queue.update(scene.info("p"), scene.now)
    assert scene.incoming() == {("active", "UnschedulablePodUpdate"): 1}


# --- being deleted -----------------------------------------------------------------------------------------------------


def test_a_deleted_pod_is_nowhere(scene: Scene) -> None:
    scene.park("parked", "Fit")
    scene.add("broken")
    scene.break_down(scene.pop())
    scene.add("ready", gated("gated"))
    for name in ("parked", "broken", "ready", "gated"):
        queued = scene.queue.get(f"default/{name}")
        assert queued is not None
        scene.queue.remove(f"default/{name}", "another uid", scene.now)
        assert scene.where(name) is not Place.OUT
        scene.queue.remove(f"default/{name}", queued.pod.uid, scene.now)
        assert scene.where(name) is Place.OUT
    assert not list(scene.queue.pods())
    assert scene.queue.unschedulable_by_plugin() == {}
    assert scene.queue.audit() == []


# --- being called ------------------------------------------------------------------------------------------------------


def test_a_pod_is_activated_from_wherever_it_waits(scene: Scene) -> None:
    parked = scene.park("parked", "Never")
    scene.add("broken")
    broken = scene.pop()
    scene.break_down(broken)
    scene.queue.activate([parked.pod, broken.pod, scene.info("stranger")], scene.now)
    assert (scene.where("parked"), scene.where("broken")) == (Place.ACTIVE, Place.ACTIVE)
    assert scene.where("stranger") is Place.OUT
    assert scene.incoming()["active", "ForceActivate"] == 2


def test_a_pod_that_is_activated_while_it_is_out_comes_back_the_sooner(scene: Scene) -> None:
    scene.add("p", "other")
    p, other = scene.pop(), scene.pop()
    scene.queue.activate([p.pod], scene.now)
    scene.turn_down(p, "Never")
    scene.turn_down(other, "Never")
    assert (scene.where("p"), scene.where("other")) == (Place.BACKOFF, Place.UNSCHEDULABLE)


def test_a_gated_pod_is_not_forced_in(scene: Scene) -> None:
    scene.add(gated("p"))
    scene.queue.activate([scene.info(gated("p"))], scene.now)
    assert scene.where("p") is Place.GATED


# --- being forgotten by all events -------------------------------------------------------------------------------------


def test_a_pod_that_nothing_woke_is_tried_again_after_five_minutes(scene: Scene) -> None:
    scene.queue.flush(scene.now)
    queued = scene.park("p", "Never")
    for _ in range(9):
        scene.pass_time(30)
        assert scene.where("p") is Place.UNSCHEDULABLE
    scene.pass_time(30)
    assert scene.where("p") is Place.ACTIVE
    assert queued.was_flushed
    assert scene.incoming()["active", "UnschedulableTimeout"] == 1
    scene.turn_down(scene.pop(), "Never")
    assert not queued.was_flushed


def test_a_gated_pod_is_asked_again_after_five_minutes_and_not_each_time_after() -> None:
    gate = Gate()
    scene = Scene(gate)
    gate.shut.add("p")
    scene.queue.flush(scene.now)
    scene.add("p")
    gate.asked.clear()
    for _ in range(11):
        scene.pass_time(30)
    assert gate.asked == ["p"]
    for _ in range(9):
        scene.pass_time(30)
    assert gate.asked == ["p"]
    scene.pass_time(60)
    assert gate.asked == ["p", "p"]


def test_the_next_look_is_when_a_backoff_ends_or_the_sweep_is_due(scene: Scene) -> None:
    assert scene.queue.next_deadline() is None
    scene.queue.flush(100.0)
    scene.park("p", "Never")
    assert scene.queue.next_deadline() == 130.0
    scene.add("q")
    scene.now = 112.0
    scene.break_down(scene.pop())
    assert scene.queue.next_deadline() == 114.0


def test_a_wildcard_wakes_all(scene: Scene) -> None:
    scene.park("a", "Never")
    scene.park("b", "Fit")
    scene.event(ClusterEvent.unschedulable_timeout())
    assert scene.queue.pending()["active"] == 2


# --- profiles ----------------------------------------------------------------------------------------------------------


def test_each_profile_s_plugins_wake_its_own_pods() -> None:
    keen = make_profile(listener("Fit", ON_NODE_ADD), name="keen")
    lazy = make_profile(listener("Fit"), name="lazy")
    scene = Scene()
    scene.queue = SchedulingQueue({"keen": keen, "lazy": lazy})
    for name in ("keen", "lazy"):
        scene.queue.add(scene.info(make_pod(name).scheduler(name)), scene.now)
        scene.queue.requeue(scene.pop(), scene.now, Rejection(frozenset({"Fit"})))
    scene.now += 11
    scene.event(NODE_ADD)
    assert (scene.where("keen"), scene.where("lazy")) == (Place.ACTIVE, Place.UNSCHEDULABLE)
    assert scene.queue.unschedulable_by_plugin() == {("Fit", "keen"): 1, ("Fit", "lazy"): 1}


def gated(name: str, *gates: str) -> Any:
    """A pod with scheduling gates."""
    pod = make_pod(name)
    pod.manifest["spec"]["schedulingGates"] = [{"name": gate} for gate in gates or ("wait",)]
    return pod


def test_how_long_the_oldest_pod_of_each_queue_has_waited(scene: Scene) -> None:
    assert scene.queue.longest_waits(scene.now) == {
        "active": 0,
        "backoff": 0,
        "unschedulable": 0,
        "gated": 0,
    }
    scene.add(gated("held"))
    scene.park("refused", "Listener")  # and 11 seconds later:
    scene.add("young")
    scene.now += 5
    waits = scene.queue.longest_waits(scene.now)
    assert waits == {"active": 5, "backoff": 0, "unschedulable": 16, "gated": 16}
    # Tried again it is as old as before: what counts is when it could have been scheduled.
    scene.event(NODE_ADD)
    scene.queue.activate([scene.info("refused")], scene.now)
    assert scene.queue.longest_waits(scene.now)["active"] == 16
