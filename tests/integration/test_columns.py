"""Fault cases 11 to 14, 27 and 38: what the watches tell of pods and nodes, in whatever order, ends as the API has it."""

from __future__ import annotations

import json
from pathlib import Path

from bayplan.app.process import Process
from bayplan.embedded.faults import Fault
from bayplan.testing import make_node
from tests.integration.rig import Obj, Rig, counted_on, make_pod, on_rig


def line(kind: str, obj: Obj) -> bytes:
    """One event of a watch."""
    return json.dumps({"type": kind, "object": obj}).encode() + b"\n"


def nodes_of(process: Process) -> set[str]:
    """The nodes that the scheduler knows."""
    nodes = process.scheduler.board.cluster.nodes
    return {name for name, row in nodes.row_of.items() if nodes.records[row] is not None}


def test_case_11_a_node_of_the_same_name_has_nothing_of_the_old_one(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        old = make_node("a").capacity({"cpu": "8", "example.com/gpu": "4"}).zone("x").taint("t")
        rig.add(old, make_pod("first").requests(cpu="3").tolerate("t"))
        async with rig.scheduler():
            await rig.until_bound("first")
            rig.delete("pods", "first")
            rig.delete("nodes", "a")
            rig.add(make_node("a").capacity(cpu="2"))
            rig.add(make_pod("fits").requests(cpu="2"))
            await rig.until_bound("fits")
            rig.add(make_pod("gpu").requests({"example.com/gpu": "1"}))
            await rig.until(lambda: rig.condition("gpu"))
            assert "Insufficient example.com/gpu" in rig.condition("gpu")["message"]

    on_rig(scenario, tmp_path)


def test_case_12_a_node_goes_before_its_pods_or_after_them(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"), make_node("b"))
        rig.add(*(make_pod(f"{node}{i}").requests(cpu="1").on(node) for node in "ab" for i in "12"))
        async with rig.scheduler() as process:
            await rig.until(lambda: process.synced)
            cluster = process.scheduler.board.cluster
            rig.delete("nodes", "a")
            await rig.until(lambda: nodes_of(process) == {"b"})
            for name in ("b1", "b2", "a1", "a2"):
                assert counted_on(process, name) == name[0]
                rig.delete("pods", name)
            await rig.until(lambda: not len(cluster.pods))
            rig.delete("nodes", "b")
            await rig.until(lambda: not nodes_of(process))
            assert not cluster.nodes.row_of
            assert not any(column.data.any() for column in cluster.nodes.requested)

    on_rig(scenario, tmp_path)


def test_case_13_a_pod_on_a_node_that_nobody_has_told_of(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a").capacity(cpu="1"))
        async with rig.scheduler() as process:
            await rig.until(lambda: process.synced)
            rig.api.faults.freeze_watches("nodes")
            rig.add(make_node("late"), make_pod("first").requests(cpu="3").on("late"))
            await rig.until(lambda: counted_on(process, "first") == "late")
            rig.add(make_pod("next").requests(cpu="2"))
            await rig.until(lambda: rig.condition("next"))
            assert rig.condition("next")["message"].startswith("0/1 nodes are available")
            rig.api.faults.thaw_watches()
            # The node comes with the pod on it: there is no room for two CPUs more.
            await rig.until(lambda: "0/2 nodes" in rig.condition("next")["message"])
            rig.delete("pods", "first")
            await rig.until_bound("next")

    on_rig(scenario, tmp_path)


def test_case_14_events_that_come_twice_or_late(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with rig.scheduler() as process:
            rig.add(make_pod("web").requests(cpu="3"), make_pod("gone").requests(cpu="1"))
            await rig.until_bound("web", "gone")
            gone, node = rig.pod("gone"), dict(rig.api.store.get("nodes", "a", ""))
            rig.delete("pods", "gone")
            web = rig.pod("web")
            for kind in ("ADDED", "MODIFIED", "MODIFIED"):
                rig.api.faults.send(line(kind, web), "pods")
                rig.api.faults.send(line(kind, node), "nodes")
            rig.api.faults.send(line("DELETED", gone) * 2, "pods")
            rig.add(make_pod("next").requests(cpu="1"))
            await rig.until_bound("next")
            rig.add(make_pod("big").requests(cpu="1"))
            await rig.until(lambda: rig.condition("big"))
            assert rig.node_of("big") == ""
            assert process.scheduler.audit() == []

    on_rig(scenario, tmp_path)


def test_case_27_a_column_is_wrong(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"), make_pod("web").requests(cpu="1"))
        async with rig.scheduler() as process:
            await rig.until_bound("web")
            nodes = process.scheduler.board.cluster.nodes
            column = nodes.requested[nodes.resources.id("cpu")].data
            column[nodes.row_of["a"]] += 7
            process.compare_soon()
            found = process.around.metrics._differences.values
            await rig.until(lambda: found)
            assert found == {("node sums",): 1, ("recount",): 1}
            column[nodes.row_of["a"]] -= 7

    on_rig(scenario, tmp_path)


def test_case_38_a_node_is_tainted_while_a_pod_is_on_its_way(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with rig.scheduler():
            fault = rig.api.faults.add(Fault("create", "pods/binding", times=1, delay_s=1.0))
            rig.add(make_pod("first"))
            await rig.until(lambda: fault.met)
            taint = {"key": "x", "effect": "NoSchedule"}
            rig.api.store.mutate("nodes", "a", lambda node: node["spec"].update(taints=[taint]))
            rig.add(make_pod("second"))
            await rig.until_bound("first")
            await rig.until(lambda: rig.condition("second"))
            assert "untolerated taint" in rig.condition("second")["message"]

    on_rig(scenario, tmp_path)
