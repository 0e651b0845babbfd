"""Fault cases 1 to 10: a binding is refused, its answer is lost, or the world has changed under it.

The API server is made to be slow with the binding; in the meantime something happens that the watch does not tell.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bayplan.app.process import Process
from bayplan.embedded.faults import Fault
from bayplan.testing import PodBuilder, make_node
from tests.integration.plugins import profile
from tests.integration.rig import Obj, Rig, counted_on, make_pod, on_rig


@asynccontextmanager
async def binding_under_way(rig: Rig, pod: PodBuilder, *, seen: bool = False) -> AsyncIterator[str]:
    """A scheduler whose request to bind this pod is with the API server, and not carried out before the block ends.

    Yields the node. Unless ``seen``, nothing of what happens in the block is told by the watch.
    """
    slow = rig.api.faults.add(Fault("create", "pods/binding", pod.name, times=1, delay_s=5))
    async with rig.scheduler() as process:
        rig.add(pod)
        await rig.until(lambda: slow.met)
        if not seen:
            rig.api.faults.freeze_watches("pods")
        yield counted_on(process, pod.name)


def conflicts(process: Process) -> dict[str, float]:
    values = process.around.metrics._bind_conflicts.values
    return {kind: count for (kind,), count in values.items()}


def test_case_01_already_assigned_to_the_same_node(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"), make_node("b"))
        async with binding_under_way(rig, make_pod("web")) as node:
            rig.bind("web", node)
            await rig.until(lambda: rig.notes("Scheduled"))
            await rig.pass_s(120)
        assert rig.notes("FailedScheduling") == []

    on_rig(scenario, tmp_path)


def test_case_02_bound_to_another_node_by_somebody_else(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"), make_node("b"))
        slow = rig.api.faults.add(Fault("create", "pods/binding", "web", times=1, delay_s=5))
        async with rig.scheduler() as process:
            rig.add(make_pod("web").requests(cpu="4"))
            await rig.until(lambda: slow.met)
            rig.api.faults.freeze_watches("pods")
            chosen = counted_on(process, "web")
            real = "b" if chosen == "a" else "a"
            rig.bind("web", real)
            await rig.until(lambda: counted_on(process, "web") == real)
            assert conflicts(process) == {"assigned": 1}
            assert sum(process.scheduler.board.queue.pending().values()) == 0
            rig.api.faults.thaw_watches()
            # The room on the node that was chosen is free again.
            rig.add(make_pod("next").requests(cpu="4"))
            await rig.until_bound("next")
            assert rig.node_of("next") == chosen
        assert rig.notes("FailedScheduling") == []
        assert len(rig.notes("Scheduled")) == 1

    on_rig(scenario, tmp_path)


def test_case_03_a_pod_that_is_being_deleted(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        going = make_pod("going").requests(cpu="3")
        going.manifest["metadata"]["finalizers"] = ["example.com/wait"]
        async with binding_under_way(rig, going):
            rig.api.faults.thaw_watches()
            rig.add(make_pod("next").requests(cpu="3"))
            await rig.until(lambda: rig.condition("next"))
            rig.api.faults.freeze_watches("pods")
            rig.delete("pods", "going")
            # Its room wakes whoever waits for it.
            await rig.until_bound("next", within_s=60)
        assert rig.node_of("going") == ""

    on_rig(scenario, tmp_path)


def test_case_03_a_pod_that_is_gated(tmp_path: Path) -> None:
    def gate(pod: Obj) -> None:
        pod["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]

    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with binding_under_way(rig, make_pod("gated").requests(cpu="3")):
            rig.change("pods", "gated", gate)
            await rig.pass_s(20)
            rig.api.faults.thaw_watches()
            rig.add(make_pod("next").requests(cpu="3"))
            await rig.until_bound("next")
            rig.delete("pods", "next")
            assert rig.node_of("gated") == ""
            rig.change("pods", "gated", lambda pod: pod["spec"].pop("schedulingGates"))
            await rig.until_bound("gated")

    on_rig(scenario, tmp_path)


def test_case_04_the_pod_is_gone(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        patches = rig.count("patch", "pods/status")
        async with binding_under_way(rig, make_pod("web").requests(cpu="3")):
            rig.delete("pods", "web")
            await rig.pass_s(20)
            rig.api.faults.thaw_watches()
            rig.add(make_pod("next").requests(cpu="3"))
            await rig.until_bound("next")
        assert patches.met == 0
        assert rig.notes("FailedScheduling") == []

    on_rig(scenario, tmp_path)


def test_case_01_and_05_a_binding_whose_answer_is_lost(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        fault = rig.api.faults.add(Fault("create", "pods/binding", times=1, lose_answer=True))
        async with rig.scheduler():
            rig.add(make_pod("web"))
            await rig.until_bound("web")
            await rig.until(lambda: rig.notes("Scheduled"))
        assert fault.met == 1
        assert rig.notes("FailedScheduling") == []

    on_rig(scenario, tmp_path)


@pytest.mark.parametrize("applied", [True, False], ids=["applied", "not applied"])
def test_case_05_as_long_as_nobody_knows_the_room_stays_taken(
    tmp_path: Path, *, applied: bool
) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        # A kept connection that breaks is made anew at once; the second time it is no accident.
        lost = Fault("create", "pods/binding", "web", times=1 if applied else 2, delay_s=5)
        lost.lose_answer, lost.lose_request = applied, not applied
        rig.api.faults.add(lost)
        async with rig.scheduler() as process:
            rig.add(make_pod("web").requests(cpu="3"))
            await rig.until(lambda: lost.met)
            rig.add(make_pod("next").requests(cpu="3"))
            await rig.until(lambda: rig.condition("next"))
            rig.api.faults.freeze_watches("pods")
            looks = rig.api.faults.refuse("get", "pods", status=503)
            await rig.pass_s(80)
            assert looks.met > 3
            assert counted_on(process, "web") == "a"
            assert rig.node_of("next") == ""
            rig.api.faults.clear()
            rig.api.faults.thaw_watches()
            await rig.until_bound("web")
        assert rig.node_of("next") == ""

    on_rig(scenario, tmp_path)


@pytest.mark.parametrize("status", [429, 500, 503, 504])
def test_case_06_a_binding_that_is_refused_for_now(tmp_path: Path, status: int) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        fault = rig.api.faults.refuse(
            "create", "pods/binding", status=status, retry_after_s=1, times=12
        )
        async with rig.scheduler() as process:
            rig.add(make_pod("web").requests(cpu="3"))
            await rig.until(lambda: fault.met == 2)
            # It is asked again on the spot, and the room is kept meanwhile.
            assert counted_on(process, "web") == "a"
            assert rig.notes("FailedScheduling") == []
            await rig.until_bound("web")

    on_rig(scenario, tmp_path)


def test_case_07_bindings_are_forbidden_for_a_while(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        fault = rig.api.faults.refuse("create", "pods/binding", status=403)
        async with rig.scheduler() as process:
            rig.add(make_pod("web"))
            await rig.until(lambda: rig.condition("web"))
            assert rig.condition("web")["reason"] == "SchedulerError"
            await rig.until(lambda: rig.clock.monotonic() > 60)
            # It backs off, and knocks a few times a minute at most.
            assert fault.met < 15
            assert conflicts(process) == {"forbidden": fault.met}
            rig.api.faults.clear()
            await rig.until_bound("web")

    on_rig(scenario, tmp_path)


def test_case_08_another_pod_of_the_same_name(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with binding_under_way(rig, make_pod("web").requests(cpu="3")):
            first = rig.pod("web")["metadata"]["uid"]
            rig.add(make_node("large").capacity(cpu="8"))
            rig.delete("pods", "web")
            rig.add(make_pod("web").requests(cpu="6"))
            await rig.until_bound("web")
            assert rig.node_of("web") == "large"
        assert rig.nodes_of[first] == []

    on_rig(scenario, tmp_path)


def test_case_09_a_pod_deleted_before_it_is_bound_makes_room_at_once(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with binding_under_way(rig, make_pod("web").requests(cpu="3"), seen=True):
            rig.add(make_pod("next").requests(cpu="3"))
            await rig.until(lambda: rig.condition("next"))
            rig.delete("pods", "web")
            # Long before the API server has refused the binding, and after no more than a backoff.
            await rig.until_bound("next", within_s=3)

    on_rig(scenario, tmp_path)


def test_case_10_the_node_is_deleted_before_the_pod_is_bound(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        bindings = rig.count("create", "pods/binding")
        async with rig.scheduler(config=profile("Held")) as process:
            waiting = process.scheduler.board.waiting
            rig.add(make_pod("web").annotation("hold", "600"))
            await rig.until(lambda: len(waiting))
            rig.delete("nodes", "a")
            await rig.until(lambda: process.scheduler.board.cluster.nodes.alive_count == 0)
            for pod in waiting:
                pod.allow("Held")
            await rig.until(lambda: rig.condition("web"))
            assert rig.condition("web")["message"] == 'node "a" not found'
            assert bindings.met == 0
            rig.delete("pods", "web")

    on_rig(scenario, tmp_path)


def test_case_10_and_11_a_node_goes_and_another_of_its_name_comes(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"), make_pod("first").requests(cpu="3"))
        async with rig.scheduler() as process:
            await rig.until_bound("first")
            rig.delete("nodes", "a")
            rig.add(make_node("a").capacity(cpu="8"), make_pod("second").requests(cpu="4"))
            await rig.until_bound("second")
            rig.add(make_pod("third").requests(cpu="4"))
            await rig.until(lambda: rig.condition("third"))
            rig.delete("pods", "first")
            await rig.until_bound("third")
            assert process.scheduler.audit() == []

    on_rig(scenario, tmp_path)
