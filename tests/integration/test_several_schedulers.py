"""Several bayplans on one cluster: a standby serves a profile while its own scheduler is gone; races for room are lost by one."""

from __future__ import annotations

from pathlib import Path

from bayplan.embedded.faults import Fault
from bayplan.testing import make_node
from bayplan.testing.builders import PodBuilder
from tests.integration.rig import Obj, Rig, make_pod, on_rig


def election(name: str) -> Obj:
    return {"leaderElect": True, "resourceName": name, "resourceNamespace": "kube-system"}


OWNER: Obj = {"leaderElection": election("bayplan-batch"), "profiles": [{"schedulerName": "batch"}]}
STANDBY: Obj = {
    "leaderElection": election("bayplan-main"),
    "profiles": [{"schedulerName": "main"}, {"schedulerName": "batch"}],
    "own": {"standby": [{"schedulerName": "batch"}]},
}


def batch(name: str) -> PodBuilder:
    return make_pod(name).scheduler("batch").requests(cpu="100m")


def test_a_standby_serves_while_the_owner_is_gone_and_gives_back(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"), make_node("b"))
        async with rig.scheduler(config=STANDBY) as standby:
            await rig.until(lambda: standby.elector is not None and standby.elector.is_leader)
            async with rig.doomed(OWNER) as owner:
                rig.add(batch("first"), make_pod("own").scheduler("main"))
                await rig.until_bound("first", "own", within_s=10)
                await rig.pass_s(60)
                assert not standby.stand_ins.may_serve("batch")
                assert standby.stand_ins.may_serve("main")
                assert owner.scheduler.pods.turns.is_ours("batch")
            gone_at = rig.clock.monotonic()
            rig.add(batch("second"))
            await rig.until_bound("second", within_s=30)
            assert rig.clock.monotonic() - gone_at > 10  # not before the lease has lapsed
            assert standby.stand_ins.may_serve("batch")
            async with rig.scheduler(config=OWNER) as owner:
                await rig.until(lambda: not standby.stand_ins.may_serve("batch"), 30)
                rig.add(batch("third"))
                await rig.until_bound("third", within_s=10)
                assert standby.scheduler.board.queue.get("default/third") is None
                assert "default/third" not in standby.scheduler.pods.pending
            # It left in good order, so that its lease is free at once.
            rig.add(batch("fourth"))
            await rig.until_bound("fourth", within_s=10)

    on_rig(scenario, tmp_path)


def test_pods_that_wait_change_hands(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a").capacity(cpu="1"))
        large = make_pod("large").scheduler("batch").requests(cpu="3")
        async with rig.scheduler(config=STANDBY) as standby:
            rig.add(large)
            await rig.until(lambda: rig.condition("large"), 60)
            assert standby.stand_ins.may_serve("batch")
            async with rig.scheduler(config=OWNER):
                await rig.until(lambda: not standby.scheduler.pods.pending, 30)
                rig.add(make_node("b").capacity(cpu="8"))
                await rig.until_bound("large", within_s=30)
            assert standby.scheduler.audit() == []

    on_rig(scenario, tmp_path)


def test_bindings_under_way_end_before_the_owner_decides(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        names = [f"p{number}" for number in range(8)]
        async with rig.scheduler(config=STANDBY) as standby:
            await rig.until(lambda: standby.stand_ins.may_serve("batch"), 60)
            rig.api.faults.add(Fault("create", "pods/binding", delay_s=8.0, times=8))
            rig.add(*map(batch, names))
            await rig.until(lambda: standby.scheduler.binder.running == len(names))
            async with rig.scheduler(config=OWNER) as owner:
                await rig.until(lambda: owner.elector is not None and owner.elector.is_leader, 30)
                rig.add(batch("late"))
                await rig.until_bound("late", *names, within_s=60)
        # Each was asked for once: nobody tried to bind what the other was binding.
        assert len(rig.notes("Scheduled")) == len(names) + 1
        assert rig.notes("FailedScheduling") == []

    on_rig(scenario, tmp_path)


def test_a_standby_that_cannot_see_the_lease_does_not_take_over(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        rig.api.faults.refuse("get", "leases", status=503, times=10**6)
        config = STANDBY | {"leaderElection": {"leaderElect": False}}
        async with rig.scheduler(config=config) as standby:
            rig.add(batch("one"))
            await rig.pass_s(120)
            assert rig.node_of("one") == ""
            assert not standby.stand_ins.may_serve("batch")

    on_rig(scenario, tmp_path)


def test_a_node_that_somebody_else_fills_meanwhile(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a").capacity(cpu="4"))
        config = {"own": {"coordination": {"yieldFor": "200ms"}}}
        async with rig.scheduler(config=config) as process:
            rig.add(
                make_pod("ours").requests(cpu="3"),
                make_pod("theirs").scheduler("x").requests(cpu="3"),
            )
            await rig.until(lambda: process.scheduler.binder.running == 1)
            rig.bind("theirs", "a")
            await rig.until(lambda: rig.condition("ours"))
            assert "filled by another scheduler" in rig.condition("ours")["message"]
            metrics = process.around.metrics
            assert metrics._bind_conflicts.values == {("room",): 1}
            await rig.until(lambda: "Insufficient cpu" in rig.condition("ours")["message"])
            rig.delete("pods", "theirs")
            await rig.until_bound("ours")

    on_rig(scenario, tmp_path)
