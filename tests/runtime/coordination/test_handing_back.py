from __future__ import annotations

import asyncio

from bayplan.errors import Forbidden
from bayplan.runtime.coordination.foreign_lease import ForeignLease
from bayplan.runtime.coordination.handing_back import wait_let_go
from bayplan.testing.virtual_time import VirtualClock, run
from tests.runtime.coordination.leases import Leases


class Setting:
    def __init__(self) -> None:
        self.clock, self.leases = VirtualClock(), Leases()
        self.lease = ForeignLease(self.leases, self.clock, "kube-system", "ours-standin", 15.0)

    def wait(self, *later: tuple[float, str]) -> float:
        """How long it is waited while the stand-in's lease changes hands so."""

        async def change() -> None:
            for at_s, holder in later:
                await asyncio.sleep(at_s - self.clock.monotonic())
                self.leases.put("ours-standin", holder)

        async def main() -> float:
            changing = asyncio.create_task(change())
            await wait_let_go(self.lease, 2.0)
            ended = self.clock.monotonic()
            await changing
            return ended

        start = self.clock.monotonic()
        return run(main(), self.clock) - start


def test_nobody_ever_stood_in() -> None:
    assert Setting().wait() == 0


def test_it_was_let_go_before() -> None:
    setting = Setting()
    setting.leases.put("ours-standin", "")
    assert setting.wait() == 0


def test_until_it_is_let_go() -> None:
    setting = Setting()
    start = setting.clock.monotonic()
    setting.leases.put("ours-standin", "them")
    assert setting.wait((start + 5.0, "them"), (start + 7.0, "")) == 8.0


def test_a_stand_in_that_has_died_is_waited_for_as_long_as_its_lease_says() -> None:
    setting = Setting()
    setting.leases.put("ours-standin", "them")
    assert 15.0 <= setting.wait() <= 17.0


def test_who_may_not_look_does_not_wait() -> None:
    setting = Setting()
    setting.leases.put("ours-standin", "them")
    setting.leases.trouble = Forbidden(403, "Forbidden", "leases is forbidden")
    assert setting.wait() == 0
