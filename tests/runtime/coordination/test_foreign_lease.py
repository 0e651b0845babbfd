from __future__ import annotations

import pytest

from bayplan.errors import Unreachable
from bayplan.runtime.coordination.foreign_lease import ForeignLease
from bayplan.testing.virtual_time import VirtualClock, run
from tests.runtime.coordination.leases import Leases


class Setting:
    def __init__(self) -> None:
        self.clock, self.leases = VirtualClock(), Leases()
        self.lease = ForeignLease(self.leases, self.clock, "kube-system", "theirs", 20.0)

    def look(self, after_s: float = 0.0) -> float:
        """For how long it is lapsed, after so much time."""
        self.clock.advance(after_s)
        run(self.lease.look(), self.clock)
        return self.lease.lapsed_for_s()


def test_alive_as_long_as_it_changes() -> None:
    setting = Setting()
    for _ in range(5):
        setting.leases.put("theirs", "them", lasts_s=3)
        assert setting.look(after_s=2.9) == pytest.approx(-3)
        assert setting.lease.is_held


def test_it_lapses_after_its_own_duration_and_not_before() -> None:
    setting = Setting()
    setting.leases.put("theirs", "them", lasts_s=3)
    setting.look()
    assert setting.look(after_s=2.9) < 0
    assert setting.look(after_s=0.2) == pytest.approx(0.1)
    assert not setting.lease.is_held
    setting.leases.put("theirs", "them", lasts_s=3)
    assert setting.look() < 0


def test_one_that_was_let_go_is_not_held() -> None:
    setting = Setting()
    setting.leases.put("theirs", "", lasts_s=1)
    assert setting.look() < 0  # another candidate of theirs may take it at once
    assert not setting.lease.is_held
    assert setting.look(after_s=1.5) > 0


def test_one_that_was_never_there() -> None:
    setting = Setting()
    assert setting.lease.lapsed_for_s() < 0
    assert setting.look() == pytest.approx(-20)
    assert setting.look(after_s=21) == pytest.approx(1)


def test_what_cannot_be_read_counts_as_alive() -> None:
    setting = Setting()
    setting.leases.put("theirs", "them", lasts_s=3)
    setting.look()
    setting.leases.trouble = Unreachable("connection refused")
    assert setting.look(after_s=100) < 0
    assert setting.lease.last_error == "connection refused"
    setting.leases.trouble = None
    assert setting.look(after_s=1) < 0
    assert setting.lease.last_error == ""
    assert setting.look(after_s=3) > 0
