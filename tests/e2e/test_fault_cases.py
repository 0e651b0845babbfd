"""Fault cases by their numbers, as far as a real API server has a say in them and no other file here is about them.

The wire to the API server is a proxy, so that answers can be lost after the deed was done.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bayplan.testing import PodBuilder
from bayplan.testing.control_plane import History, Obj, wait_until
from tests.e2e.feeding import Feeder
from tests.e2e.proxy import Proxy
from tests.e2e.stage import Stage, node, pod
from tests.e2e.subjects import Running

pytestmark = pytest.mark.e2e

LEASE = "kube-system/bayplan-e2e"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


@pytest.fixture
def wire() -> Iterator[Proxy]:
    """To be named before the stage, which is audited through it at its end."""
    with Proxy() as wire:
        yield wire


def start(stage: Stage, wire: Proxy) -> Running:
    for number in range(10):
        stage.add(node(f"n{number}", cpu="8"))
    login = wire.kubeconfig(stage.account().kubeconfig)
    return stage.start_scheduler(login=login).wait_ready()


def pods(number: int, prefix: str = "p") -> list[PodBuilder]:
    return [pod(f"{prefix}{index}").requests(cpu="100m") for index in range(number)]


def test_case_01_and_05_bindings_whose_answers_are_lost(wire: Proxy, stage: Stage) -> None:
    """Whatever was bound without our knowing is found out and left where it is; nobody is bound twice, nor told so."""
    scheduler = start(stage, wire)
    with Feeder(stage.plane.admin, pods(300)) as feeder:
        for bound in (50, 120, 200):
            stage.wait_some_bound(bound)
            before = wire.lost
            wire.lose_answers()
            wait_until(lambda: wire.lost > before + 5, "lost answers")  # noqa: B023 - waited for here
            wire.mend()
        stage.wait_bound(*feeder.keys)
    assert scheduler.process.running
    for key in feeder.keys[::50]:
        stage.wait_event(key, "Scheduled")


def test_case_16_connections_that_are_cut_again_and_again(wire: Proxy, stage: Stage) -> None:
    scheduler = start(stage, wire)
    with Feeder(stage.plane.admin, pods(300)) as feeder:
        for bound in range(25, 300, 25):
            stage.wait_some_bound(bound)
            wire.cut()
        stage.wait_bound(*feeder.keys)
    # Whatever was missed the watches have caught up with from where they were.
    assert scheduler.metric('bayplan_watch_restarts_total{resource="pods",cause="expired"}') == 0


def test_case_16_a_wire_on_which_nothing_comes_any_more(wire: Proxy, stage: Stage) -> None:
    """Nobody hangs up, and the kernel at the other end goes on answering: only the silence tells."""
    start(stage, wire)
    stage.add(*pods(5, "before"))
    stage.wait_bound(*(f"default/before{index}" for index in range(5)))
    wire.stop_up()
    stage.add(*pods(5, "after"))
    stage.wait_bound(*(f"default/after{index}" for index in range(5)), timeout_s=180)


@pytest.fixture
def leases(stage: Stage) -> Iterator[History]:
    with History(stage.plane.admin, LEASES) as leases:
        yield leases


def holder(leases: dict[str, Obj]) -> str:
    found: str = leases.get(LEASE, {}).get("spec", {}).get("holderIdentity") or ""
    return found


def test_case_25_a_lease_that_is_deleted_is_made_anew(stage: Stage, leases: History) -> None:
    stage.add(node("n1"))
    scheduler = stage.start_scheduler(elect=True)
    before = holder(leases.wait(holder, "leader", 60))
    uid = leases.objects[LEASE]["metadata"]["uid"]
    stage.plane.admin.delete(leases.objects[LEASE])
    leases.wait(
        lambda found: holder(found) == before and found[LEASE]["metadata"]["uid"] != uid,
        "new lease of the same holder",
    )
    stage.add(pod("p"))
    stage.wait_bound("default/p")
    assert scheduler.process.running


def test_case_25_a_lease_that_somebody_else_has_taken(stage: Stage, leases: History) -> None:
    """The one that led ends; another takes over once the thief has let the lease lapse, whatever times he wrote into it."""
    stage.add(node("n1"))
    first = stage.start_scheduler("first", elect=True)
    leases.wait(holder, "leader", 60)
    second = stage.start_scheduler("second", elect=True).wait_ready()
    # Of a clock that is an hour ahead.
    stolen = {"holderIdentity": "thief", "renewTime": "2099-01-01T00:00:00.000000Z"}
    stage.plane.admin.patch(leases.objects[LEASE], {"spec": stolen})
    wait_until(lambda: first.process.exit_code == 1, "end of the one that led", 30)
    leases.wait(lambda found: holder(found) not in {"", "thief"}, "new leader", 60)
    stage.add(pod("p"))
    stage.wait_bound("default/p")
    assert second.process.running
