"""DefaultPreemption: words, eligibility and picks by table; victims by comparison with a scalar reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.nodeinfo import NodeInfo
from bayplan.cluster.podinfo import PodInfo
from bayplan.cluster.thinned import LowerPods
from bayplan.cluster.view import ClusterView, Nodes
from bayplan.cycle.preempt import Chain, DryRunEngine
from bayplan.errors import BayplanError
from bayplan.framework.events import Hint
from bayplan.framework.plugin import FilterPlugin, PreFilterPlugin
from bayplan.framework.preemption import Nominated, NoRoom, PreemptExtender
from bayplan.framework.state import CycleState
from bayplan.framework.status import Code, Rejected, unresolvable
from bayplan.framework.victims.candidates import Candidates
from bayplan.framework.victims.evictions import Evictions
from bayplan.framework.victims.search import Search
from bayplan.model.decode import decode
from bayplan.plugins.default_preemption import DefaultPreemption
from bayplan.plugins.node_ports import NodePorts
from bayplan.plugins.node_resources_fit import NodeResourcesFit

# --- building ----------------------------------------------------------------------------------------------------------


def a_node(name: str, cpu: int = 4, pods: int = 10, **labels: str) -> Any:
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "status": {"allocatable": {"cpu": str(cpu), "memory": "64Gi", "pods": str(pods)}},
        }
    )


@dataclass
class P:
    """A pod in few words."""

    name: str
    node: str = ""
    cpu: int = 0
    priority: int = 0
    started: int | None = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    port: int = 0
    terminating: bool = False
    disrupted: bool = False
    nominated: str = ""
    policy: str | None = None

    def model(self) -> Any:
        container: dict[str, Any] = {"name": "c", "resources": {"requests": {}}}
        if self.cpu:
            container["resources"]["requests"]["cpu"] = str(self.cpu)
        if self.port:
            container["ports"] = [{"hostPort": self.port, "containerPort": self.port}]
        metadata: dict[str, Any] = {
            "name": self.name,
            "namespace": "default",
            "uid": f"uid-{self.name}",
            "labels": dict(self.labels),
        }
        if self.terminating:
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        spec: dict[str, Any] = {"priority": self.priority, "containers": [container]}
        if self.node:
            spec["nodeName"] = self.node
        if self.policy:
            spec["preemptionPolicy"] = self.policy
        status: dict[str, Any] = {}
        if self.started is not None:
            status["startTime"] = f"2026-01-01T00:{self.started // 60:02}:{self.started % 60:02}Z"
        if self.nominated:
            status["nominatedNodeName"] = self.nominated
        if self.disrupted:
            status["conditions"] = [
                {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
            ]
        return decode(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": metadata,
                "spec": spec,
                "status": status,
            }
        )


def a_budget(
    name: str,
    match: Mapping[str, str] | None,
    allowed: int = 0,
    disrupted: Sequence[str] = (),
    namespace: str = "default",
) -> Any:
    return decode(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {} if match is None else {"selector": {"matchLabels": dict(match)}},
            "status": {
                "disruptionsAllowed": allowed,
                "disruptedPods": dict.fromkeys(disrupted, "2026-01-01T00:00:00Z"),
            },
        }
    )


class CountsPods(PreFilterPlugin):
    """Does nothing but ask to hear of pods that come and go: nodes are then judged one by one."""

    def prefilter(self, pod: PodInfo, view: ClusterView, state: CycleState) -> None:
        return None

    def add_pod(
        self, pod: PodInfo, added: PodInfo, node: NodeInfo, view: ClusterView, state: CycleState
    ) -> Rejected | None:
        return None


class BreaksOn(PreFilterPlugin):
    """Fails when a pod of one node is taken away."""

    name = "test-plugin"
    node = "n1"

    def prefilter(self, pod: PodInfo, view: ClusterView, state: CycleState) -> None:
        return None

    def remove_pod(
        self, pod: PodInfo, removed: PodInfo, node: NodeInfo, view: ClusterView, state: CycleState
    ) -> Rejected | None:
        return Rejected("failed to remove pod: p") if node.name == self.node else None


class FakeFailures:
    def __init__(
        self,
        rows: Iterable[int],
        verdicts: Mapping[int, Rejected] | None = None,
        prefilter: Rejected | None = None,
    ) -> None:
        self.rows = np.array(sorted(rows), np.intp)
        self.verdicts = verdicts or {}
        self.rejected_by_prefilter = prefilter

    def rows_with(self, code: int) -> NDArray[np.intp]:
        return self.rows if code == Code.UNSCHEDULABLE else np.empty(0, np.intp)

    def verdict(self, row: int) -> Rejected | None:
        return self.verdicts.get(row, Rejected("full"))


class FakeHandle:
    """The two things that preemption asks for."""

    def __init__(self, dry_run: DryRunEngine, offset: int = 0) -> None:
        self.dry_run = dry_run
        self.offset = offset

    def random_below(self, n: int) -> int:
        return self.offset % n


class Case:
    """A cluster, a pod that fits nowhere, and the plugin at work on it."""

    def __init__(
        self,
        nodes: Iterable[Any],
        pods: Iterable[P],
        pod: P,
        *,
        budgets: Iterable[Any] = (),
        plugins: Sequence[Any] | None = None,
        extenders: Sequence[PreemptExtender] = (),
        offset: int = 0,
        args: Mapping[str, int] | None = None,
    ) -> None:
        self.cluster = Cluster()
        for obj in (*nodes, *(p.model() for p in pods), *budgets):
            self.cluster.put(obj)
        self.pod = self.cluster.info(pod.model())
        self.state = CycleState()
        plugins = [NodePorts(), NodeResourcesFit(), *(plugins or ())]
        for plugin in plugins:
            if isinstance(plugin, PreFilterPlugin):
                plugin.prefilter(self.pod, self.cluster.view, self.state)
        chain = Chain(
            tuple(p for p in plugins if isinstance(p, FilterPlugin)),
            tuple(p for p in plugins if isinstance(p, PreFilterPlugin)),
        )
        self.engine = DryRunEngine(chain, self.cluster.view, self.cluster.nominations, extenders)
        handle: Any = FakeHandle(self.engine, offset)
        self.plugin = DefaultPreemption(DefaultPreemption.args_type(**(args or {})), handle)

    def rows(self, *names: str) -> list[int]:
        row_of = self.cluster.nodes.row_of
        return [row_of[name] for name in names or row_of]

    def run(self, failures: FakeFailures | None = None) -> Nominated | Rejected:
        failures = failures or FakeFailures(self.rows())
        return self.plugin.postfilter(self.pod, self.cluster.view, self.state, failures)

    def found(self, wanted: int = 1000) -> Candidates:
        found = Candidates(wanted)
        cluster, priority = self.cluster, self.pod.priority
        search = Search(
            self.pod,
            cluster.view,
            self.state,
            self.engine,
            lambda rows: LowerPods(cluster, rows, priority),
        )
        search.run(np.array(self.rows(), np.intp), found)
        return found


def shown(answer: Nominated | Rejected) -> Any:
    if isinstance(answer, Nominated):
        return answer.node, [victim.name for victim in answer.victims]
    return answer.code.label, answer.message


TOGETHER_AND_ALONE = pytest.mark.parametrize(
    "plugins", [[], [CountsPods()]], ids=["nodes together", "nodes one by one"]
)
PASS = "preemption: "
HIGH, MID, LOW = 100, 50, 10

# --- words -------------------------------------------------------------------------------------------------------------


@TOGETHER_AND_ALONE
@pytest.mark.parametrize(
    ("nodes", "pods", "pod", "tried", "expected"),
    [
        pytest.param(
            [a_node("n1", pods=1)],
            [P("p1", "n1")],
            P("p", priority=HIGH),
            ["n1"],
            ("n1", ["p1"]),
            id="the one pod in the way goes",
        ),
        pytest.param(
            [a_node("n1", pods=1)],
            [P("p1", "n1", priority=HIGH)],
            P("p", priority=HIGH),
            ["n1"],
            "0/1 nodes are available: 1 No preemption victims found for incoming pod.",
            id="equal priority is safe",
        ),
        pytest.param(
            [a_node("n1", pods=1)],
            [P("p1", "n1")],
            P("p", priority=HIGH),
            [],
            "0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
            id="no node that eviction could help",
        ),
        pytest.param(
            [a_node("n1", pods=1), a_node("n2", pods=1)],
            [P("p1", "n1", priority=HIGH), P("p2", "n2", priority=LOW)],
            P("p", priority=MID),
            ["n1", "n2"],
            ("n2", ["p2"]),
            id="only one of two nodes can be cleared",
        ),
        pytest.param(
            [a_node("n1"), a_node("n2")],
            [P("p1", "n1"), P("p2", "n2")],
            P("p", priority=HIGH, cpu=9),
            ["n1", "n2"],
            "0/2 nodes are available: 2 Insufficient cpu.",
            id="too small even when empty",
        ),
        pytest.param(
            [a_node("n1", pods=1), a_node("n2"), a_node("n3", pods=1)],
            [P("p1", "n1", priority=HIGH), P("p2", "n2"), P("p3", "n3", priority=HIGH)],
            P("p", priority=HIGH, cpu=9),
            ["n1", "n2", "n3"],
            "0/3 nodes are available: 1 Insufficient cpu, "
            "2 No preemption victims found for incoming pod.",
            id="mixed reasons",
        ),
        pytest.param(
            [a_node(f"n{i}") for i in range(1, 5)],
            [P("p1", "n1"), P("p2", "n2")],
            P("p", priority=HIGH, cpu=9),
            ["n1", "n2"],
            "0/4 nodes are available: 2 Insufficient cpu, "
            "2 Preemption is not helpful for scheduling.",
            id="nodes that were not tried are counted too",
        ),
        pytest.param(
            [a_node(f"n{i:02}", pods=1) for i in range(12)],
            [P("p1", "n00", priority=HIGH), P("p2", "n01", priority=HIGH)],
            P("p", priority=HIGH),
            ["n00", "n01"],
            "0/12 nodes are available: 10 Preemption is not helpful for scheduling, "
            "2 No preemption victims found for incoming pod.",
            id="counts are sorted as text",
        ),
        pytest.param(
            [a_node("n1")],
            [P("p1", "n1", port=80)],
            P("p", priority=HIGH, port=80),
            ["n1"],
            ("n1", ["p1"]),
            id="a port is freed",
        ),
        pytest.param(
            [a_node("n1")],
            [P("p1", "n1", priority=HIGH, port=80), P("p2", "n1", cpu=4)],
            P("p", priority=HIGH, cpu=1, port=80),
            ["n1"],
            "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
            id="the first filter that fails gives the reason",
        ),
        pytest.param(
            [a_node("n1")],
            [P("p1", "n1", cpu=4, terminating=True)],
            P("p", priority=HIGH, cpu=1),
            ["n1"],
            ("n1", ["p1"]),
            id="a pod on its way out is a victim like any other",
        ),
    ],
)
def test_answers(
    nodes: list[Any], pods: list[P], pod: P, tried: list[str], expected: Any, plugins: list[Any]
) -> None:
    case = Case(nodes, pods, pod, plugins=plugins)
    answer = case.run(FakeFailures(case.rows(*tried) if tried else []))
    if isinstance(expected, str):
        assert isinstance(answer, NoRoom)
        expected = ("Unschedulable", PASS + expected)
    assert shown(answer) == expected


def test_a_node_where_a_plugin_breaks_is_passed_over() -> None:
    nodes = [a_node("n1"), a_node("n2")]
    pods = [P("p1", "n1", cpu=4), P("p2", "n2", cpu=4)]
    case = Case(nodes, pods, P("p", priority=HIGH, cpu=4), plugins=[BreaksOn()])
    assert shown(case.run()) == ("n2", ["p2"])


def test_an_error_is_told_where_nothing_else_was_found() -> None:
    case = Case([a_node("n1")], [P("p1", "n1")], P("p", priority=HIGH), plugins=[BreaksOn()])
    assert shown(case.run()) == (
        "Error",
        'preemption: running RemovePod on PreFilter plugin "test-plugin": failed to remove pod: p',
    )


@TOGETHER_AND_ALONE
def test_a_node_that_fits_as_it_is_is_an_error(plugins: list[Any]) -> None:
    nodes, pods = [a_node("n1"), a_node("n2")], [P("p1", "n1"), P("p2", "n2")]
    case = Case(nodes, pods, P("p", priority=HIGH), plugins=plugins)
    assert shown(case.run()) == (
        "Error",
        'preemption: [expected at least one victim pod on node "n1", '
        'expected at least one victim pod on node "n2"]',
    )


def test_no_nodes_at_all() -> None:
    answer = Case([], [], P("p", priority=HIGH)).run()
    assert shown(answer) == ("Error", "preemption: no nodes available")


# --- who may preempt ---------------------------------------------------------------------------------------------------

LEAVING = P("p1", "n1", cpu=4, terminating=True, disrupted=True)
WAITS = "preemption: not eligible due to a terminating pod on the nominated node."


@pytest.mark.parametrize(
    ("pods", "pod", "failures", "expected"),
    [
        pytest.param(
            [P("p1", "n1", cpu=4)],
            P("p", priority=HIGH, cpu=4, policy="Never"),
            {},
            "preemption: not eligible due to preemptionPolicy=Never.",
            id="a pod that never preempts",
        ),
        pytest.param(
            [LEAVING],
            P("p", priority=HIGH, cpu=4, nominated="n1"),
            {},
            WAITS,
            id="its victims are on their way out",
        ),
        pytest.param(
            [P("p1", "n1", cpu=4, terminating=True)],
            P("p", priority=HIGH, cpu=4, nominated="n1"),
            {},
            None,
            id="a pod leaves for another reason",
        ),
        pytest.param(
            [P("p1", "n1", cpu=4, disrupted=True)],
            P("p", priority=HIGH, cpu=4, nominated="n1"),
            {},
            None,
            id="a victim that has not begun to leave",
        ),
        pytest.param(
            [P("p1", "n1", cpu=4, priority=HIGH, terminating=True, disrupted=True)],
            P("p", priority=HIGH, cpu=4, nominated="n1"),
            {},
            "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
            id="a victim of somebody more important",
        ),
        pytest.param(
            [LEAVING],
            P("p", priority=HIGH, cpu=4, nominated="n1"),
            {"verdicts": {0: unresolvable("gone bad")}},
            None,
            id="the promised node is of no use any more",
        ),
        pytest.param(
            [LEAVING],
            P("p", priority=HIGH, cpu=4, nominated="n1"),
            {"prefilter": Rejected("no")},
            WAITS,
            id="PreFilter turned the pod down for now",
        ),
        pytest.param(
            [LEAVING],
            P("p", priority=HIGH, cpu=4, nominated="elsewhere"),
            {},
            None,
            id="the promised node does not exist",
        ),
    ],
)
def test_eligibility(
    pods: list[P], pod: P, failures: Mapping[str, Any], expected: str | None
) -> None:
    case = Case([a_node("n1")], pods, pod)
    answer = case.run(FakeFailures([0], **failures))
    if expected is None:
        assert shown(answer) == ("n1", ["p1"])
    else:
        assert shown(answer) == ("Unschedulable", expected)
        assert isinstance(answer, NoRoom) == ("0/1" in expected)


# --- which pods ---------------------------------------------------------------------------------------------------------

WEB = {"app": "web"}


@TOGETHER_AND_ALONE
@pytest.mark.parametrize(
    ("pods", "budgets", "cpu", "victims", "violations"),
    [
        pytest.param(
            [P("old", cpu=2, started=1), P("young", cpu=2, started=2)],
            [],
            2,
            ["young"],
            0,
            id="among equals the younger goes",
        ),
        pytest.param(
            [P("one", cpu=2, started=None), P("two", cpu=2, started=None)],
            [],
            2,
            ["one"],
            0,
            id="of two that have not started the first goes",
        ),
        pytest.param(
            [P("new", cpu=2, started=None), P("old", cpu=2, started=900)],
            [],
            2,
            ["new"],
            0,
            id="one that has not started goes before one that has",
        ),
        pytest.param(
            [P("low", cpu=2, priority=1), P("mid", cpu=2, priority=2)],
            [],
            2,
            ["low"],
            0,
            id="the less important goes",
        ),
        pytest.param(
            [P("small", cpu=1, priority=1), P("big", cpu=3, priority=2)],
            [],
            2,
            ["big"],
            0,
            id="the more important goes where that alone helps",
        ),
        pytest.param(
            [P("guarded", cpu=2, labels=WEB), P("free", cpu=2, priority=1)],
            [a_budget("b", WEB)],
            2,
            ["free"],
            0,
            id="a budget protects a pod from a more important one",
        ),
        pytest.param(
            [P("guarded", cpu=2, labels=WEB), P("free", cpu=2, priority=1)],
            [a_budget("b", WEB, allowed=1)],
            2,
            ["guarded"],
            0,
            id="a budget with room protects nobody",
        ),
        pytest.param(
            [P("a", cpu=2, labels=WEB, started=1), P("b", cpu=2, labels=WEB, started=2)],
            [a_budget("b", WEB, allowed=1)],
            4,
            ["a", "b"],
            1,
            id="the budget is used up by the first",
        ),
        pytest.param(
            [P("a", cpu=2, labels=WEB, started=1), P("b", cpu=2, labels=WEB, started=2)],
            [a_budget("b", WEB, allowed=1, disrupted=["a"])],
            4,
            ["a", "b"],
            0,
            id="a pod whose eviction was granted is not counted again",
        ),
        pytest.param(
            [P("a", cpu=4, labels=WEB)],
            [a_budget("b", {}), a_budget("c", None), a_budget("d", WEB, namespace="other")],
            4,
            ["a"],
            0,
            id="budgets that cover nothing here",
        ),
        pytest.param(
            [
                P("a", cpu=1, labels={"app": "web", "x": "1"}, started=1),
                P("b", cpu=1, labels={"app": "web"}, started=2),
                P("c", cpu=2, priority=1),
            ],
            [a_budget("b", {"x": "1"}), a_budget("c", WEB, allowed=1)],
            3,
            ["c", "b"],
            1,
            id="a pod counts in every budget that covers it",
        ),
    ],
)
def test_victims(
    pods: list[P],
    budgets: list[Any],
    cpu: int,
    victims: list[str],
    violations: int,
    plugins: list[Any],
) -> None:
    for pod in pods:
        pod.node = "n1"
    case = Case(
        [a_node("n1")], pods, P("p", priority=HIGH, cpu=cpu), budgets=budgets, plugins=plugins
    )
    answer = case.run()
    assert isinstance(answer, Nominated)
    assert shown(answer) == ("n1", victims)
    assert answer.violations == violations


def test_what_is_to_be_done_about_the_others() -> None:
    pods = [
        P("gone", "n1", cpu=2, terminating=True),
        P("here", "n1", cpu=2),
        P("lower", nominated="n1", priority=LOW, started=None),
        P("higher", nominated="n1", priority=HIGH, started=None),
    ]
    answer = Case([a_node("n1")], pods, P("p", priority=MID, cpu=4)).run()
    assert isinstance(answer, Nominated)
    assert [victim.name for victim in answer.victims] == ["gone", "here"]
    assert [victim.name for victim in answer.to_delete] == ["here"]
    assert [other.name for other in answer.outbid] == ["lower"]


# --- which node ---------------------------------------------------------------------------------------------------------


@TOGETHER_AND_ALONE
@pytest.mark.parametrize(
    ("pods", "budgets", "node"),
    [
        pytest.param(
            [P("a", "n1", cpu=4, labels=WEB), P("b", "n2", cpu=4, priority=9)],
            [a_budget("b", WEB)],
            "n2",
            id="fewest budgets violated",
        ),
        pytest.param(
            [P("a", "n1", cpu=4, priority=2), P("b", "n2", cpu=4, priority=1)],
            [],
            "n2",
            id="the least important victim",
        ),
        pytest.param(
            [
                P("a", "n1", cpu=2, priority=2),
                P("b", "n1", cpu=2, priority=2),
                P("c", "n2", cpu=2, priority=2),
                P("d", "n2", cpu=2, priority=1),
            ],
            [],
            "n2",
            id="the smallest sum of priorities",
        ),
        pytest.param(
            [
                P("a", "n1", cpu=2, priority=-5),
                P("b", "n1", cpu=2, priority=-5),
                P("c", "n2", cpu=4, priority=-5),
            ],
            [],
            "n2",
            id="fewest victims, although their priorities are negative",
        ),
        pytest.param(
            [
                P("a", "n1", cpu=2, priority=2, started=1),
                P("b", "n1", cpu=2, priority=1, started=9),
                P("c", "n2", cpu=2, priority=2, started=2),
                P("d", "n2", cpu=2, priority=1, started=0),
            ],
            [],
            "n2",
            id="the youngest of the most important victims",
        ),
        pytest.param(
            [P("a", "n1", cpu=4, started=900), P("b", "n2", cpu=4, started=None)],
            [],
            "n2",
            id="a victim that has not started is the youngest",
        ),
        pytest.param(
            [P("a", "n1", cpu=4), P("b", "n2", cpu=4)], [], "n1", id="the first among equals"
        ),
    ],
)
def test_pick(pods: list[P], budgets: list[Any], node: str, plugins: list[Any]) -> None:
    case = Case(
        [a_node("n1"), a_node("n2")],
        pods,
        P("p", priority=HIGH, cpu=4),
        budgets=budgets,
        plugins=plugins,
    )
    answer = case.run()
    assert isinstance(answer, Nominated)
    assert answer.node == node


def test_the_search_starts_at_a_random_node() -> None:
    nodes = [a_node(f"n{i}") for i in range(5)]
    pods = [P(f"p{i}", f"n{i}", cpu=4) for i in range(5)]
    answer = Case(nodes, pods, P("p", priority=HIGH, cpu=4), offset=3).run()
    assert shown(answer) == ("n3", ["p3"])


@pytest.mark.parametrize(
    ("nodes", "args", "expected"),
    [
        pytest.param(50, {}, 50, id="never more than there are"),
        pytest.param(500, {}, 100, id="at least so many"),
        pytest.param(2000, {}, 200, id="at least that share"),
        pytest.param(
            99,
            {"min_candidate_nodes_percentage": 50, "min_candidate_nodes_absolute": 1},
            49,
            id="shares are cut down",
        ),
    ],
)
def test_how_many_candidates_are_enough(nodes: int, args: Mapping[str, int], expected: int) -> None:
    assert DefaultPreemption(DefaultPreemption.args_type(**args)).enough(nodes) == expected


FEW = {"min_candidate_nodes_percentage": 0, "min_candidate_nodes_absolute": 2}


@TOGETHER_AND_ALONE
def test_the_search_ends_with_candidates_enough(plugins: list[Any]) -> None:
    nodes = [a_node(f"n{i}") for i in range(6)]
    pods = [P(f"p{i}", f"n{i}", cpu=4, priority=9 - i) for i in range(6)]
    case = Case(nodes, pods, P("p", priority=HIGH, cpu=4), plugins=plugins, args=FEW)
    assert shown(case.run()) == ("n1", ["p1"])


@TOGETHER_AND_ALONE
def test_the_search_goes_on_until_a_candidate_violates_no_budget(plugins: list[Any]) -> None:
    nodes = [a_node(f"n{i}") for i in range(6)]
    pods = [P(f"p{i}", f"n{i}", cpu=4, labels=WEB if i < 4 else {}) for i in range(6)]
    case = Case(
        nodes,
        pods,
        P("p", priority=HIGH, cpu=4),
        plugins=plugins,
        budgets=[a_budget("b", WEB)],
        args=FEW,
    )
    assert shown(case.run()) == ("n4", ["p4"])
    # Of those that do violate one, only as many are kept as were wanted.
    assert len(case.found(2)) == 3


def test_a_share_of_nothing_finds_nothing() -> None:
    args = {"min_candidate_nodes_percentage": 10, "min_candidate_nodes_absolute": 0}
    answer = Case(
        [a_node("n1")], [P("a", "n1", cpu=4)], P("p", priority=HIGH, cpu=4), args=args
    ).run()
    assert shown(answer) == (
        "Unschedulable",
        "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
    )


# --- extenders ----------------------------------------------------------------------------------------------------------


class Keeps:
    """An extender that leaves what it is told to."""

    def __init__(self, *nodes: str, ignorable: bool = False, asked: bool = True) -> None:
        self.nodes = nodes
        self.ignorable = ignorable
        self.asked = asked

    def judges_preemption(self, pod: PodInfo) -> bool:
        return self.asked

    def preempt(self, pod: PodInfo, proposals: Mapping[str, Nominated]) -> Mapping[str, Nominated]:
        if "fail" in self.nodes:
            raise BayplanError("it broke")
        if "empty" in self.nodes:
            return {node: Nominated(node, []) for node in proposals}
        return {node: proposals[node] for node in self.nodes if node in proposals}


@pytest.mark.parametrize(
    ("extenders", "expected"),
    [
        pytest.param([Keeps("n2")], ("n2", ["b"]), id="the dearer node is all that is left"),
        pytest.param([Keeps("n1", "n2")], ("n1", ["a"]), id="the cheapest of what is left"),
        pytest.param(
            [Keeps("n1"), Keeps("n2")],
            ("Unschedulable", "preemption: no candidate node for preemption"),
            id="nothing is left",
        ),
        pytest.param([Keeps("n2", asked=False)], ("n1", ["a"]), id="not asked"),
        pytest.param([Keeps("fail")], ("Error", "preemption: it broke"), id="a failure"),
        pytest.param(
            [Keeps("fail", ignorable=True), Keeps("n2")], ("n2", ["b"]), id="a failure passed over"
        ),
        pytest.param(
            [Keeps("empty")],
            ("Error", 'preemption: expected at least one victim pod on node "n1"'),
            id="no victims",
        ),
        pytest.param(
            [Keeps("empty", ignorable=True)],
            ("Unschedulable", "preemption: no candidate node for preemption"),
            id="no victims, passed over",
        ),
    ],
)
def test_extenders(extenders: list[Any], expected: Any) -> None:
    case = Case(
        [a_node("n1"), a_node("n2")],
        [P("a", "n1", cpu=4, priority=1), P("b", "n2", cpu=4, priority=2)],
        P("p", priority=HIGH, cpu=4),
        extenders=extenders,
    )
    assert shown(case.run()) == expected


# --- arguments, queue ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("percentage", "absolute", "complaints"),
    [
        pytest.param(10, 100, [], id="the defaults"),
        pytest.param(
            -1,
            100,
            ["minCandidateNodesPercentage: Invalid value: -1: not in valid range [0, 100]"],
            id="negative share",
        ),
        pytest.param(
            900,
            100,
            ["minCandidateNodesPercentage: Invalid value: 900: not in valid range [0, 100]"],
            id="more than all",
        ),
        pytest.param(
            20,
            -1,
            ["minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)"],
            id="negative number",
        ),
        pytest.param(
            0,
            0,
            [
                "minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as "
                "minCandidateNodesAbsolute",
                "minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the same time as "
                "minCandidateNodesPercentage",
            ],
            id="nothing at all",
        ),
    ],
)
def test_arguments(percentage: int, absolute: int, complaints: list[str]) -> None:
    args = DefaultPreemption.args_type(
        min_candidate_nodes_percentage=percentage, min_candidate_nodes_absolute=absolute
    )
    said = [f"{path}: {what}" for path, what in DefaultPreemption.check_args(args)]
    assert said == complaints


def test_a_pod_waits_while_its_victims_are_deleted() -> None:
    case = Case([a_node("n1")], [], P("p"))
    plugin, uid = case.plugin, case.pod.uid
    waiting = unresolvable("waiting for the preemption for this pod to be finished")
    assert plugin.pre_enqueue(case.pod) is None
    plugin.evictions.begin(uid, "default/b")
    plugin.evictions.deleted("default/a")
    assert plugin.pre_enqueue(case.pod) == waiting
    assert plugin.evictions.only_last_left(uid)
    assert plugin.pre_enqueue(case.pod) == waiting
    assert uid in plugin.keeps_out
    plugin.evictions.deleted("default/b")
    assert plugin.pre_enqueue(case.pod) is None
    assert uid not in plugin.keeps_out
    plugin.evictions.end(uid)
    assert plugin.pre_enqueue(case.pod) is None


def test_a_pod_whose_last_victim_left_before_its_turn_does_not_wait_for_it() -> None:
    case = Case([a_node("n1")], [], P("p"))
    plugin, uid = case.plugin, case.pod.uid
    plugin.evictions.begin(uid, "default/b")
    plugin.evictions.deleted("default/b")
    assert not plugin.evictions.only_last_left(uid)
    assert plugin.pre_enqueue(case.pod) is None


def test_pods_that_want_the_same_victim_gone_wait_for_it_together() -> None:
    evictions = Evictions()
    for preemptor in ("first", "second", "third"):
        evictions.begin(preemptor, "victim")
    assert evictions.only_last_left("first")
    evictions.end("third")
    evictions.deleted("victim")
    assert set(evictions.waiting) == {"second"}
    assert not evictions.only_last_left("second")
    assert not evictions.waiting
    evictions.begin("first", "other")
    evictions.begin("first", "another")  # a second attempt, the first one's evictions having failed
    evictions.deleted("other")
    assert evictions.only_last_left("first")


def test_a_deletion_alone_wakes_nobody() -> None:
    (wake,) = DefaultPreemption().wakes_on()
    assert wake.hint is not None
    pod: Any = None
    assert wake.hint(pod, None, None) is Hint.SKIP


# --- comparison with a scalar reference ---------------------------------------------------------------------------------


@dataclass
class Drawn:
    """A random cluster."""

    nodes: dict[str, tuple[int, int]]
    pods: list[P]
    pod: P
    budgets: list[tuple[str, dict[str, str], int, list[str]]]

    def case(self, **more: Any) -> Case:
        nodes = [a_node(name, cpu, pods) for name, (cpu, pods) in self.nodes.items()]
        budgets = [
            a_budget(name, match, allowed, disrupted)
            for name, match, allowed, disrupted in self.budgets
        ]
        return Case(nodes, self.pods, self.pod, budgets=budgets, **more)


LABELS = st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy"), max_size=2)


@st.composite
def clusters(draw: st.DrawFn, promised: int = 0) -> Drawn:
    names = [f"n{i}" for i in range(draw(st.integers(1, 5)))]
    nodes = {name: (draw(st.integers(1, 8)), draw(st.integers(1, 6))) for name in names}
    pods = [
        P(
            f"p{i:02}",
            draw(st.sampled_from(names)),
            cpu=draw(st.integers(0, 4)),
            priority=draw(st.integers(-1, 4)),
            started=draw(st.none() | st.integers(0, 3)),
            labels=draw(LABELS),
            port=draw(st.sampled_from([0, 0, 80, 81])),
        )
        for i in range(draw(st.integers(0, 12)))
    ]
    pods += [
        P(
            f"q{i}",
            nominated=draw(st.sampled_from(names)),
            cpu=draw(st.integers(0, 4)),
            priority=draw(st.integers(1, 5)),
            port=draw(st.sampled_from([0, 80])),
        )
        for i in range(draw(st.integers(0, promised)))
    ]
    pod = P(
        "p",
        cpu=draw(st.integers(0, 6)),
        priority=draw(st.integers(1, 5)),
        port=draw(st.sampled_from([0, 0, 80])),
    )
    budgets = [
        (
            f"b{i}",
            draw(LABELS),
            draw(st.integers(0, 2)),
            draw(st.lists(st.sampled_from([p.name for p in pods]), max_size=2)) if pods else [],
        )
        for i in range(draw(st.integers(0, 2)))
    ]
    return Drawn(nodes, pods, pod, budgets)


@dataclass
class Room:
    """One node as a scalar reference sees it. A port is held or not, however many pods hold it."""

    cpu: int
    most: int
    pods: list[P]
    ports: set[int]

    def add(self, pod: P) -> None:
        self.pods.append(pod)
        self.ports.add(pod.port)

    def remove(self, pod: P) -> None:
        self.pods.remove(pod)
        self.ports.discard(pod.port)

    def reasons(self, pod: P) -> list[str]:
        """Why the pod does not fit."""
        if pod.port and pod.port in self.ports:
            return ["node(s) didn't have free ports for the requested pod ports"]
        reasons = ["Too many pods"] if len(self.pods) >= self.most else []
        if pod.cpu and pod.cpu > self.cpu - sum(other.cpu for other in self.pods):
            reasons.append("Insufficient cpu")
        return reasons

    def reasons_twice(self, pod: P, promised: Sequence[P]) -> list[str]:
        """The same, with the pods counted in that the node is promised to."""
        more = Room(self.cpu, self.most, list(self.pods), set(self.ports))
        for other in promised:
            more.add(other)
        return more.reasons(pod) or self.reasons(pod)


def in_order(pods: Sequence[P]) -> list[P]:
    """By Go's insertion sort: a pod that has not started looks older than any that it is compared with and is not."""
    order: list[P] = []
    for pod in pods:
        at = len(order)
        while at and more_important(pod, order[at - 1]):
            at -= 1
        order.insert(at, pod)
    return order


