from __future__ import annotations

from dataclasses import replace

import pytest

from bayplan.cycle.reserve import Placement
from bayplan.framework.registry import Registry
from bayplan.framework.state import CycleState
from bayplan.plugins import default_plugins
from bayplan.runtime.coordination.races import Races
from bayplan.testing import make_cluster, make_desk, make_node, make_pod
from bayplan.testing.scheduler import desk_of_profile


class Setting:
    """A pod that was decided for node n, which has 4 CPUs."""

    def __init__(self, cpu: str = "3") -> None:
        self.cluster = make_cluster(
            make_node("n").capacity(cpu="4", pods="3"), make_node("m").capacity(cpu="4")
        )
        self.races = Races(self.cluster)
        pod = self.cluster.info(make_pod("ours").requests(cpu=cpu).build())
        self.cluster.put_pod(pod)
        self.cluster.assume(pod, "n")
        profile = make_desk(self.cluster).profile
        self.placement = Placement(pod, "n", profile, CycleState())

    def foreign(self, name: str, cpu: str, node: str = "n") -> None:
        self.cluster.put(make_pod(name).requests(cpu=cpu).on(node).build())
        self.races.on_foreign(node)


def test_nobody_else_came() -> None:
    setting = Setting()
    assert not setting.races.is_lost(setting.placement, setting.races.moment)


@pytest.mark.parametrize(
    ("cpu", "node", "lost"),
    [
        pytest.param("1", "n", False, id="room for both"),
        pytest.param("2", "n", True, id="too little for both"),
        pytest.param("2", "m", False, id="on another node"),
    ],
)
def test_somebody_else_came(cpu: str, node: str, lost: bool) -> None:
    setting = Setting()
    since = setting.races.moment
    setting.foreign("theirs", cpu, node)
    assert setting.races.is_lost(setting.placement, since) is lost


def test_who_was_there_before_the_decision_was_counted() -> None:
    setting = Setting()
    setting.foreign("theirs", "2")
    assert not setting.races.is_lost(setting.placement, setting.races.moment)


def test_what_the_pod_does_not_ask_for_does_not_matter() -> None:
    setting = Setting(cpu="0")
    since = setting.races.moment
    setting.foreign("theirs", "9")
    assert not setting.races.is_lost(setting.placement, since)


def test_no_place_for_one_more_pod() -> None:
    setting = Setting(cpu="0")
    since = setting.races.moment
    for number in range(3):
        setting.foreign(f"theirs-{number}", "0")
    assert setting.races.is_lost(setting.placement, since)


def test_a_profile_that_does_not_look_at_room_loses_no_race() -> None:
    setting = Setting()
    without = {"plugins": {"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}}}
    desk = desk_of_profile(setting.cluster, without, Registry(default_plugins()))
    placement = replace(setting.placement, profile=desk.profile)
    since = setting.races.moment
    setting.foreign("theirs", "9")
    assert not setting.races.is_lost(placement, since)


def test_nodes_that_are_gone_are_forgotten() -> None:
    races = Setting().races
    for number in range(10_000):
        races.on_foreign(f"gone-{number}")
    assert len(races._last) < 500
