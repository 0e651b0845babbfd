"""The dry-run engine: which filters are asked, in what state, and what is made of their answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bayplan.cluster.changes import Reads
from bayplan.cluster.cluster import Cluster
from bayplan.cluster.nodeinfo import NodeInfo
from bayplan.cluster.podinfo import PodInfo
from bayplan.cluster.view import ClusterView, Nodes, TrialNodes
from bayplan.cycle.preempt import Chain, DryRunEngine
from bayplan.errors import PluginError
from bayplan.framework.plugin import FilterPlugin, PreFilterPlugin
from bayplan.framework.state import CycleState, StateKey
from bayplan.framework.status import Code, Mask, Rejected, Verdicts, unresolvable
from bayplan.model.decode import decode


def a_pod(name: str, node: str = "", priority: int = 0, nominated: str = "") -> Any:
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
            "spec": {"nodeName": node, "priority": priority, "containers": [{"name": "c"}]},
            "status": {"nominatedNodeName": nominated},
        }
    )


def a_cluster(*pods: Any, nodes: int = 2) -> Cluster:
    cluster = Cluster()
    for i in range(nodes):
        cluster.put(
            decode(
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "metadata": {"name": f"n{i}"},
                    "status": {"allocatable": {"cpu": "4", "pods": "10"}},
                }
            )
        )
    for pod in pods:
        cluster.put(pod)
    return cluster


def an_engine(cluster: Cluster, *plugins: Any) -> DryRunEngine:
    chain = Chain(
        tuple(p for p in plugins if isinstance(p, FilterPlugin)),
        tuple(p for p in plugins if isinstance(p, PreFilterPlugin)),
    )
    return DryRunEngine(chain, cluster.view, cluster.nominations)


def on(cluster: Cluster, node: str) -> TrialNodes:
    return cluster.view.trial(np.array([cluster.nodes.row_of[node]], np.intp))


class AtMost(FilterPlugin):
    """No more than so many pods on a node."""

    reads = Reads.USAGE
    reason = "too many"
    most: int = 1

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Mask | None:
        return nodes.pod_count < self.most


class NeedsCompany(FilterPlugin):
    """At least one pod on the node, asked node by node."""

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        return None if node.pods else Rejected("nobody there")


class Static(FilterPlugin):
    """Reads nothing that pods could change; counts how often it is asked."""

    reads = Reads.LABELS
    asked = 0

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> None:
        type(self).asked += 1


class Silent(FilterPlugin):
    """Says nothing of what it reads."""

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> None:
        return None


class OfVolumes(Silent):
    reads = Reads.VOLUMES


class OfAllPods(Silent):
    reads = Reads.ALL_PODS | Reads.LABELS


class OfNamespaces(Silent):
    reads = Reads.NAMESPACES


class Tally:
    """State that counts pods."""

    def __init__(self, pods: list[str]) -> None:
        self.pods = pods

    def clone(self) -> Tally:
        return Tally(list(self.pods))


TALLY = StateKey[Tally]("tally")


class Counting(PreFilterPlugin):
    """Keeps count of the pods that come and go."""

    def prefilter(self, pod: PodInfo, view: ClusterView, state: CycleState) -> None:
        state[TALLY] = Tally([])

    def add_pod(
        self, pod: PodInfo, added: PodInfo, node: NodeInfo, view: ClusterView, state: CycleState
    ) -> Rejected | None:
        state[TALLY].pods.append(f"+{added.name} of {len(node.pods)}")
        return Rejected("not that one") if added.name == "bad" else None

    def remove_pod(
        self, pod: PodInfo, removed: PodInfo, node: NodeInfo, view: ClusterView, state: CycleState
    ) -> Rejected | None:
        state[TALLY].pods.append(f"-{removed.name} of {len(node.pods)}")
        return Rejected("not that one") if removed.name == "bad" else None


class Indifferent(PreFilterPlugin):
    def prefilter(self, pod: PodInfo, view: ClusterView, state: CycleState) -> None:
        return None


class Answers(FilterPlugin):
    """Says of every node what it was told to say."""

    reads = Reads.NOTHING

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Any:
        return self.answer


class AnswersByNode(FilterPlugin):
    """The same, node by node."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("plugins", "together"),
    [
        pytest.param([AtMost(), Static(), OfNamespaces()], True, id="rows alone"),
        pytest.param([Indifferent()], True, id="a PreFilter that keeps no count"),
        pytest.param([Silent()], False, id="says nothing of what it reads"),
        pytest.param([NeedsCompany()], False, id="judges node by node"),
        pytest.param([OfVolumes()], False, id="reads volumes"),
        pytest.param([OfAllPods()], False, id="reads pods of other nodes"),
        pytest.param([Counting()], False, id="keeps count of pods"),
    ],
)
def test_which_filters_can_judge_nodes_together(plugins: list[Any], together: bool) -> None:
    cluster = a_cluster()
    pod = cluster.info(a_pod("p"))
    assert (an_engine(cluster, *plugins).batch(pod, CycleState()) is not None) == together