def more_important(one: P, other: P) -> bool:
    if one.priority != other.priority:
        return one.priority > other.priority
    if one.started is None:
        return other.started is None
    return other.started is None or one.started < other.started


def guarded(drawn: Drawn, pods: Sequence[P]) -> set[str]:
    """Names of the pods whose eviction violates a budget."""
    left = {name: allowed for name, _, allowed, _ in drawn.budgets}
    names = set()
    for pod in pods:
        for name, match, _, disrupted in drawn.budgets:
            if not match or not match.items() <= pod.labels.items() or pod.name in disrupted:
                continue
            left[name] -= 1
            if left[name] < 0:
                names.add(pod.name)
    return names


def reference(drawn: Drawn, node: str) -> tuple[list[str], int] | list[str]:
    """Victims and violations on one node, or what stands in the way."""
    there = [p for p in drawn.pods if p.node == node]
    room = Room(*drawn.nodes[node], list(there), {p.port for p in there})
    pod = drawn.pod
    promised = [p for p in drawn.pods if p.nominated == node and p.priority >= pod.priority]
    lower = [p for p in there if p.priority < pod.priority]
    if not lower:
        return ["No preemption victims found for incoming pod"]
    for other in lower:
        room.remove(other)
    if reasons := room.reasons_twice(pod, promised):
        return reasons
    order = in_order(lower)
    violating = guarded(drawn, order)
    victims = []
    for other in sorted(order, key=lambda p: p.name not in violating):
        room.add(other)
        if room.reasons_twice(pod, promised):
            room.remove(other)
            victims.append(other)
    if not victims:
        return [f'expected at least one victim pod on node "{node}"']
    names = [p.name for p in order if p in victims]
    return names, len(violating & set(names))


