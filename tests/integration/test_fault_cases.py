"""The fault cases by their numbers, on the embedded API server: what goes wrong between a scheduler and its cluster.

Cases of a single module are tested beside that module, those that need a real API server in ``tests/e2e``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bayplan.embedded.faults import Fault
from bayplan.testing import make_node
from tests.integration.rig import HIGH, LOW, Obj, Rig, make_pod, on_rig

ELECTION = {"leaderElect": True, "resourceName": "mine"}


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


def test_case_1_and_5_a_binding_whose_answer_is_lost(tmp_path: Path) -> None:
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


async def until_sent(rig: Rig, fault: Fault) -> None:
    """Until a binding is on its way; it arrives a second later."""
    await rig.until(lambda: fault.met)


def late_binding(rig: Rig) -> Fault:
    return rig.api.faults.add(Fault("create", "pods/binding", times=1, delay_s=1.0))


def test_case_2_another_scheduler_was_faster(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a").capacity(cpu="8"), make_node("b"))
        async with rig.scheduler() as process:
            fault = late_binding(rig)
            rig.add(make_pod("web").requests(cpu="4"))
            await until_sent(rig, fault)
            rig.bind("web", "b")
            await rig.settled(process)
            rig.add(make_pod("next").requests(cpu="8"))
            await rig.until_bound("next")
            assert (rig.node_of("web"), rig.node_of("next")) == ("b", "a")
            assert [note for note in rig.notes("Scheduled") if "web" in note] == []

    on_rig(scenario, tmp_path)


def test_case_3_the_pod_is_on_its_way_out(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with rig.scheduler():
            fault = late_binding(rig)
            pod = make_pod("web").requests(cpu="4")
            pod.manifest["metadata"]["finalizers"] = ["example.com/stays"]
            rig.add(pod)
            await until_sent(rig, fault)
            rig.delete("pods", "web")
            rig.add(make_pod("next").requests(cpu="4"))
            await rig.until_bound("next")
            assert rig.node_of("web") == ""

    on_rig(scenario, tmp_path)


def test_case_4_and_9_the_pod_is_gone(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with rig.scheduler():
            fault = late_binding(rig)
            rig.add(make_pod("web").requests(cpu="4"))
            await until_sent(rig, fault)
            rig.delete("pods", "web")
            rig.add(make_pod("next").requests(cpu="4"))
            await rig.until_bound("next")
            assert rig.notes("FailedScheduling") == []

    on_rig(scenario, tmp_path)


def test_case_8_another_pod_has_the_name_by_now(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with rig.scheduler():
            fault = late_binding(rig)
            rig.add(make_pod("web").requests(cpu="1"))
            await until_sent(rig, fault)
            first = rig.pod("web")["metadata"]["uid"]
            rig.delete("pods", "web")
            rig.add(make_pod("web").requests(cpu="2"))
            await rig.until_bound("web")
            assert rig.nodes_of[first] == []

    on_rig(scenario, tmp_path)


@pytest.mark.parametrize("status", [429, 500, 503, 504])
def test_case_6_a_binding_that_is_refused_for_now(tmp_path: Path, status: int) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        rig.api.faults.refuse("create", "pods/binding", status=status, times=12)
        async with rig.scheduler():
            rig.add(make_pod("web"))
            await rig.until_bound("web")

    on_rig(scenario, tmp_path)


def test_case_7_bindings_are_forbidden_for_a_while(tmp_path: Path) -> None:
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
            conflicts = process.around.metrics._bind_conflicts.values
            assert conflicts[("forbidden",)] == fault.met
            rig.api.faults.clear()
            await rig.until_bound("web")

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


def test_case_15_the_history_is_gone(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"), make_node("goes"))
        rig.add(make_pod("ends").requests(cpu="4").node_selector({"kubernetes.io/hostname": "a"}))
        async with rig.scheduler():
            await rig.until_bound("ends")
            rig.api.faults.freeze_watches()
            rig.delete("pods", "ends")
            rig.delete("nodes", "goes")
            rig.api.faults.expire()
            rig.api.faults.cut_watches()
            rig.add(make_pod("next").requests(cpu="4"))
            await rig.until_bound("next")
            assert rig.node_of("next") == "a"

    on_rig(scenario, tmp_path)


def test_case_16_watches_fall_silent(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with rig.scheduler():
            rig.add(make_pod("before"))
            await rig.until_bound("before")
            rig.api.faults.freeze_watches()
            rig.add(make_pod("after"))
            await rig.until_bound("after", within_s=200)

    on_rig(scenario, tmp_path)


def test_case_17_nonsense_in_the_watch(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with rig.scheduler():
            rig.add(make_pod("before"))
            await rig.until_bound("before")
            for raw in (b"{]\n", b'{"type":"STRANGE","object":{}}\n', b'{"type":"ADDED","obj'):
                rig.api.faults.send(raw, "pods")
                rig.api.faults.end_watches("pods")
            rig.add(make_pod("after"))
            await rig.until_bound("after")

    on_rig(scenario, tmp_path)


def test_case_19_the_api_server_is_away_for_a_minute(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        names = [f"p{i}" for i in range(60)]
        rig.add(*(make_node(f"n{i}") for i in range(3)))
        async with rig.scheduler():
            rig.add(*(make_pod(name).requests(cpu="100m") for name in names[:30]))
            await rig.until(lambda: rig.node_of(names[0]))
            await rig.api.stop_listening()
            rig.add(*(make_pod(name).requests(cpu="100m") for name in names[30:]))
            away_since = rig.clock.monotonic()
            await rig.until(lambda: rig.clock.monotonic() > away_since + 60)
            await rig.api.listen()
            await rig.until_bound(*names)

    on_rig(scenario, tmp_path)


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


def test_case_22_a_restart_knows_what_the_lists_tell(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        rig.add(make_pod("one").requests(cpu="3"))
        async with rig.scheduler():
            await rig.until_bound("one")
        rig.add(make_pod("two").requests(cpu="3"), make_pod("small").requests(cpu="1"))
        async with rig.scheduler():
            await rig.until_bound("small")
            await rig.until(lambda: rig.condition("two"))
            assert rig.node_of("two") == ""

    on_rig(scenario, tmp_path)


def test_case_25_the_lease_is_taken_away(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))

        def take(lease: Obj) -> None:
            lease["spec"]["holderIdentity"] = "somebody else"

        async with rig.scheduler(config={"leaderElection": ELECTION}, ends=1):
            rig.add(make_pod("before"))
            await rig.until_bound("before")
            rig.api.store.mutate("leases.coordination.k8s.io", "mine", take, "kube-system")
            await rig.until(lambda: rig.clock.monotonic() > 10)
            rig.add(make_pod("after"))
            await rig.until(lambda: rig.clock.monotonic() > 20)
        assert rig.node_of("after") == ""
        async with rig.scheduler(config={"leaderElection": ELECTION}):
            await rig.until_bound("after")

    on_rig(scenario, tmp_path)


def test_case_26_the_clock_of_the_api_server_is_an_hour_ahead(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))

        def skew(lease: Obj) -> None:
            lease["spec"]["renewTime"] = "2026-01-01T01:00:00.000000Z"

        async with rig.scheduler(config={"leaderElection": ELECTION}):
            rig.add(make_pod("before"))
            await rig.until_bound("before")
            rig.api.store.mutate("leases.coordination.k8s.io", "mine", skew, "kube-system")
            await rig.until(lambda: rig.clock.monotonic() > 60)
            rig.add(make_pod("after"))
            await rig.until_bound("after")

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


def test_case_33_a_pod_with_a_malformed_selector_fails_alone(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))

        def spoil(pod: Obj) -> None:
            term = {
                "topologyKey": "kubernetes.io/hostname",
                "labelSelector": {"matchExpressions": [{"key": "x", "operator": "Nonsense"}]},
            }
            required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
            pod["spec"]["affinity"] = {"podAntiAffinity": required}

        rig.add(make_pod("bad"))
        rig.api.store.mutate("pods", "bad", spoil, "default")
        async with rig.scheduler():
            rig.add(make_pod("good"))
            await rig.until_bound("good")
            assert rig.node_of("bad") == ""

    on_rig(scenario, tmp_path)


def test_case_38_a_node_is_tainted_while_a_pod_is_on_its_way(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with rig.scheduler():
            fault = late_binding(rig)
            rig.add(make_pod("first"))
            await until_sent(rig, fault)
            taint = {"key": "x", "effect": "NoSchedule"}
            rig.api.store.mutate("nodes", "a", lambda node: node["spec"].update(taints=[taint]))
            rig.add(make_pod("second"))
            await rig.until_bound("first")
            await rig.until(lambda: rig.condition("second"))
            assert "untolerated taint" in rig.condition("second")["message"]

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


def test_case_46_gated_pods_wait_for_their_gate(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        gated = make_pod("gated")
        gated.manifest["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
        async with rig.scheduler() as process:
            rig.add(gated, make_pod("theirs").scheduler("other"), make_pod("free"))
            await rig.until_bound("free")
            queue = process.scheduler.board.queue
            assert queue.pending()["gated"] == 1
            rig.api.store.mutate(
                "pods", "gated", lambda pod: pod["spec"].pop("schedulingGates"), "default"
            )
            await rig.until_bound("gated")
            assert rig.node_of("theirs") == ""

    on_rig(scenario, tmp_path)
