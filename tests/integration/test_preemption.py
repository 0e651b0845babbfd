"""Fault cases 39 to 41: preemption, when its parties come, go and stay as they like."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayplan.embedded.faults import Fault, refusal_of
from bayplan.testing import make_node
from tests.integration.rig import HIGH, LOW, Obj, Rig, counted_on, make_pod, on_rig


def test_case_39_the_preemptor_is_deleted_while_its_victim_goes(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with rig.scheduler() as process:
            rig.add(make_pod("low", LOW).requests(cpu="3"))
            await rig.until_bound("low")
            rig.add(make_pod("high", HIGH).requests(cpu="3"))
            await rig.until(rig.leaving)
            rig.delete("pods", "high")
            rig.add(make_pod("other", LOW).requests(cpu="3"))
            rig.delete("pods", "low")
            await rig.until_bound("other")
            assert len(process.scheduler.board.cluster.nominations) == 0

    on_rig(scenario, tmp_path)


@pytest.mark.parametrize("verb", ["delete", "patch"])
def test_case_40_an_eviction_fails(tmp_path: Path, verb: str) -> None:
    resource = "pods" if verb == "delete" else "pods/status"

    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with rig.scheduler():
            rig.add(*(make_pod(f"low{i}", LOW).requests(cpu="1") for i in range(3)))
            await rig.until_bound("low0", "low1", "low2")
            fault = rig.api.faults.refuse(verb, resource, status=403, times=3)
            rig.add(make_pod("high", HIGH).requests(cpu="4"))
            await rig.until(lambda: fault.met == 3)
            # Kubelets would end them; here deletions just wait to be finished.
            for _ in range(3):
                await rig.until(lambda: rig.leaving() or rig.node_of("high"))
                for name in rig.leaving():
                    rig.delete("pods", name)
            await rig.until_bound("high")

    on_rig(scenario, tmp_path)


@pytest.mark.parametrize("victims", [1, 2])
def test_case_39_the_victims_end_by_themselves(tmp_path: Path, victims: int) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        names = [f"low{number}" for number in range(victims)]
        async with rig.scheduler() as process:
            rig.add(*(make_pod(name, LOW).requests(cpu=str(4 // victims)) for name in names))
            await rig.until_bound(*names)
            # Evictions take their time, and those who are to go are faster.
            rig.api.faults.add(Fault("patch", "pods/status", delay_s=5))
            rig.add(make_pod("high", HIGH).requests(cpu="4"))
            await rig.until(lambda: process.scheduler.evictor.running)
            for name in names:
                rig.change("pods", name, lambda pod: pod["status"].update(phase="Succeeded"))
            await rig.until_bound("high", within_s=30)
            await rig.until(lambda: not process.scheduler.evictor.running)
            assert len(process.scheduler.board.cluster.nominations) == 0

    on_rig(scenario, tmp_path)


def test_case_40_the_last_victim_is_spared_when_another_cannot_be_evicted(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with rig.scheduler():
            names = ["low0", "low1", "low2"]
            rig.add(*(make_pod(name, LOW).requests(cpu="1") for name in names))
            await rig.until_bound(*names)
            deletions = [rig.api.faults.add(Fault("delete", "pods", name)) for name in names]
            for fault in deletions[:2]:
                fault.refusal = refusal_of(500)
            rig.add(make_pod("high", HIGH).requests(cpu="4"))
            await rig.pass_s(60)
            refused = sum(fault.met for fault in deletions[:2])
            # It is tried again and again, though more and more slowly; one of the three is never asked for.
            assert 4 <= refused < 60
            assert sum(fault.met == 0 for fault in deletions) <= 1
            rig.api.faults.clear()
            while not rig.node_of("high"):
                for name in rig.leaving():
                    rig.delete("pods", name)
                await rig.pass_s(1)

    on_rig(scenario, tmp_path)


def test_case_41_a_victim_that_takes_an_hour_to_go(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        low = make_pod("low", LOW).requests(cpu="3").label("app", "db")
        low.manifest["spec"]["terminationGracePeriodSeconds"] = 3600
        low.manifest["metadata"]["finalizers"] = ["example.com/wait"]
        budget: Obj = {
            "metadata": {"name": "db", "namespace": "default"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}},
        }
        rig.api.store.create("poddisruptionbudgets.policy", budget)
        async with rig.scheduler() as process:
            rig.add(low)
            await rig.until_bound("low")
            deletions = rig.count("delete", "pods")
            rig.add(make_pod("high", HIGH).requests(cpu="3"))
            await rig.until(rig.leaving)
            nominations = process.scheduler.board.cluster.nominations
            assert nominations.node_of("default/high") == "a"
            rig.add(make_pod("other", LOW).requests(cpu="3"))
            for _ in range(12):
                # Whatever happens meanwhile wakes those who wait.
                rig.change(
                    "nodes",
                    "a",
                    lambda node: node["metadata"]["labels"].update(x=str(rig.clock.now())),
                )
                await rig.pass_s(290)
            assert deletions.met == 1
            assert nominations.node_of("default/high") == "a"
            assert rig.pod("high")["status"]["nominatedNodeName"] == "a"
            rig.change("pods", "low", lambda pod: pod["metadata"].pop("finalizers"))
            rig.delete("pods", "low")
            await rig.until_bound("high")
            assert counted_on(process, "high") == "a"
            assert rig.node_of("other") == ""

    on_rig(scenario, tmp_path)