def test_a_skipped_plugin_is_out_of_play() -> None:
    profile: Any = SimpleNamespace(
        filter=(AtMost(), Static()), prefilter=(Counting(), Indifferent())
    )
    chain = Chain.of(profile, {"AtMost", "Counting"})
    assert [p.name for p in (*chain.filters, *chain.prefilters)] == ["Static", "Indifferent"]


@pytest.mark.parametrize(
    ("promised", "nodes"),
    [
        pytest.param(a_pod("q", priority=5, nominated="n0"), ["n0"], id="equal priority"),
        pytest.param(a_pod("q", priority=6, nominated="n0"), ["n0"], id="higher priority"),
        pytest.param(a_pod("q", priority=4, nominated="n0"), [], id="lower priority"),
        pytest.param(a_pod("q", priority=6, nominated="n1"), ["n1"], id="another node"),
        pytest.param(a_pod("q", priority=6, nominated="gone"), [], id="a node that is gone"),
        pytest.param(a_pod("p", priority=6, nominated="n0"), [], id="the pod itself"),
    ],
)
def test_promised_pods_count(promised: Any, nodes: list[str]) -> None:
    cluster = a_cluster(promised)
    pod = cluster.info(a_pod("p", priority=5))
    engine = an_engine(cluster, AtMost())
    assert [cluster.nodes.names[row] for row in engine.promises(pod)] == nodes
    for node in ("n0", "n1"):
        said = engine.judge(pod, on(cluster, node), 0, CycleState())
        assert (said is not None) == (node in nodes)


def test_the_pod_must_fit_without_the_promised_pods_too() -> None:
    cluster = a_cluster(a_pod("q", priority=6, nominated="n0"))
    pod = cluster.info(a_pod("p"))
    engine = an_engine(cluster, NeedsCompany())
    said = engine.judge(pod, on(cluster, "n0"), 0, CycleState())
    assert said == Rejected("nobody there", plugin="NeedsCompany")


def test_judging_leaves_trial_and_state_as_they_were() -> None:
    cluster = a_cluster(a_pod("q", priority=6, nominated="n0"))
    pod = cluster.info(a_pod("p"))
    state, plugin, trial = CycleState(), Counting(), on(cluster, "n0")
    plugin.prefilter(pod, cluster.view, state)
    assert an_engine(cluster, plugin).judge(pod, trial, 0, state) is None
    assert state[TALLY].pods == []
    assert trial.pods_on(0) == []
    assert trial.pod_count.tolist() == [0]


def test_plugins_hear_of_pods_after_they_have_moved() -> None:
    cluster = a_cluster(a_pod("a", "n0"))
    pod, other = cluster.info(a_pod("p")), cluster.info(a_pod("b"))
    state, plugin, trial = CycleState(), Counting(), on(cluster, "n0")
    plugin.prefilter(pod, cluster.view, state)
    engine = an_engine(cluster, plugin)
    engine.add_pod(pod, other, trial, 0, state)
    engine.remove_pod(pod, trial.pods_on(0)[0], trial, 0, state)
    assert state[TALLY].pods == ["+b of 2", "-a of 1"]
    assert [p.name for p in trial.pods_on(0)] == ["b"]
    assert [p.name for p in cluster.view.nodes.pods_on(0)] == ["a"]


