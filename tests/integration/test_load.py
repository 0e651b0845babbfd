"""Fault cases 20, 44, 45 and 54: much at a time, for long, with an API server that is slow or says no."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayplan.cluster import carriers, counts, tallies
from bayplan.cycle import classes
from bayplan.embedded.faults import Fault
from bayplan.runtime.loop import MOST_SENDING
from bayplan.testing import make_node
from tests.integration.rig import Rig, make_pod, on_rig


def test_case_20_bindings_take_five_seconds_each(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a").capacity(cpu="64", pods="200"))
        rig.api.faults.add(Fault("create", "pods/binding", delay_s=5.0))
        names = [f"p{i}" for i in range(100)]
        async with rig.scheduler():
            rig.add(*(make_pod(name).requests(cpu="500m") for name in names))
            # On assumptions it goes on deciding meanwhile: all fit, and none is bound twice.
            await rig.until_bound(*names)

    on_rig(scenario, tmp_path)


def test_case_44_a_thousand_unschedulable_pods_do_not_keep_others_waiting(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        rig.api.faults.add(Fault("patch", "pods/status", delay_s=0.5))
        async with rig.scheduler():
            rig.add(*(make_pod(f"big{i}").requests(cpu="64") for i in range(1000)))
            await rig.until(lambda: rig.condition("big0"))
            since = rig.clock.monotonic()
            rig.add(*(make_pod(f"small{i}").requests(cpu="10m") for i in range(20)))
            await rig.until_bound(*(f"small{i}" for i in range(20)))
            # All patches together take half a minute.
            assert rig.clock.monotonic() - since < 5
            await rig.until(lambda: rig.condition("big999"))

    on_rig(scenario, tmp_path)


def test_case_45_events_cannot_be_written(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        rig.api.faults.refuse("create", "events", status=429)
        async with rig.scheduler() as process:
            names = [f"p{i}" for i in range(20)]
            rig.add(*(make_pod(name).requests(cpu="100m") for name in names))
            await rig.until_bound(*names)
            dropped = process.around.metrics._events_dropped.values
            await rig.until(lambda: sum(dropped.values()) >= 20)

    on_rig(scenario, tmp_path)


def test_case_20_there_is_a_bound_to_bindings_under_way(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a").capacity(cpu="64", pods="1000"))
        rig.api.faults.add(Fault("create", "pods/binding", delay_s=5.0))
        names = [f"p{i}" for i in range(600)]
        async with rig.scheduler() as process:
            rig.add(*(make_pod(name) for name in names))
            most = 0
            while not all(rig.node_of(name) for name in names):
                most = max(most, process.scheduler.binder.sending)
                await rig.pass_s(0.5)
            assert most == MOST_SENDING

    on_rig(scenario, tmp_path)


def test_case_35_labels_and_shapes_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is remembered of pods has a bound; here a small one."""
    for table, limit in ((classes, "AT_MOST"), (counts, "TALLIES")):
        monkeypatch.setattr(table, limit, 40)
    for table in (tallies, carriers):
        monkeypatch.setattr(table, "IDLE", 40)

    async def scenario(rig: Rig) -> None:
        rig.add(*(make_node(f"n{i}").capacity(cpu="64") for i in range(3)))
        async with rig.scheduler() as process:
            await rig.until(lambda: process.synced)
            desk = process.scheduler.counters["default-scheduler"].desk
            kept = desk.cluster.counts
            for turn in range(4):
                names = [f"t{turn}-{i}" for i in range(50)]
                for i, name in enumerate(names):
                    pod = make_pod(name).label("name", name).requests(cpu=f"{turn * 50 + i + 1}m")
                    pod.affinity({"name": name}, "kubernetes.io/hostname", anti=True)
                    rig.add(pod.spread(1, "kubernetes.io/hostname", {"name": name}))
                await rig.until_bound(*names)
                for name in names:
                    rig.delete("pods", name)
                await rig.until(lambda: not len(desk.cluster.pods))
            assert len(desk.classes) <= 40
            assert len(kept.tallies.tallies) <= 40
            assert len(kept.tallies.kins) <= 40
            assert len(kept.carriers.carriers) <= 40
            assert len(kept.carriers.interests) <= 40

    on_rig(scenario, tmp_path)


def test_case_54_pods_come_and_go_and_nodes_flap(tmp_path: Path) -> None:
    """The short form of ``bench/churn.py``: what comes and goes leaves nothing behind."""

    async def scenario(rig: Rig) -> None:
        rig.add(*(make_node(f"n{i}") for i in range(4)))
        async with rig.scheduler() as process:
            await rig.until(lambda: process.synced)
            board = process.scheduler.board
            for turn in range(30):
                names = [f"t{turn}-{i}" for i in range(10)]
                # Each of a shape and with labels of its own.
                rig.add(
                    *(
                        make_pod(name).requests(cpu=f"{turn * 10 + i + 1}m").label("name", name)
                        for i, name in enumerate(names)
                    )
                )
                await rig.until_bound(*names)
                rig.delete("nodes", f"n{turn % 4}")
                for name in names:
                    rig.delete("pods", name)
                rig.add(make_node(f"n{turn % 4}"))
            await rig.until(lambda: not len(board.cluster.pods))
            assert sum(board.queue.pending().values()) == 0
            assert not process.scheduler.pods.pending
            assert len(board.cluster.nominations) == 0
            assert len(board.cluster.nodes.row_of) == 4
            assert not any(column.data.any() for column in board.cluster.nodes.requested)

    on_rig(scenario, tmp_path)
