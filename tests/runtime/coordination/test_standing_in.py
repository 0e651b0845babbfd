"""One profile's turns, in virtual time: who serves when the owner's lease lapses, is taken again, or cannot be read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest

from bayplan.client.api import Api
from bayplan.client.config import load
from bayplan.client.leases import ElectionSettings, Elector
from bayplan.embedded.server import EmbeddedApi, EmbeddedOptions
from bayplan.runtime.coordination.foreign_lease import ForeignLease
from bayplan.runtime.coordination.standing_in import SUFFIX, StandIn, StandIns
from bayplan.testing.virtual_time import VirtualClock, run, settle

LEASES = "leases.coordination.k8s.io"
OWNER = "owner"


class Shift:
    """Writes down what it is told; laying down takes a second."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def take_up(self, profile: str) -> None:
        self.told.append(f"take up {profile}")

    async def lay_down(self, profile: str) -> None:
        self.told.append(f"lay down {profile}")
        await asyncio.sleep(1)
        self.told.append("laid down")


class World:
    """An API server, its clock, and candidates."""

    def __init__(self, server: EmbeddedApi, api: Api, clock: VirtualClock) -> None:
        self.server, self.api, self.clock = server, api, clock

    def stand_in(self, who: str, patience_s: float = 0.0) -> tuple[StandIn, Shift]:
        shift = Shift()
        owner = ForeignLease(self.api, self.clock, "kube-system", OWNER, 15.0)

        def candidate() -> Elector:
            settings = ElectionSettings(OWNER + SUFFIX)
            return Elector(self.api, settings, who, self.clock, Random(1))

        member = StandIn("batch", owner, candidate, shift, patience_s=patience_s, look_every_s=2.0)
        return member, shift

    def renew(self, holder: str = "the owner") -> None:
        """The owner writes its lease."""
        now = "2026-01-01T00:00:00.000000Z"
        spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": now}
        store = self.server.store
        if store.find(LEASES, OWNER, "kube-system") is None:
            store.create(LEASES, {"metadata": {"name": OWNER}, "spec": spec}, "kube-system")
        stamp = f"2026-01-01T00:00:{int(self.clock.monotonic()) % 60:02d}.000000Z"
        store.mutate(
            LEASES,
            OWNER,
            lambda lease: lease["spec"].update(spec | {"renewTime": stamp}),
            "kube-system",
        )

    async def keep_renewing(self, seconds: float) -> None:
        """The owner lives for so long."""
        for _ in range(int(seconds)):
            self.renew()
            await asyncio.sleep(1)

    def holder(self) -> str:
        """Who stands in by the lease."""
        lease: Any = self.server.store.get(LEASES, OWNER + SUFFIX, "kube-system")
        return str(lease["spec"].get("holderIdentity", ""))


def with_world(test: Callable[[World], Awaitable[None]], folder: Any) -> None:
    clock = VirtualClock()

    async def main() -> None:
        async with EmbeddedApi(EmbeddedOptions(clock=clock, rng=Random(1))) as server:
            access = load(str(server.write_kubeconfig(folder / "kubeconfig")))
            api = Api.open(access, clock, Random(1))
            try:
                await test(World(server, api, clock))
            finally:
                await api.close()
        await settle()

    run(main(), clock)


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(1000):
        if holds():
            return
        await asyncio.sleep(0.1)
    raise AssertionError("does not come about")


async def cancelled(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_while_the_owner_lives_and_when_it_is_gone(tmp_path: Any) -> None:
    async def test(world: World) -> None:
        member, shift = world.stand_in("one")
        running = asyncio.create_task(member.run())
        await world.keep_renewing(60)
        assert shift.told == []
        assert not member.may_serve()
        await asyncio.sleep(20)
        assert shift.told == ["take up batch"]
        assert member.may_serve()
        assert world.holder() == "one"
        await world.keep_renewing(10)
        assert shift.told == ["take up batch", "lay down batch", "laid down"]
        assert not member.may_serve()
        assert world.holder() == ""
        await cancelled(running)

    with_world(test, tmp_path)


def test_the_lease_is_let_go_only_when_everything_is_laid_down(tmp_path: Any) -> None:
    async def test(world: World) -> None:
        member, shift = world.stand_in("one")
        running = asyncio.create_task(member.run())
        await until(lambda: member.serving)
        renewing = asyncio.create_task(world.keep_renewing(30))
        await until(lambda: shift.told[-1] == "lay down batch")
        # Bindings under way may still be sent, and the owner still waits.
        assert member.may_serve()
        assert world.holder() == "one"
        await cancelled(running, renewing)

    with_world(test, tmp_path)


def test_of_two_the_one_with_less_patience_serves(tmp_path: Any) -> None:
    async def test(world: World) -> None:
        slow, _ = world.stand_in("slow", patience_s=10.0)
        fast, _ = world.stand_in("fast")
        running = [asyncio.create_task(one.run()) for one in (slow, fast)]
        await asyncio.sleep(60)
        assert (fast.may_serve(), slow.may_serve()) == (True, False)
        # It goes; its lease is let go in good order, and the other one comes in.
        await cancelled(running[1])
        await fast.release()
        await asyncio.sleep(10)
        assert (fast.may_serve(), slow.may_serve()) == (False, True)
        await cancelled(running[0])

    with_world(test, tmp_path)


def test_a_stand_in_that_loses_its_lease_binds_nothing_more(tmp_path: Any) -> None:
    async def test(world: World) -> None:
        member, shift = world.stand_in("one")
        running = asyncio.create_task(member.run())
        await until(lambda: member.serving)
        world.server.store.mutate(
            LEASES,
            OWNER + SUFFIX,
            lambda lease: lease["spec"].update(holderIdentity="another"),
            "kube-system",
        )
        await asyncio.sleep(5)
        assert not member.may_serve()
        assert shift.told == ["take up batch", "lay down batch", "laid down"]
        # The other one is never seen again: its lease lapses, and the profile is served once more.
        await asyncio.sleep(30)
        assert member.may_serve()
        await cancelled(running)

    with_world(test, tmp_path)


@pytest.mark.parametrize(
    ("profile", "may"), [pytest.param("other", True, id="no standby"), ("batch", False)]
)
def test_what_may_be_served(profile: str, may: bool) -> None:
    clock = VirtualClock()
    owner = ForeignLease(None, clock, "kube-system", OWNER, 15.0)  # type: ignore[arg-type]
    member = StandIn("batch", owner, Elector, Shift(), patience_s=0, look_every_s=2)  # type: ignore[arg-type]
    assert StandIns([member]).may_serve(profile) is may
