"""A scheduler in a cluster in which nothing goes wrong, and one that is to write nothing."""

from __future__ import annotations

from pathlib import Path

from bayplan.testing import make_node
from tests.integration.rig import Rig, make_pod, on_rig


def test_all_is_well(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"), make_node("b"), make_pod("one").requests(cpu="3"))
        async with rig.scheduler():
            await rig.until_bound("one")
            rig.add(make_pod("two").requests(cpu="3"), make_pod("three").requests(cpu="3"))
            await rig.until_bound("two")
            await rig.until(lambda: rig.condition("three"))
            assert {rig.node_of("one"), rig.node_of("two")} == {"a", "b"}
            assert rig.condition("three")["reason"] == "Unschedulable"
            await rig.until(lambda: len(rig.notes("Scheduled")) == 2)

    on_rig(scenario, tmp_path)


def test_a_dry_run_writes_nothing_at_all(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with rig.scheduler(dry_run=True) as process:
            rig.add(make_pod("fits"), make_pod("big").requests(cpu="64"))
            before = rig.api.store.version
            ring = process.scheduler.counters["default-scheduler"].desk.ring
            await rig.until(lambda: len(ring) >= 2)
            await rig.until(lambda: rig.clock.monotonic() > 30)
            assert rig.api.store.version == before

    on_rig(scenario, tmp_path)
