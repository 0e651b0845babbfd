"""The examples work, and are as short as they claim."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import yaml

from bayplan.cycle.attempt import attempt
from bayplan.cycle.desk import Desk
from bayplan.cycle.local import LocalHandle
from bayplan.cycle.outcome import Placed, Unplaced
from bayplan.cycle.record import Ring
from bayplan.framework.config import load_config
from bayplan.framework.dice import Dice
from bayplan.framework.profile import build_profile
from bayplan.model.decode import decode
from bayplan.plugins import default_registry
from bayplan.testing import decide, make_cluster, make_desk, make_node, make_pod

EXAMPLES = Path(__file__).parents[1] / "examples"


def _load(name: str, folder: str = "plugins") -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LowCpuScheduler = _load("low_cpu").LowCpuScheduler


def test_low_cpu_scheduler() -> None:
    cluster = make_cluster(make_node("busy").usage(cpu=0.9), make_node("idle").usage(cpu=0.25))
    answer = decide(make_pod("web"), cluster, LowCpuScheduler)
    assert answer.node == "idle"
    assert answer.why_not("busy") == "cpu usage too high"
    assert answer.score("idle", "LowCpuScheduler") == 75


def test_low_cpu_scheduler_takes_its_threshold_from_the_configuration() -> None:
    cluster = make_cluster(make_node("a").usage(cpu=0.9))
    args = {"LowCpuScheduler": {"threshold": 0.95}}
    assert decide(make_pod("web"), cluster, LowCpuScheduler, args=args).node == "a"


def test_low_cpu_scheduler_is_at_most_fifteen_lines() -> None:
    lines = (EXAMPLES / "plugins" / "low_cpu.py").read_text().splitlines()
    assert len([line for line in lines if line.strip()]) <= 15


def test_first_fit_is_a_whole_scheduler() -> None:
    cluster = make_cluster(make_node("b"), make_node("a"), make_pod("r").requests(cpu="3").on("a"))
    desk = make_desk(cluster)
    desk.algorithm = _load("first_fit").FirstFit()
    outcome = attempt(cluster.info(make_pod("web").requests(cpu="2").build()), desk)
    assert isinstance(outcome, Placed)
    assert outcome.node == "b"


def test_the_extender_s_plugin_is_at_most_twenty_lines_and_works_in_a_scheduler_too() -> None:
    lines = (EXAMPLES / "extender" / "fast_disk.py").read_text().splitlines()
    assert len(lines) <= 20
    fast = _load("fast_disk", "extender").FastDisk
    cluster = make_cluster(make_node("a").label("disk", "fast"), make_node("b"))
    answer = decide(make_pod("web").label("disk", "fast"), cluster, fast)
    assert answer.node == "a"
    assert answer.why_not("b") == "disk is slow"


@pytest.mark.parametrize(
    "path", sorted((EXAMPLES / "policies").glob("*.yaml")), ids=lambda path: path.stem
)
def test_configurations_of_policies_load(path: Path) -> None:
    loaded = load_config(path, default_registry())
    assert not loaded.warnings
    assert loaded.own.providers


def test_two_teams_with_quotas_and_fair_queues() -> None:
    loaded = load_config(EXAMPLES / "quotas" / "scheduler.yaml", default_registry())
    assert not loaded.warnings
    objects = [
        decode(one) for one in yaml.safe_load_all((EXAMPLES / "quotas" / "teams.yaml").read_text())
    ]
    borrowed = [make_pod(f"p{i}", "team-a").on("n").requests(cpu="1") for i in range(6)]
    cluster = make_cluster(make_node("n").capacity(cpu="32"), *objects, *borrowed)
    dice = Dice(0)
    handle = LocalHandle(cluster.view, "bayplan", dice)
    profile = build_profile(loaded.profiles[0], default_registry(), handle)
    desk = Desk(cluster, profile, dice, Ring(), handle)
    ours, theirs = (make_pod("next", f"team-{team}").requests(cpu="1") for team in "ab")
    refused = attempt(cluster.info(ours.build()), desk)
    assert isinstance(refused, Unplaced)
    assert "quota of namespace team-a: cpu 6 of max 6 used" in refused.message
    assert isinstance(attempt(cluster.info(theirs.build()), desk), Placed)
    assert profile.queue_sort[0].next_lane(["training", "product"]) == "product"


def test_my_custom_plugins() -> None:
    one, other = _load("my_custom_plugin_a").MyCustomPluginA, _load("my_custom_plugin_b")
    cluster = make_cluster(
        make_node("a").label("team", "red").capacity(pods="4"),
        make_node("b").capacity(pods="4"),
        make_pod("r").on("a"),
    )
    answer = decide(make_pod("p").label("team", "red"), cluster, one, other.MyCustomPluginB)
    assert [answer.score(node, "MyCustomPluginA") for node in "ab"] == [100, 0]
    assert [answer.score(node, "MyCustomPluginB") for node in "ab"] == [75, 100]


def test_custom_plugin_has_no_opinion() -> None:
    cluster = make_cluster(make_node("a"), make_node("b").usage(cpu=1))
    answer = decide(make_pod("p"), cluster, _load("custom_plugin").CustomPlugin)
    assert [answer.score(node, "CustomPlugin") for node in "ab"] == [100, 100]
