"""What ``bayplan`` exports: all that a plugin needs, documented, and cheap to import."""

from __future__ import annotations

import inspect
import subprocess
import sys
import tomllib
import types
from pathlib import Path

import pytest

import bayplan
from bayplan.framework.plugin import POINTS
from bayplan.framework.registry import Registry
from bayplan.testing import decide, make_cluster, make_node, make_pod

CLASSES = {
    name: found for name in bayplan.__all__ if inspect.isclass(found := getattr(bayplan, name))
}


def test_every_name_that_is_listed_is_there_and_every_one_that_is_there_is_listed() -> None:
    there = {
        name
        for name, value in vars(bayplan).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert there == set(bayplan.__all__) - {"__version__"}
    assert len(set(bayplan.__all__)) == len(bayplan.__all__)


def test_every_extension_point_can_be_inherited_from_here() -> None:
    assert [point.__name__ for point in POINTS.values() if point not in CLASSES.values()] == []


@pytest.mark.parametrize("name", CLASSES)
def test_classes_and_their_methods_say_what_they_are(name: str) -> None:
    found = CLASSES[name]
    assert found.__doc__
    silent = [
        f"{name}.{attribute}"
        for attribute, value in vars(found).items()
        if not attribute.startswith("_")
        and (inspect.isfunction(value) or isinstance(value, property | classmethod))
        and not inspect.getdoc(getattr(found, attribute))
    ]
    assert silent == []


def test_the_version_is_that_of_the_package() -> None:
    pyproject = Path(__file__).parents[1] / "pyproject.toml"
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    assert project.get("version", bayplan.__version__) == bayplan.__version__


def test_importing_it_brings_in_no_shell() -> None:
    """A plugin's test starts at once: no sockets, no servers, no client."""
    program = "import bayplan, sys; print(*sorted(name for name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    loaded = set(done.stdout.split())
    shell = {"asyncio", "aiohttp", "click", "rich", "ssl"}
    packages = {f"bayplan.{name}" for name in ("client", "runtime", "serve", "embedded", "cli")}
    assert loaded & (shell | packages) == set()


#: Most of what a plugin may use; Rack spreads the pods of a team over racks that have power left.
RACK = '''
"""Racks with power left, and no two pods of a team in one."""

from bayplan import (
    SKIP,
    Action,
    ClusterView,
    CycleState,
    FilterPlugin,
    Hint,
    NodeInfo,
    OnlyNodes,
    PodInfo,
    PreFilterPlugin,
    Rejected,
    Resource,
    ScorePlugin,
    StateKey,
    WakeOn,
    unresolvable,
)

TAKEN = StateKey[set[str]]("racks of the team")


class Rack(PreFilterPlugin, FilterPlugin, ScorePlugin):
    max_power: float = 500

    def prefilter(self, pod: PodInfo, view: ClusterView, state: CycleState):
        team = pod.labels.get("team")
        if team is None:
            return SKIP
        racked = [view.nodes.node(i) for i in range(len(view.nodes)) if view.nodes.alive[i]]
        state[TAKEN] = {
            node.labels["rack"]
            for node in racked
            for other in node.pods
            if other.labels.get("team") == team
        }
        return OnlyNodes(frozenset(node.name for node in racked if "rack" in node.labels))

    def filter_node(self, pod: PodInfo, node: NodeInfo):
        if node.usage.power > self.max_power:
            return Rejected("the rack has no power left")
        if node.labels.get("retired"):
            return unresolvable("the rack is retired")

    def score_node(self, pod: PodInfo, node: NodeInfo):
        return 100 * (1 - node.usage.power / self.max_power)

    def wakes_on(self):
        return [WakeOn(Resource.NODE, Action.ADD, lambda pod, old, new: Hint.QUEUE)]
'''


def test_a_plugin_file_that_imports_nothing_but_bayplan(tmp_path: Path) -> None:
    (tmp_path / "rack.py").write_text(RACK)
    (rack,) = Registry().add_directory(tmp_path)
    assert rack.points() == ("preFilter", "filter", "score")
    cluster = make_cluster(
        make_node("low").label("rack", "r1").usage(power=100),
        make_node("high").label("rack", "r2").usage(power=350),
        make_node("over").label("rack", "r3").usage(power=501),
        make_node("old").label("rack", "r4").label("retired", "yes").usage(power=0),
        make_node("loose").usage(power=0),
    )
    answer = decide(make_pod("web").label("team", "a"), cluster, rack)
    assert answer.node == "low"
    assert (answer.score("low", "Rack"), answer.score("high", "Rack")) == (80, 30)
    assert answer.why_not("over") == "the rack has no power left"
    assert answer.why_not("old") == "the rack is retired"
    assert answer.why_not("loose") == "node(s) didn't satisfy plugin(s) [Rack]"

    args = {"Rack": {"maxPower": 900}}
    assert (
        decide(make_pod("web").label("team", "a"), cluster, rack, args=args).why_not("over") == ""
    )
    assert decide(make_pod("other"), cluster, rack).why_not("loose") == ""
