"""Fault cases 22 to 26: restarts, two replicas and one lease, clocks and credentials."""

from __future__ import annotations

from pathlib import Path

from bayplan.embedded.faults import Fault
from bayplan.testing import make_node
from tests.integration.rig import Obj, Rig, make_pod, on_rig

LEASES = "leases.coordination.k8s.io"
ELECTION = {"leaderElection": {"leaderElect": True, "resourceName": "mine"}}


def take(lease: Obj) -> None:
    """Another one has the lease."""
    lease["spec"]["holderIdentity"] = "somebody else"


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

        async with rig.scheduler(config=ELECTION, ends=1):
            rig.add(make_pod("before"))
            await rig.until_bound("before")
            rig.api.store.mutate(LEASES, "mine", take, "kube-system")
            await rig.until(lambda: rig.clock.monotonic() > 10)
            rig.add(make_pod("after"))
            await rig.until(lambda: rig.clock.monotonic() > 20)
        assert rig.node_of("after") == ""
        async with rig.scheduler(config=ELECTION):
            await rig.until_bound("after")

    on_rig(scenario, tmp_path)


def test_case_26_the_clock_of_the_api_server_is_an_hour_ahead(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))

        def skew(lease: Obj) -> None:
            lease["spec"]["renewTime"] = "2026-01-01T01:00:00.000000Z"

        async with rig.scheduler(config=ELECTION):
            rig.add(make_pod("before"))
            await rig.until_bound("before")
            rig.api.store.mutate(LEASES, "mine", skew, "kube-system")
            await rig.until(lambda: rig.clock.monotonic() > 60)
            rig.add(make_pod("after"))
            await rig.until_bound("after")

    on_rig(scenario, tmp_path)


def test_case_22_killed_with_half_of_its_bindings_under_way(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        names = [f"p{number}" for number in range(40)]
        rig.add(make_node("a"), make_node("b"))
        rig.api.faults.add(Fault("create", "pods/binding", after=10, times=10, delay_s=1))
        rig.api.faults.add(Fault("create", "pods/binding", times=5, lose_answer=True))
        async with rig.doomed():
            rig.add(*(make_pod(name).requests(cpu="200m") for name in names))
            await rig.until(lambda: sum(bool(rig.node_of(name)) for name in names) > 5)
        # Both nodes are full to the last with forty: nobody was forgotten, and nobody counted twice.
        async with rig.scheduler():
            await rig.until_bound(*names)
            rig.add(make_pod("more").requests(cpu="200m"))
            await rig.until(lambda: rig.condition("more"))

    on_rig(scenario, tmp_path)


def test_case_23_the_second_takes_over_when_the_leader_dies(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        names = [f"p{number}" for number in range(40)]
        rig.add(make_node("a"), make_node("b"))
        async with rig.doomed(ELECTION) as first:
            await rig.until(first.around.may_write)
            slow = rig.api.faults.add(Fault("create", "pods/binding", times=20, delay_s=1))
            second_one = rig.scheduler(config=ELECTION)
            second = await second_one.__aenter__()
            rig.add(*(make_pod(name).requests(cpu="200m") for name in names))
            await rig.until(lambda: slow.met == 20)
        died = rig.clock.monotonic()
        await rig.until(second.around.may_write)
        # The lease has to lapse, and then it is asked for every two seconds.
        assert rig.clock.monotonic() - died < 15 + 2 * 2.4
        await rig.until_bound(*names)
        await second_one.__aexit__(None, None, None)

    on_rig(scenario, tmp_path)


def test_case_24_a_leader_that_stood_still_binds_nothing_when_it_goes_on(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with rig.scheduler(config=ELECTION, ends=1) as process:
            rig.add(make_pod("before"))
            await rig.until_bound("before")
            bindings = rig.count("create", "pods/binding")
            rig.clock.advance(20)
            rig.api.store.mutate(LEASES, "mine", take, "kube-system")
            rig.add(make_pod("after"))
            assert not process.around.may_write()
            await rig.pass_s(30)
            assert bindings.met == 0
        assert rig.node_of("after") == ""

    on_rig(scenario, tmp_path)


def test_case_25_the_lease_is_deleted(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with rig.scheduler(config=ELECTION) as process:
            await rig.until(process.around.may_write)
            rig.api.store.delete(LEASES, "mine", "kube-system")
            await rig.pass_s(30)
            assert process.elector is not None
            spec = rig.api.store.get(LEASES, "mine", "kube-system")["spec"]
            assert spec["holderIdentity"] == process.elector.identity
            rig.add(make_pod("web"))
            await rig.until_bound("web")

    on_rig(scenario, tmp_path)


def test_case_26_a_token_that_is_replaced(tmp_path: Path) -> None:
    users = {"token-1": "system:admin"}

    async def scenario(rig: Rig) -> None:
        rig.token_file = tmp_path / "token"
        rig.token_file.write_text("token-1", encoding="utf-8")
        rig.add(make_node("a"))
        async with rig.scheduler():
            rig.add(make_pod("before"))
            await rig.until_bound("before")
            # The old one is worth nothing any more; the file changes a little later.
            users.clear()
            users["token-2"] = "system:admin"
            await rig.api.stop_listening()
            await rig.api.listen()
            rig.add(make_pod("after"))
            await rig.pass_s(20)
            assert rig.node_of("after") == ""
            rig.token_file.write_text("token-2", encoding="utf-8")
            await rig.until_bound("after")

    on_rig(scenario, tmp_path, users)