def cost(drawn: Drawn, found: tuple[list[str], int]) -> Any:
    victims = [p for p in drawn.pods if p.name in found[0]]
    highest = max(p.priority for p in victims)
    started = [p.started for p in victims if p.priority == highest]
    return (
        found[1],
        highest,
        sum(p.priority + 2**31 for p in victims),
        len(victims),
        -min(float("inf") if s is None else s for s in started),
    )


def check(drawn: Drawn, case: Case) -> None:
    expected = {node: reference(drawn, node) for node in drawn.nodes}
    could = {node: said for node, said in expected.items() if isinstance(said, tuple)}
    found = case.found()
    got = {
        case.cluster.nodes.names[found.row(i)]: (
            [case.cluster.pods.names[row] for row in found.victims(i).tolist()],
            found.violations(i),
        )
        for i in range(len(found))
    }
    assert got == could
    said = sorted(reason for s, n in found.objections.items() for reason in s.reasons * n)
    assert said == sorted(
        reason for reasons in expected.values() if isinstance(reasons, list) for reason in reasons
    )
    answer = case.run()
    if could:
        assert isinstance(answer, Nominated)
        cheapest = min(cost(drawn, found) for found in could.values())
        first = next(node for node, found in could.items() if cost(drawn, found) == cheapest)
        assert shown(answer) == (first, could[first][0])
    else:
        assert isinstance(answer, Rejected)


