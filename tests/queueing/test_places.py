"""Members of a group in the queue: they leave it together, and come in when there are enough."""

from __future__ import annotations

from bayplan import PodInfo, PreEnqueuePlugin, Rejected
from bayplan.framework.status import unresolvable
from bayplan.model.pod_group import GroupKey
from bayplan.queueing.entry import Place
from bayplan.testing import PodBuilder, make_pod
from tests.queueing.scene import Scene, listener

LABEL = "scheduling.x-k8s.io/pod-group"
KEY = GroupKey("default", "train")


class GangScheduling(PreEnqueuePlugin):
    """Shut until told otherwise."""

    is_open = True

    def pre_enqueue(self, pod: PodInfo) -> Rejected | None:
        return None if self.is_open or pod.group is None else unresolvable("too few")


def worker(name: str, priority: int = 0, group: str = "train") -> PodBuilder:
    return make_pod(name).label(LABEL, group).priority(priority)


def pull(scene: Scene) -> list[str]:
    first = scene.pop()
    siblings = scene.queue.pop_group(first, scene.now)
    assert scene.queue.audit() == []
    return [queued.pod.name for queued in (first, *siblings)]


def test_siblings_leave_together_wherever_they_wait_and_others_stay() -> None:
    scene = Scene(listener("Fit"))
    scene.park(worker("parked"), "Fit")
    scene.add(worker("backing-off"))
    scene.break_down(scene.pop())
    scene.add("single", worker("rival", group="other"), worker("ready", priority=5))
    assert scene.where("parked") is Place.UNSCHEDULABLE
    assert scene.where("backing-off") is Place.BACKOFF
    assert pull(scene) == ["ready", "parked", "backing-off"]
    assert scene.drain() == ["single", "rival"]


def test_they_come_in_the_order_of_the_queue() -> None:
    scene = Scene()
    scene.add(worker("low"), worker("high", 9), worker("middle", 5), worker("low-too"))
    assert pull(scene) == ["high", "middle", "low", "low-too"]


def test_members_that_come_back_wait_as_others_do() -> None:
    scene = Scene(listener("Fit"))
    scene.add(worker("a"), worker("b"))
    first = scene.pop()
    for queued in (first, *scene.queue.pop_group(first, scene.now)):
        scene.turn_down(queued, "Fit")
    assert scene.where("a") is scene.where("b") is Place.UNSCHEDULABLE
    assert scene.queue.audit() == []


def test_a_failed_group_goes_behind_others_of_its_priority() -> None:
    scene = Scene(listener("Fit"))
    scene.add(worker("a"), worker("b"))
    scene.pass_time(1)
    scene.add("later")
    first = scene.pop()
    for queued in (first, *scene.queue.pop_group(first, scene.now)):
        scene.break_down(queued)
    scene.pass_time(20)
    assert scene.drain() == ["later", "a", "b"]


def test_those_that_a_group_has_kept_waiting_are_let_in_at_once() -> None:
    gate = GangScheduling()
    scene = Scene(gate)
    gate.is_open = False
    scene.add(worker("a"), worker("b"), worker("rival", group="other"))
    assert scene.where("a") is scene.where("b") is Place.GATED
    gate.is_open = True
    scene.queue.on_group(KEY, scene.now, "PodGroupUpdate")
    assert scene.where("a") is scene.where("b") is Place.ACTIVE
    assert scene.where("rival") is Place.GATED
    assert scene.queue.audit() == []


def test_gated_members_stay_where_they_are() -> None:
    gate = GangScheduling()
    scene = Scene(gate)
    scene.add(worker("a"))
    gate.is_open = False
    scene.add(worker("b"))
    assert pull(scene) == ["a"]
    assert scene.where("b") is Place.GATED


def test_a_member_of_a_half_placed_group_goes_first() -> None:
    scene = Scene()
    scene.add(make_pod("important").priority(1000))
    scene.queue.add(scene.info(worker("missing")), scene.now, goes_first=True)
    assert scene.drain() == ["missing", "important"]


def test_a_pod_that_changes_its_group() -> None:
    scene = Scene()
    scene.add(worker("a"), worker("b"))
    scene.queue.update(scene.info(worker("b", group="other")), scene.now)
    assert scene.queue.audit() == []
    assert pull(scene) == ["a"]
    scene.queue.remove("default/b", "b", scene.now)
    assert list(scene.queue.groups()) == []
