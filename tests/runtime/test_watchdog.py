"""The watchdog: what holds up the event loop is named, and a plugin is got out of wherever it hangs."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from types import FrameType

import pytest

from bayplan import FilterPlugin
from bayplan.clock import SystemClock
from bayplan.errors import PluginError
from bayplan.framework.runner import call
from bayplan.runtime.watchdog import Watchdog, culprit
from bayplan.testing.virtual_time import VirtualClock, run


class Hangs(FilterPlugin):
    """Does not return by itself."""

    name = "Hangs"

    def forever(self) -> None:
        while True:
            pass

    def wait(self) -> None:
        threading.Event().wait()

    def stubborn(self, times: int) -> int:
        for done in range(times):
            try:
                self.forever()
            except Exception:  # noqa: BLE001 - as bad plugins do
                if done == times - 1:
                    return done
        return -1


@pytest.mark.parametrize("method", ["forever", "wait"])
def test_a_plugin_that_hangs_is_got_out_and_named(method: str) -> None:
    told: list[str] = []

    async def main() -> None:
        watchdog = Watchdog(SystemClock(), budget_s=0.02, on_interrupt=told.append)
        watchdog.start()
        plugin = Hangs()
        try:
            with pytest.raises(PluginError) as caught:
                call(plugin, "Filter", getattr(plugin, method))
        finally:
            watchdog.stop()
        assert str(caught.value) == (
            'running Filter plugin "Hangs": did not return within 0.02 s and was interrupted'
        )
        assert watchdog.stuck is None

    asyncio.run(main())
    assert told == ["Hangs"]


def test_a_plugin_that_goes_on_is_interrupted_again() -> None:
    async def main() -> int:
        watchdog = Watchdog(SystemClock(), budget_s=0.02)
        watchdog.start()
        plugin = Hangs()
        try:
            return call(plugin, "Filter", plugin.stubborn, 2)
        finally:
            watchdog.stop()

    assert asyncio.run(main()) == 1


class Dog:
    """A watchdog without a thread, whose signals are counted and not sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent = 0
        monkeypatch.setattr("signal.pthread_kill", lambda *_: self._count())
        self.clock = VirtualClock()
        self.watchdog = Watchdog(self.clock, budget_s=5)

    def _count(self) -> None:
        self.sent += 1

    def look_at(self, late_s: float) -> None:
        self.clock.advance(late_s - self.clock.monotonic())
        self.watchdog.look()


@pytest.fixture
def dog(monkeypatch: pytest.MonkeyPatch) -> Dog:
    return Dog(monkeypatch)


def in_a_plugin(work: Callable[[], None]) -> None:
    call(Hangs(), "Score", work)


def test_within_the_budget_nothing_happens(dog: Dog) -> None:
    in_a_plugin(lambda: dog.look_at(5))
    assert (dog.sent, dog.watchdog.stuck) == (0, None)


def test_a_plugin_is_interrupted_three_times_and_then_it_is_stuck(dog: Dog) -> None:
    def hang() -> None:
        for late_s in (5.1, 6, 9.9, 10.1, 15.1, 20.1):
            dog.look_at(late_s)

    in_a_plugin(hang)
    assert dog.sent == 3
    assert dog.watchdog.stuck == "plugin Hangs (Score) has held up the event loop for 20 s"


def test_after_a_pause_of_the_whole_process_nobody_is_to_blame(dog: Dog) -> None:
    def work() -> None:
        dog.clock.advance(20)
        dog.watchdog.look(woken_after_s=19.8)
        assert (dog.sent, dog.watchdog.stuck) == (0, None)
        dog.look_at(24)
        assert dog.sent == 0
        dog.look_at(26)
        assert dog.sent == 1

    in_a_plugin(work)


def test_what_is_no_plugin_is_not_interrupted(dog: Dog) -> None:
    dog.look_at(6)
    assert dog.sent == 0
    assert dog.watchdog.stuck == "bayplan itself has held up the event loop for 6 s"


def test_once_the_loop_turns_again_all_is_well() -> None:
    clock = VirtualClock()

    async def main() -> None:
        watchdog = Watchdog(clock, budget_s=5)
        watchdog.start()
        clock.advance(7)
        watchdog.look()
        said = [watchdog.stuck]
        await asyncio.sleep(1)
        watchdog.look()
        said.append(watchdog.stuck)
        watchdog.stop()
        assert said == ["bayplan itself has held up the event loop for 7 s", None]

    run(main(), clock)


class Outer(FilterPlugin):
    """Calls another plugin, as preemption does."""

    def ask(self, inner: Callable[[], FrameType]) -> FrameType:
        return inner()


def here() -> FrameType:
    return sys._getframe()


def test_the_innermost_plugin_is_to_blame() -> None:
    outer, inner = Outer(), Hangs()
    frame = call(outer, "PostFilter", outer.ask, lambda: call(inner, "Filter", here))
    assert culprit(frame) == ("Hangs", "Filter")
    assert culprit(call(outer, "PostFilter", outer.ask, here)) == ("Outer", "PostFilter")
    assert culprit(outer.ask(here)) == ("Outer", "ask")
    assert culprit(here()) is None