@given(clusters())
def test_nodes_together_match_the_reference(drawn: Drawn) -> None:
    case = drawn.case()
    assert case.engine.batch(case.pod, case.state) is not None
    check(drawn, case)


@given(clusters())
def test_nodes_one_by_one_match_the_reference(drawn: Drawn) -> None:
    case = drawn.case(plugins=[CountsPods()])
    assert case.engine.batch(case.pod, case.state) is None
    check(drawn, case)


@given(clusters(promised=3))
def test_promised_nodes_match_the_reference(drawn: Drawn) -> None:
    check(drawn, drawn.case())


class ByNode(FilterPlugin):
    """At most two pods on a node, said node by node."""

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        return None if len(node.pods) < 2 else Rejected("more than two")


class ByColumn(FilterPlugin):
    """The same in columns."""

    reads = NodeResourcesFit.reads
    reason = "more than two"

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> NDArray[np.bool_]:
        return nodes.pod_count < 2


@given(clusters(promised=2))
def test_both_forms_of_a_filter_come_to_the_same(drawn: Drawn) -> None:
    node, column = drawn.case(plugins=[ByNode()]), drawn.case(plugins=[ByColumn()])
    assert shown(node.run()) == shown(column.run())


def test_sums_that_do_not_fit_are_taken_apart_all_the_same() -> None:
    huge = 2**63 // 1000 - 1
    pods = [P("a", "n1", cpu=huge), P("b", "n1", cpu=huge), P("c", "n1", cpu=1, started=1)]
    case = Case([a_node("n1")], pods, P("p", priority=HIGH, cpu=3))
    assert shown(case.run()) == ("n1", ["a", "b"])
