"""Fault cases 42, 43 and 50, and what else becomes of gangs on a whole scheduler: all or nothing, and nobody stuck."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bayplan.cycle.gang_solver import Solution, solve
from bayplan.embedded.definitions import POD_GROUPS, install
from bayplan.embedded.faults import Fault, refusal_of
from bayplan.runtime.solver_process import Task
from bayplan.testing import PodBuilder, make_node
from tests.integration.rig import HIGH, LOW, Rig, make_pod, on_rig

LABEL = "scheduling.x-k8s.io/pod-group"


def gang(rig: Rig, name: str, min_member: int, **spec: Any) -> None:
    """A group."""
    rig.api.store.create(
        POD_GROUPS,
        {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"minMember": min_member, **spec},
        },
    )


def worker(group: str, number: int, cpu: str = "1") -> PodBuilder:
    return make_pod(f"{group}-{number}").label(LABEL, group).requests(cpu=cpu)


def workers(group: str, count: int, cpu: str = "1") -> list[PodBuilder]:
    return [worker(group, number, cpu) for number in range(count)]


def node(name: str, cpu: str) -> Any:
    return make_node(name).capacity(cpu=cpu, pods="110", memory="64Gi")


def bound(rig: Rig, group: str) -> list[str]:
    """Members with a node."""
    pods = rig.api.store.list("pods", "default")
    return sorted(
        pod["metadata"]["name"]
        for pod in pods
        if pod["metadata"]["labels"].get(LABEL) == group and pod["spec"].get("nodeName")
    )


def on_cluster(scenario: Callable[[Rig], Any], folder: Path) -> None:
    async def with_groups(rig: Rig) -> None:
        install(rig.api.store)
        await scenario(rig)

    on_rig(with_groups, folder)


def test_case_42_room_for_nine_of_ten_binds_none(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(node("a", "5"), node("b", "4"))
        gang(rig, "train", 10)
        async with rig.scheduler():
            rig.add(*workers("train", 10))
            await rig.until(lambda: rig.failures("train-9"))
            await rig.pass_s(400)
            assert bound(rig, "train") == []
            assert rig.condition("train-0")["message"] == rig.condition("train-9")["message"]
            said = rig.condition("train-0")["message"]
            assert said.startswith("gang train: 9 of 10 members fit; ")
            assert said.split("; ")[1].endswith("lacks cpu (needs 1, largest free 0 on a)")
            rig.add(node("c", "1"))
            await rig.until_bound(*(f"train-{n}" for n in range(10)))

    on_cluster(scenario, tmp_path)


@pytest.mark.slow
def test_the_solver_finds_what_the_members_own_order_misses(tmp_path: Path) -> None:
    pytest.importorskip("ortools", reason="the extra bayplan[solver] is not installed")

    async def scenario(rig: Rig) -> None:
        rig.add(node("a", "4"), node("b", "4"))
        gang(rig, "train", 3)
        async with rig.scheduler(config={"own": {"gangs": {"solver": True}}}) as process:
            in_line = InLine()
            solving = process.scheduler.loop.gang_turns.solving
            assert solving is not None
            solving.solver = in_line
            rig.add(*workers("train", 2, "2"), worker("train", 2, "4"))
            await rig.until_bound("train-0", "train-1", "train-2")
            assert rig.node_of("train-0") == rig.node_of("train-1") != rig.node_of("train-2")
            assert in_line.asked == 1
            # Nothing can be found for three that need all of a node each: nobody is asked.
            gang(rig, "more", 3)
            rig.add(*workers("more", 3, "4"))
            await rig.until(lambda: rig.failures("more-0"))
            assert in_line.asked == 1

    on_cluster(scenario, tmp_path)


class InLine:
    """The solver in this process: another one knows nothing of virtual time."""

    def __init__(self) -> None:
        self.asked = 0

    async def solve(self, task: Task) -> Solution:
        self.asked += 1
        return solve(task.puzzle, task.limits)

    async def close(self) -> None:
        """Nothing to end."""


def test_a_group_of_an_api_that_is_not_served_is_told_of_and_its_pods_go_alone(
    tmp_path: Path,
) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(node("a", "4"))
        async with rig.scheduler():
            pod = make_pod("nginx-1").label("pod-group.scheduling.sigs.k8s.io", "nginx-group")
            rig.add(pod, worker("train", 0))
            await rig.until_bound("nginx-1", "train-0")
            await rig.until(lambda: len(rig.notes("PodGroupNotServed")) == 2)
            first = next(note for note in rig.notes("PodGroupNotServed") if "nginx" in note)
            assert first.startswith('pod group "nginx-group": the API server does not serve')
            assert "deploy/crds/podgroups.scheduling.x-k8s.io.yaml" in first

    on_rig(scenario, tmp_path)


def test_case_42_two_gangs_that_fit_alone_but_not_together(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(node("a", "6"))
        for name in ("one", "two"):
            gang(rig, name, 4)
        async with rig.scheduler():
            # Interleaved, so that greedy pods would have taken three places each.
            rig.add(*(worker(name, n) for n in range(4) for name in ("one", "two")))
            await rig.until(lambda: len(bound(rig, "one") + bound(rig, "two")) == 4)
            await rig.pass_s(400)
            first, second = ("one", "two") if bound(rig, "one") else ("two", "one")
            assert len(bound(rig, first)) == 4
            assert bound(rig, second) == []
            for n in range(4):
                rig.delete("pods", f"{first}-{n}")
            await rig.until(lambda: len(bound(rig, second)) == 4)

    on_cluster(scenario, tmp_path)


def test_case_43_a_member_that_is_deleted_leaves_the_others_waiting(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(node("a", "2"))
        gang(rig, "train", 3)
        async with rig.scheduler() as process:
            rig.add(*workers("train", 3))
            await rig.until(lambda: rig.failures("train-2"))
            rig.delete("pods", "train-1")
            rig.add(node("b", "8"))
            await rig.pass_s(400)
            assert bound(rig, "train") == []
            assert process.scheduler.board.queue.pending()["gated"] == 2
            rig.add(worker("train", 7))
            await rig.until_bound("train-0", "train-2", "train-7")

    on_cluster(scenario, tmp_path)


def test_case_43_a_group_that_is_deleted(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        gang(rig, "train", 3)
        async with rig.scheduler():
            rig.add(*workers("train", 3))
            await rig.until(lambda: rig.failures("train-2"))
            rig.api.store.delete(POD_GROUPS, "train", "default")
            rig.add(node("a", "8"))
            await rig.pass_s(100)
            assert bound(rig, "train") == []
            assert rig.condition("train-0")["message"] == 'pod group "train" not found'
            gang(rig, "train", 3)
            await rig.until_bound("train-0", "train-1", "train-2")

    on_cluster(scenario, tmp_path)


@pytest.mark.parametrize("raised", [5, 2**31 - 1])
def test_case_43_and_50_min_member_raised(tmp_path: Path, raised: int) -> None:
    async def scenario(rig: Rig) -> None:
        gang(rig, "train", 3)
        async with rig.scheduler():
            rig.add(*workers("train", 3))
            await rig.until(lambda: rig.failures("train-2"))
            rig.api.store.mutate(
                POD_GROUPS, "train", lambda obj: obj["spec"].update(minMember=raised), "default"
            )
            rig.add(node("a", "8"))
            await rig.pass_s(100)
            assert bound(rig, "train") == []
            rig.api.store.mutate(
                POD_GROUPS, "train", lambda obj: obj["spec"].update(minMember=2), "default"
            )
            await rig.until_bound("train-0", "train-1", "train-2")

    on_cluster(scenario, tmp_path)


def test_pods_come_before_their_group(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(node("a", "8"))
        async with rig.scheduler():
            rig.add(*workers("train", 2))
            await rig.pass_s(60)
            assert bound(rig, "train") == []
            gang(rig, "train", 2)
            await rig.until_bound("train-0", "train-1")

    on_cluster(scenario, tmp_path)


def test_more_than_are_needed(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(node("a", "4"))
        gang(rig, "train", 3)
        async with rig.scheduler():
            rig.add(*workers("train", 6))
            await rig.until(lambda: len(bound(rig, "train")) == 4)
            rig.add(node("b", "1"))
            await rig.until(lambda: len(bound(rig, "train")) == 5)
            rig.add(node("c", "9"))
            await rig.until(lambda: len(bound(rig, "train")) == 6)

    on_cluster(scenario, tmp_path)


def test_a_binding_that_fails_is_made_up_for(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(node("a", "3"))
        gang(rig, "train", 3)
        async with rig.scheduler():
            fault = Fault("create", "pods/binding", "train-1", times=1, refusal=refusal_of(403))
            rig.api.faults.add(fault)
            rig.add(*workers("train", 3))
            await rig.until_bound("train-0", "train-1", "train-2")

    on_cluster(scenario, tmp_path)


def test_pods_are_ordinary_where_no_group_can_exist(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(node("a", "1"))
        async with rig.scheduler():
            rig.add(*workers("train", 2))
            await rig.until(lambda: len(bound(rig, "train")) == 1)
            # The definition comes later: from then on the rest waits for its group.
            install(rig.api.store)
            await rig.pass_s(120)
            rig.add(node("b", "1"))
            await rig.pass_s(60)
            assert len(bound(rig, "train")) == 1
            gang(rig, "train", 2)
            await rig.until(lambda: len(bound(rig, "train")) == 2)

    on_rig(scenario, tmp_path)


def phase(rig: Rig, name: str) -> dict[str, Any]:
    return dict(rig.api.store.get(POD_GROUPS, name, "default").get("status", {}))


def test_members_hear_what_their_group_lacks_and_the_group_says_how_far_it_is(
    tmp_path: Path,
) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(node("a", "8"))
        gang(rig, "train", 3)
        async with rig.scheduler():
            rig.add(*workers("train", 2))
            await rig.until(lambda: rig.failures("train-1"))
            assert rig.failures("train-0") == ["gang train: 2 of 3 members exist"]
            await rig.until(lambda: phase(rig, "train").get("phase") == "Pending")
            rig.add(worker("train", 2))
            await rig.until(lambda: phase(rig, "train").get("phase") == "Running")
            assert phase(rig, "train")["scheduleStartTime"]

    on_cluster(scenario, tmp_path)


def test_case_42_killed_in_the_middle_of_a_gang_the_next_one_completes_it(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(node("a", "4"))
        gang(rig, "train", 4)
        rig.api.faults.add(Fault("create", "pods/binding", after=2, delay_s=3600))
        async with rig.doomed():
            rig.add(*workers("train", 4))
            await rig.until(lambda: len(bound(rig, "train")) == 2)
        rig.api.faults.clear()
        assert len(bound(rig, "train")) == 2
        async with rig.scheduler():
            # One that is older, and would fit, does not get the room that the gang needs.
            await rig.until(lambda: len(bound(rig, "train")) == 4)

    on_cluster(scenario, tmp_path)


def test_case_42_a_gang_that_cannot_be_completed_makes_way(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(node("a", "4"))
        gang(rig, "train", 4, scheduleTimeoutSeconds=30)
        rig.api.faults.add(Fault("create", "pods/binding", after=2, delay_s=3600))
        async with rig.doomed():
            rig.add(*workers("train", 4))
            await rig.until(lambda: len(bound(rig, "train")) == 2)
        rig.api.faults.clear()
        rig.add(make_pod("thief").requests(cpu="2"))
        rig.bind("thief", "a")
        async with rig.scheduler():
            await rig.pass_s(20)
            assert rig.leaving() == []
            await rig.until(lambda: len(rig.leaving()) == 2)
            assert set(rig.leaving()) == set(bound(rig, "train"))
            assert rig.notes("GangIncomplete")[0] == (
                "gang train: 2 of 4 members are on nodes, "
                "and no room was found for the others within 30s"
            )

    on_cluster(scenario, tmp_path)


def test_members_that_are_done_count(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(node("a", "3"))
        gang(rig, "train", 3)
        async with rig.scheduler():
            rig.add(*workers("train", 3))
            await rig.until(lambda: len(bound(rig, "train")) == 3)
            await rig.pass_s(10)
            rig.change("pods", "train-0", lambda pod: pod["status"].update(phase="Succeeded"))
            rig.delete("pods", "train-1")
            rig.add(worker("train", 9))
            await rig.until_bound("train-9")
            await rig.pass_s(300)
            assert rig.leaving() == []

    on_cluster(scenario, tmp_path)


def test_a_gang_preempts_as_one(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(node("a", "4"), node("b", "4"))
        gang(rig, "train", 4)
        async with rig.scheduler():
            rig.add(*(make_pod(f"low-{n}", LOW).requests(cpu="2") for n in range(4)))
            await rig.until_bound(*(f"low-{n}" for n in range(4)))
            rig.add(
                *(
                    make_pod(f"train-{n}", HIGH).label(LABEL, "train").requests(cpu="2")
                    for n in range(4)
                )
            )
            await rig.until(lambda: len(rig.leaving()) == 4)
            assert bound(rig, "train") == []
            for n in range(4):
                rig.delete("pods", f"low-{n}")
            await rig.until(lambda: len(bound(rig, "train")) == 4)
            group = rig.api.store.get(POD_GROUPS, "train", "default")["metadata"]["uid"]
            assert rig.notes("Preempted") == [f"Preempted by podgroup {group} on node cluster"] * 4

    on_cluster(scenario, tmp_path)


def test_no_pod_is_evicted_for_a_gang_that_would_not_fit_all_the_same(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(node("a", "4"))
        gang(rig, "train", 3)
        async with rig.scheduler():
            rig.add(*(make_pod(f"low-{n}", LOW).requests(cpu="2") for n in range(2)))
            await rig.until_bound("low-0", "low-1")
            for n in range(3):
                pod = make_pod(f"train-{n}", HIGH).label(LABEL, "train").requests(cpu="2")
                rig.add(pod)
            await rig.until(lambda: rig.failures("train-2"))
            await rig.pass_s(100)
            assert rig.leaving() == []

    on_cluster(scenario, tmp_path)


def test_more_than_are_needed_keep_to_the_domain_of_the_others(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(node("a", "3").zone("z1"), node("b", "2").zone("z2"))
        gang(rig, "train", 2)
        rig.api.store.mutate(
            POD_GROUPS,
            "train",
            lambda obj: obj["metadata"].update(
                annotations={"bayplan.io/gang-topology": "topology.kubernetes.io/zone"}
            ),
            "default",
        )
        async with rig.scheduler():
            rig.add(*workers("train", 5))
            await rig.until(lambda: len(bound(rig, "train")) == 3)
            await rig.pass_s(400)
            assert len(bound(rig, "train")) == 3
            rig.add(node("c", "2").zone("z1"))
            await rig.until(lambda: len(bound(rig, "train")) == 5)
            assert {rig.node_of(name) for name in bound(rig, "train")} == {"a", "c"}

    on_cluster(scenario, tmp_path)