def test_a_plugin_that_cannot_follow_is_named() -> None:
    cluster = a_cluster(a_pod("bad", "n0"), a_pod("q", priority=6, nominated="n1"))
    pod, bad = cluster.info(a_pod("p")), cluster.view.nodes.pods_on(0)[0]
    state, plugin, trial = CycleState(), Counting(), on(cluster, "n0")
    plugin.prefilter(pod, cluster.view, state)
    engine = an_engine(cluster, plugin)
    removed = engine.remove_pod(pod, bad, trial, 0, state)
    added = engine.add_pod(pod, bad, trial, 0, state)
    assert removed is not None
    assert added is not None
    assert (removed.code, removed.message) == (
        Code.ERROR,
        'running RemovePod on PreFilter plugin "Counting": not that one',
    )
    assert added.message == 'running AddPod on PreFilter plugin "Counting": not that one'


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(None, None, id="passes"),
        pytest.param(Rejected("no"), "Unschedulable: no", id="turned down"),
        pytest.param(
            unresolvable("no", "never"), "UnschedulableAndUnresolvable: no, never", id="for good"
        ),
        pytest.param(
            Rejected("broken", code=Code.ERROR),
            'Error: running "{}" filter plugin: broken',
            id="an error",
        ),
    ],
)
def test_both_forms_say_the_same(answer: Any, expected: str | None) -> None:
    cluster = a_cluster()
    pod = cluster.info(a_pod("p"))
    for plugin in (Answers(answer), AnswersByNode(answer)):
        said = an_engine(cluster, plugin).judge(pod, on(cluster, "n0"), 0, CycleState())
        if expected is None:
            assert said is None
        else:
            assert said is not None
            assert f"{said.code.label}: {said.message}" == expected.format(plugin.name)
            assert said.plugin == plugin.name


def test_missing_data_turn_the_node_down() -> None:
    class ReadsData(FilterPlugin):
        def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
            return Rejected("hot") if node.usage.cpu > 1 else None

    cluster = a_cluster()
    pod = cluster.info(a_pod("p"))
    said = an_engine(cluster, ReadsData()).judge(pod, on(cluster, "n0"), 0, CycleState())
    assert said is not None
    assert "cpu" in said.message


@pytest.mark.parametrize("answer", [ValueError("oops"), 3], ids=["it raises", "nonsense"])
def test_a_broken_plugin_is_named(answer: Any) -> None:
    cluster = a_cluster()
    pod = cluster.info(a_pod("p"))
    engine = an_engine(cluster, AnswersByNode(answer))
    with pytest.raises(PluginError, match="AnswersByNode"):
        engine.judge(pod, on(cluster, "n0"), 0, CycleState())


def test_only_filters_that_pods_can_sway_are_asked_again() -> None:
    cluster = a_cluster(a_pod("a", "n0"))
    pod, state = cluster.info(a_pod("p")), CycleState()
    engine = an_engine(cluster, Static(), AtMost())
    Static.asked = 0
    trial = on(cluster, "n0")
    assert engine.judge(pod, trial, 0, state) is not None
    assert not engine.fits(pod, trial, 0, state)
    engine.remove_pod(pod, trial.pods_on(0)[0], trial, 0, state)
    assert engine.fits(pod, trial, 0, state)
    assert Static.asked == 1
    together = engine.batch(pod, state)
    assert together is not None
    assert together.judge(trial).index.tolist() == [0]
    assert together.fits(trial).tolist() == [True]
    assert Static.asked == 2


def test_the_first_objection_to_each_node() -> None:
    def masked(*passes: bool) -> NDArray[np.bool_]:
        return np.array(passes)

    cluster = a_cluster(nodes=4)
    pod = cluster.info(a_pod("p"))
    one, two = Rejected("one"), unresolvable("two")
    engine = an_engine(
        cluster,
        Answers(None),
        Answers(Verdicts(np.array([0, 1, 0, 0], np.int16), [one])),
        Answers(Verdicts(np.array([0, 1, 2, 0], np.int16), [one, two])),
        Answers(masked(True, False, False, False)),
    )
    together = engine.batch(pod, CycleState())
    assert together is not None
    verdicts = together.judge(cluster.view.nodes)
    said = [verdicts.outcomes[n - 1].message if n else "" for n in verdicts.index.tolist()]
    assert said == ["", "one", "two", "node(s) rejected by Answers"]
    assert all(outcome.plugin == "Answers" for outcome in verdicts.outcomes)


def test_one_answer_for_all_nodes() -> None:
    cluster = a_cluster(nodes=3)
    engine = an_engine(cluster, Answers(unresolvable("closed")))
    together = engine.batch(cluster.info(a_pod("p")), CycleState())
    assert together is not None
    assert together.judge(cluster.view.nodes).index.tolist() == [1, 1, 1]
