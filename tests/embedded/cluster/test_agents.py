"""Node agents: pods start, complete and stop on time; nodes show that they live."""

from __future__ import annotations

import pytest

from bayplan.embedded.agents.pods import Pace, duration_s
from bayplan.embedded.deleting import DeleteOptions
from bayplan.embedded.nodes.making import make_node
from bayplan.embedded.nodes.shape import Group, of_count
from bayplan.embedded.objects import seconds_of
from tests.embedded.cluster.world import World, lives


def test_a_bound_pod_runs() -> None:
    async def test(world: World) -> None:
        world.pod("web")
        await world.settle(60)
        assert world.phases() == {"web": "Pending"}
        world.bind("web")
        await world.settle(0.4)
        assert world.phases() == {"web": "Pending"}
        await world.settle(0.2)
        pod = world.get("pods", "web")
        status = pod["status"]
        assert status["phase"] == "Running"
        assert status["podIP"] == "10.0.0.1"
        assert status["hostIP"] == "172.16.0.0"
        conditions = {one["type"]: one["status"] for one in status["conditions"]}
        assert conditions["Ready"] == conditions["PodScheduled"] == "True"
        assert status["containerStatuses"][0]["state"].keys() == {"running"}
        await world.settle(3600)
        assert world.phases() == {"web": "Running"}

    lives(test)


def test_a_pod_that_says_how_long_completes() -> None:
    async def test(world: World) -> None:
        world.pod("once", annotations={"bayplan.io/runs-for": "5s"})
        world.bind("once")
        await world.settle(5.4)
        assert world.phases() == {"once": "Running"}
        await world.settle(0.2)
        status = world.get("pods", "once")["status"]
        assert status["phase"] == "Succeeded"
        assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
        assert world.store.delete("pods", "once", "default")[1]

    lives(test)


@pytest.mark.parametrize(
    ("stops_after", "grace_s", "lasts_s"),
    [
        pytest.param("", 30, 0.5, id="as fast as it can"),
        pytest.param("10s", 30, 10, id="as it says"),
        pytest.param("10s", 4, 4, id="killed after the grace period"),
    ],
)
def test_a_pod_is_stopped(stops_after: str, grace_s: int, lasts_s: float) -> None:
    async def test(world: World) -> None:
        notes = {"bayplan.io/stops-after": stops_after} if stops_after else {}
        world.pod("web", annotations=notes)
        world.bind("web")
        await world.settle(1)
        world.store.delete("pods", "web", "default", DeleteOptions(grace_s=grace_s))
        await world.settle(lasts_s - 0.1)
        # A change in between does not put it off.
        world.store.mutate(
            "pods", "web", lambda pod: pod["metadata"].update(labels={"a": "b"}), "default"
        )
        assert not world.gone("pods", "web")
        await world.settle(0.2)
        assert world.gone("pods", "web")

    lives(test)


def test_a_pod_that_is_deleted_before_it_runs() -> None:
    async def test(world: World) -> None:
        world.pod("web")
        world.bind("web")
        world.store.delete("pods", "web", "default")
        await world.settle(1)
        assert world.gone("pods", "web")
        world.pod("web")
        await world.settle(1)
        assert world.phases() == {"web": "Pending"}

    lives(test)


def test_pods_go_with_their_node() -> None:
    async def test(world: World) -> None:
        for name, node in (("a", "node-1"), ("b", "node-2")):
            world.pod(name)
            world.bind(name, node)
        await world.settle(1)
        world.store.delete("nodes", "node-1")
        await world.settle(1)
        assert world.phases() == {"b": "Running"}

    lives(test, of_count(2))


def test_a_node_of_a_client_keeps_its_status_and_gets_an_agent() -> None:
    async def test(world: World) -> None:
        world.pod("web")
        world.bind("web", "mine")
        await world.settle(10)
        assert world.phases() == {"web": "Pending"}
        node = make_node("mine", Group(1, capacity={"cpu": 3}), 7, "", world.store.clock.now())
        world.store.create("nodes", node)
        await world.settle(1)
        assert world.phases() == {"web": "Running"}
        assert world.get("nodes", "mine")["status"] == node["status"]
        assert not world.gone_lease("mine")

    lives(test)


def test_leases_are_renewed_and_go_with_the_node() -> None:
    async def test(world: World) -> None:
        def renewed() -> float:
            lease = world.store.get("leases.coordination.k8s.io", "node-1", "kube-node-lease")
            assert lease["spec"]["holderIdentity"] == "node-1"
            return world.store.clock.now() - (seconds_of(lease["spec"]["renewTime"]) or 0.0)

        for _ in range(30):
            await world.settle(5)
            assert renewed() <= 10.5
        world.store.delete("nodes", "node-1")
        await world.settle(20)
        assert world.gone_lease("node-1")

    lives(test)


def test_pace() -> None:
    async def test(world: World) -> None:
        world.pod("web")
        world.bind("web")
        await world.settle(7.9)
        assert world.phases() == {"web": "Pending"}
        await world.settle(0.2)
        assert world.phases() == {"web": "Running"}

    lives(test, pace=Pace(start_s=8))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5s", 5.0),
        ("1m30s", 90.0),
        ("500ms", 0.5),
        ("1.5h", 5400.0),
        ("0s", 0.0),
        ("", None),
        ("5", None),
        ("s", None),
        ("1.2.3s", None),
        ("5 s", None),
        ("soon", None),
    ],
)
def test_durations(text: str, seconds: float | None) -> None:
    assert duration_s(text) == seconds
