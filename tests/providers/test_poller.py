from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from bayplan.cluster.cluster import Cluster
from bayplan.providers.poller import Poller, Times, ages_of
from bayplan.testing import make_cluster, make_node
from bayplan.testing.virtual_time import VirtualClock, run


class Source:
    """Says what it is told to say."""

    def __init__(self) -> None:
        self.says: Any = {}
        self.asked = 0

    async def read(self) -> Any:
        self.asked += 1
        if isinstance(self.says, Exception):
            raise self.says
        return self.says


class Setting:
    def __init__(self, times: Times) -> None:
        self.clock, self.source = VirtualClock(), Source()
        self.cluster: Cluster = make_cluster(make_node("a"), make_node("b"))
        self.refreshed = 0
        self.poller = Poller("p", self.source, times, self.cluster, self.clock, self.note)

    def note(self) -> None:
        self.refreshed += 1

    def poll(self, says: Any) -> None:
        self.source.says = says
        run(self.poller.poll())

    def value(self, node: str, metric: str = "cpu") -> float | None:
        value = self.cluster.view.nodes.data(metric)[self.cluster.view.row_of(node) or 0]
        return None if math.isnan(value) else float(value)


def test_what_is_said_is_in_the_columns() -> None:
    setting = Setting(Times(30, 300))
    setting.poll({"cpu": {"a": 0.5, "b": math.inf, "gone": 1.0}})
    assert (setting.value("a"), setting.value("b")) == (0.5, None)
    assert setting.refreshed == 1


def test_the_same_again_wakes_nobody() -> None:
    setting = Setting(Times(30, 100))
    setting.poll({"cpu": {"a": 0.5}})
    setting.poll({"cpu": {"a": 0.5}})
    setting.poll(OSError("refused"))
    assert setting.refreshed == 1
    setting.poll({"cpu": {"a": 0.6}})
    assert setting.refreshed == 2
    setting.clock.advance(101)
    setting.poll({})  # the value goes, which may let a pod pass that is content without one
    assert setting.refreshed == 3


def test_the_age_of_a_column_goes_on_when_its_values_are_taken_back() -> None:
    setting = Setting(Times(30, 100))
    assert (setting.poller.ages(), setting.poller.trouble()) == ({}, None)
    setting.poll({"cpu": {"a": 0.5}})
    setting.clock.advance(101)
    setting.poll(OSError("refused"))
    assert setting.poller.ages() == {"cpu": 101.0}
    trouble = setting.poller.trouble()
    assert trouble == "OSError: refused; too old and counted as missing: cpu"
    assert ages_of([setting.poller]) == {("cpu",): 101.0}
    setting.poll({"cpu": {"a": 0.5}})
    assert setting.poller.trouble() is None


def test_a_value_that_is_not_repeated_goes() -> None:
    setting = Setting(Times(30, 100))
    setting.poll({"cpu": {"a": 0.5, "b": 0.5}})
    setting.clock.advance(90)
    setting.poll({"cpu": {"a": 0.6}})
    assert (setting.value("a"), setting.value("b")) == (0.6, 0.5)
    assert setting.poller.ages() == {"cpu": 0.0}
    setting.clock.advance(20)
    setting.poll({})
    assert (setting.value("a"), setting.value("b")) == (0.6, None)


def test_a_plugin_may_want_fresher_values() -> None:
    setting = Setting(Times(30, 300, lambda metric: 60 if metric == "latency" else None))
    setting.poll({"cpu": {"a": 0.5}, "latency": {"a": 3.0}})
    setting.clock.advance(61)
    setting.poll({})
    assert (setting.value("a"), setting.value("a", "latency")) == (0.5, None)


@pytest.mark.parametrize("error", [OSError("refused"), KeyError("odd"), ValueError("no number")])
def test_a_source_that_fails_costs_nothing_but_its_values(error: Exception) -> None:
    setting = Setting(Times(30, 100))
    setting.poll({"cpu": {"a": 0.5}})
    setting.poll(error)
    assert setting.poller.last_error.startswith(type(error).__name__)
    assert setting.value("a") == 0.5
    setting.clock.advance(101)
    setting.poll(error)
    assert setting.value("a") is None
    setting.poll({"cpu": {"a": 0.7}})
    assert (setting.value("a"), setting.poller.last_error) == (0.7, "")


def test_it_asks_at_every_interval() -> None:
    setting = Setting(Times(30, 300))

    async def main() -> None:
        task = asyncio.create_task(setting.poller.run())
        await asyncio.sleep(95)
        task.cancel()

    run(main(), setting.clock)
    assert setting.source.asked == 4
