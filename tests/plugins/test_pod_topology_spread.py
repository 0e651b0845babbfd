"""PodTopologySpread against the rules, one node and one pod at a time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.answers import Asked, said

from bayplan.cluster.audit import check
from bayplan.framework.events import Hint
from bayplan.framework.status import SKIP, Code, Rejected
from bayplan.model.decode import decode_as
from bayplan.model.node import Node, Taint
from bayplan.model.pod import Pod
from bayplan.model.selectors import LabelSelector, compile_label_selector
from bayplan.model.workloads import Service
from bayplan.plugins.pod_topology_spread import PodTopologySpread
from bayplan.plugins.pod_topology_spread.args import SYSTEM_DEFAULTS, PodTopologySpreadArgs
from bayplan.testing import NodeBuilder, PodBuilder, decide, make_cluster, make_node, make_pod

HOST, ZONE, RACK = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "rack"
UNEVEN = "node(s) didn't match pod topology spread constraints"
NO_LABEL = f"{UNEVEN} (missing required label)"

Admits = Callable[["Rule", Node], bool]


# --- the rules -----------------------------------------------------------------------------------------------------------


@dataclass
class Rule:
    """One constraint of one pod."""

    spec: Any
    pod: Pod
    #: What the pod's workload selects, where the constraint is a default one.
    workload: dict[str, str] | None = None

    def selects(self, labels: dict[str, str]) -> bool:
        if self.workload is not None:
            return self.workload.items() <= labels.items()
        alike = all(labels.get(key) == value for key, value in self.same().items())
        return alike and compile_label_selector(self.spec.label_selector).matches(labels)

    def same(self) -> dict[str, str]:
        mine = self.pod.metadata.labels
        return {key: mine[key] for key in self.spec.match_label_keys if key in mine}

    def selects_nobody_yet(self) -> bool:
        """An empty selector counts no pod of the cluster, though it matches all."""
        return (
            self.workload is None
            and self.spec.label_selector == LabelSelector()
            and not self.same()
        )

    def admits(self, node: Node) -> bool:
        labels, spec = node.metadata.labels, self.pod.spec
        if (
            self.spec.node_affinity_policy != "Ignore"
            and not spec.node_selector.items() <= labels.items()
        ):
            return False
        return self.spec.node_taints_policy != "Honor" or all(
            any(toleration.tolerates(taint) for toleration in spec.tolerations)
            for taint in node.spec.taints
            if taint.effect != "PreferNoSchedule"
        )


@dataclass
class World:
    """Decoded objects and nothing else; a pod may be on a node that does not exist."""

    nodes: list[Node]
    placed: list[tuple[Pod, Node]]
    #: Pods supposed to come (+1) or to be gone (-1).
    supposed: list[tuple[Pod, Node, int]] = field(default_factory=list)

    def on(self, node: Node, rule: Rule) -> int:
        counted = [
            pod
            for pod, there in self.placed
            if there is node and not pod.is_terminating and not rule.selects_nobody_yet()
        ]
        return sum(alike(pod, rule) for pod in counted)

    def verdict(self, node: Node, rules: list[Rule]) -> str:
        keys = [rule.spec.topology_key for rule in rules]
        for rule in rules:
            key = rule.spec.topology_key
            if key not in node.metadata.labels:
                return NO_LABEL
            counts: Counter[str] = Counter()
            for other in self.nodes:
                if has(other, keys) and rule.admits(other):
                    counts[other.metadata.labels[key]] += self.on(other, rule)
            for pod, there, step in self.supposed:
                if has(there, keys) and rule.admits(there) and alike(pod, rule):
                    counts[there.metadata.labels[key]] += step
            enough = len(counts) >= (rule.spec.min_domains or 1)
            skew = counts[node.metadata.labels[key]] + alike(rule.pod, rule)
            skew -= min(counts.values()) if enough else 0
            if skew > rule.spec.max_skew:
                return UNEVEN
        return ""

    def raw_scores(
        self, feasible: list[Node], rules: list[Rule], *, strict: bool
    ) -> dict[str, int]:
        """By node: pods around; nodes that lack a label that has to be there are left out."""
        keys = [rule.spec.topology_key for rule in rules]
        ranked = [node for node in feasible if not strict or has(node, keys)]
        counted = [node for node in self.nodes if not strict or has(node, keys)]
        raw: dict[str, int] = {}
        for node in ranked:
            total = 0.0
            for rule in rules:
                key = rule.spec.topology_key
                if key not in node.metadata.labels:
                    continue
                domains = {other.metadata.labels.get(key, "") for other in ranked}
                around, size = [node], len(ranked)
                if key != HOST:
                    here, size = node.metadata.labels[key], len(domains)
                    around = [
                        other
                        for other in counted
                        if other.metadata.labels.get(key, "") == here and rule.admits(other)
                    ]
                pods = sum(self.on(other, rule) for other in around)
                total += pods * math.log(size + 2) + (rule.spec.max_skew - 1)
            raw[node.metadata.name] = math.floor(total) + (total - math.floor(total) >= 0.5)
        return raw


def scaled(raw: dict[str, int]) -> dict[str, int]:
    """100 for the fewest pods around, and proportionally less for more."""
    low, high = min(raw.values(), default=0), max(raw.values(), default=0)
    return {name: 100 * (high + low - n) // high if high else 100 for name, n in raw.items()}


def alike(pod: Pod, rule: Rule) -> bool:
    own = pod.metadata.namespace == rule.pod.metadata.namespace
    return own and rule.selects(pod.metadata.labels)


def has(node: Node, keys: list[str]) -> bool:
    return all(key in node.metadata.labels for key in keys)


def rules_of(pod: Pod, action: str) -> list[Rule]:
    constraints = pod.spec.topology_spread_constraints
    return [Rule(c, pod) for c in constraints if c.when_unsatisfiable == action]


# --- random worlds -------------------------------------------------------------------------------------------------------

WEB = {"matchLabels": {"app": "web"}}
SELECTORS: list[dict[str, Any] | None] = [
    None,
    {},
    WEB,
    WEB,
    {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]},
]
CONSTRAINTS = st.fixed_dictionaries(
    {
        "maxSkew": st.sampled_from([1, 1, 2]),
        "topologyKey": st.sampled_from([HOST, ZONE, ZONE, RACK]),
        "labelSelector": st.sampled_from(SELECTORS),
        "nodeTaintsPolicy": st.sampled_from(["Honor", "Ignore"]),
    },
    optional={
        "minDomains": st.integers(1, 4),
        "nodeAffinityPolicy": st.sampled_from(["Honor", "Ignore"]),
        "matchLabelKeys": st.just(["tier"]),
    },
)
WEB_PODS: list[dict[str, str]] = [{"app": "web"}, {"app": "web", "tier": "gold"}]
LABELS = st.sampled_from([*(3 * WEB_PODS), {}, {"app": "db"}])
NODE_LABELS = st.fixed_dictionaries(
    {
        ZONE: st.sampled_from(["z1", "z2", "z3", "z1", "z2", "", None]),
        RACK: st.sampled_from(["r1", "r2", "r1", "r2", None]),
        HOST: st.sampled_from(["own", "own", "own", "own", "twin", None]),
        "disk": st.sampled_from(["ssd", "ssd", None]),
    }
)
NODES = st.tuples(
    NODE_LABELS, st.sampled_from([None, None, "NoSchedule", "NoExecute", "PreferNoSchedule"])
)
#: Labels, namespace, being deleted, node: nodes 0 to 5 exist or not, node 6 never does.
PLACED = st.tuples(
    LABELS,
    st.sampled_from(["blue", "blue", "blue", "green"]),
    st.sampled_from([False, False, False, True]),
    st.sampled_from([0, 0, 0, 1, 1, 2, 3, 4, 5, 6]),
)
PROBES = st.tuples(
    LABELS,
    st.lists(CONSTRAINTS, min_size=1, max_size=3),
    st.sampled_from([{}, {"disk": "ssd"}]),
    st.booleans(),
)


def a_node(i: int, drawn: tuple[dict[str, str | None], str | None]) -> Node:
    labels, effect = drawn
    builder = make_node(f"n{i}")
    own = builder.manifest["metadata"]["labels"]
    for key, value in labels.items():
        if value is None:
            own.pop(key, None)
        elif value != "own":
            own[key] = value
    if effect:
        builder.taint("dedicated", "a", effect)
    return builder.build()


def a_pod(name: str, drawn: tuple[dict[str, str], str, bool, int]) -> Pod:
    labels, namespace, terminating, row = drawn
    builder = make_pod(name, namespace).uid(f"uid-{name}").labels(labels).on(f"n{row}")
    return (builder.terminating() if terminating else builder).build()


def a_probe(drawn: tuple[Any, ...], action: str) -> Pod:
    labels, constraints, selector, tolerant = drawn
    builder = make_pod("probe", "blue").labels(labels).node_selector(selector)
    if tolerant:
        builder.tolerate("dedicated", "a")
    builder.manifest["spec"]["topologySpreadConstraints"] = [
        {**one, "whenUnsatisfiable": action} for one in constraints
    ]
    return builder.build()


def a_world(nodes: list[Any], placed: list[Any]) -> tuple[World, list[Pod]]:
    built = [a_node(i, drawn) for i, drawn in enumerate(nodes)]
    pods = [a_pod(f"p{i}", drawn) for i, drawn in enumerate(placed)]
    rows = [drawn[3] for drawn in placed]
    there = [(pod, built[row]) for pod, row in zip(pods, rows, strict=True) if row < len(built)]
    return World(built, there), pods


def spread(**args: Any) -> PodTopologySpread:
    made = msgspec.convert(args, PodTopologySpreadArgs)
    assert list(PodTopologySpread.check_args(made)) == []
    return PodTopologySpread(made)


def in_turn(world: World, pods: list[Pod]) -> Iterator[Any]:
    """Some pods before their nodes and some after; nodes have other taints at first."""
    yield from pods[::2]
    for node in world.nodes:
        spec = msgspec.structs.replace(node.spec, taints=(Taint("other", effect="NoExecute"),))
        yield msgspec.structs.replace(node, spec=spec)
    yield from pods[1::2]
    yield from world.nodes


@settings(max_examples=300)
@given(st.lists(NODES, min_size=1, max_size=6), st.lists(PLACED, min_size=3, max_size=12), PROBES)
def test_filter_like_a_node_at_a_time(nodes: list[Any], placed: list[Any], probe: Any) -> None:
    world, pods = a_world(nodes, placed)
    pod = a_probe(probe, "DoNotSchedule")
    asked, rules = Asked(spread(), pod), rules_of(pod, "DoNotSchedule")
    for obj in in_turn(world, pods):
        asked.tell(obj)
    got = asked.filter()
    expected = [world.verdict(node, rules) for node in world.nodes]
    assert [got[asked.row(node)] for node in world.nodes] == expected
    check(asked.cluster)


@given(
    st.lists(NODES, min_size=2, max_size=5),
    st.lists(PLACED, min_size=2, max_size=8),
    PROBES,
    st.data(),
)
def test_supposing_that_pods_go_and_come(
    nodes: list[Any], placed: list[Any], probe: Any, data: st.DataObject
) -> None:
    world, pods = a_world(nodes, placed)
    pod = a_probe(probe, "DoNotSchedule")
    asked, rules = Asked(spread(), pod), rules_of(pod, "DoNotSchedule")
    for obj in (*world.nodes, *pods):
        asked.tell(obj)
    before = asked.filter()
    plugin, view, state = asked.plugin, asked.cluster.view, asked.state.clone()
    everywhere = view.rows(np.arange(len(view.nodes)))
    for number in range(data.draw(st.integers(1, 3))):
        staying = [
            (pod, there, -1)
            for pod, there in world.placed
            if (pod, there, -1) not in world.supposed
        ]
        goes: bool = data.draw(st.booleans())
        if staying and goes:
            other, there, step = data.draw(st.sampled_from(staying))
            plugin.remove_pod(asked.pod, asked.cluster.info(other), asked.on(there), view, state)
        else:
            other, step = a_pod(f"new{number}", data.draw(PLACED)), 1
            there = data.draw(st.sampled_from(world.nodes))
            plugin.add_pod(asked.pod, asked.cluster.info(other), asked.on(there), view, state)
        world.supposed.append((other, there, step))
        got = said(plugin, plugin.filter(asked.pod, everywhere, state), len(everywhere))
        expected = [world.verdict(node, rules) for node in world.nodes]
        assert [got[asked.row(node)] for node in world.nodes] == expected
    assert asked.filter() == before, "the what-if leaked"


@given(
    st.lists(NODES, min_size=1, max_size=6),
    st.lists(PLACED, min_size=3, max_size=12),
    PROBES,
    st.data(),
)
def test_score_like_a_node_at_a_time(
    nodes: list[Any], placed: list[Any], probe: Any, data: st.DataObject
) -> None:
    world, pods = a_world(nodes, placed)
    pod = a_probe(probe, "ScheduleAnyway")
    asked, rules = Asked(spread(), pod), rules_of(pod, "ScheduleAnyway")
    for obj in in_turn(world, pods):
        asked.tell(obj)
    chosen = data.draw(st.lists(st.sampled_from(world.nodes), min_size=1, unique_by=id))
    assert_scores(asked, world, chosen, rules, strict=True)


@pytest.mark.parametrize(
    "defaults",
    [
        pytest.param(None, id="the built-in ones"),
        pytest.param(
            [
                {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"},
                {"maxSkew": 2, "topologyKey": RACK, "whenUnsatisfiable": "ScheduleAnyway"},
                {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway"},
            ],
            id="a list",
        ),
    ],
)
@settings(max_examples=200)
@given(
    st.lists(NODES, min_size=1, max_size=6),
    st.lists(PLACED, min_size=3, max_size=12),
    LABELS,
    st.booleans(),
    st.data(),
)
def test_defaults_for_pods_of_a_service(
    defaults: list[dict[str, Any]] | None,
    nodes: list[Any],
    placed: list[Any],
    labels: dict[str, str],
    served: bool,
    data: st.DataObject,
) -> None:
    world, pods = a_world(nodes, placed)
    pod = make_pod("probe", "blue").labels(labels).build()
    args = {} if defaults is None else {"defaultingType": "List", "defaultConstraints": defaults}
    asked = Asked(spread(**args), pod)
    for obj in in_turn(world, pods):
        asked.tell(obj)
    if served:
        asked.tell(a_service("blue", app="web"))
    given_here = served and labels.get("app") == "web"
    constraints = asked.plugin.default_constraints or SYSTEM_DEFAULTS
    rules = [Rule(c, pod, {"app": "web"}) for c in constraints if given_here]
    hard = [rule for rule in rules if rule.spec.when_unsatisfiable == "DoNotSchedule"]
    soft = [rule for rule in rules if rule.spec.when_unsatisfiable == "ScheduleAnyway"]
    got = asked.filter()
    expected = [world.verdict(node, hard) for node in world.nodes]
    assert [got[asked.row(node)] for node in world.nodes] == expected
    chosen = data.draw(st.lists(st.sampled_from(world.nodes), min_size=1, unique_by=id))
    assert_scores(asked, world, chosen, soft, strict=defaults is not None)


def assert_scores(
    asked: Asked, world: World, chosen: list[Node], rules: list[Rule], *, strict: bool
) -> None:
    """All feasible nodes at first, then only the chosen ones."""
    for some in (world.nodes, chosen):
        feasible = np.zeros(len(asked.cluster.view.nodes), np.bool_)
        feasible[[asked.row(node) for node in some]] = True
        nodes = asked.cluster.view.nodes
        if asked.plugin.prescore(asked.pod, nodes, feasible, asked.state) is SKIP:
            assert rules == []
            return
        got = asked.score(feasible)
        expected = world.raw_scores(some, rules, strict=strict)
        rows = {node.metadata.name: asked.row(node) for node in some}
        assert {name: got[rows[name]] for name in expected} == expected
        normalized = asked.plugin.normalize(np.array(got), feasible, asked.state)
        weighed = scaled(expected)
        assert {name: int(normalized[row]) for name, row in rows.items()} == {
            name: weighed.get(name, 0) for name in rows
        }
    check(asked.cluster)


def a_service(namespace: str, **selector: str) -> Service:
    manifest = {"metadata": {"name": "svc", "namespace": namespace}, "spec": {"selector": selector}}
    return decode_as(Service, manifest)


# --- corner cases --------------------------------------------------------------------------------------------------------


def web(name: str) -> PodBuilder:
    return make_pod(name).uid(f"uid-{name}").label("app", "web")


def three_zones() -> list[NodeBuilder]:
    return [make_node(name).zone(f"z{name}") for name in "abc"]


@pytest.mark.parametrize(
    ("more", "placed", "words"),
    [
        pytest.param({}, "ab", ["1", "1", ""], id="the emptiest zone sets the measure"),
        pytest.param({"maxSkew": 2}, "aab", ["2", "", ""], id="a skew of two"),
        pytest.param(
            {"minDomains": 4},
            "a",
            ["1", "", ""],
            id="fewer zones than wanted: as if one were empty",
        ),
        pytest.param({"minDomains": 4}, "abc", ["1", "1", "1"], id="and then all are too full"),
        pytest.param(
            {"labelSelector": {}}, "aaa", ["", "", ""], id="an empty selector counts nobody"
        ),
        pytest.param({"labelSelector": None}, "aaa", ["", "", ""], id="no selector counts nobody"),
        pytest.param({"topologyKey": RACK}, "", ["-", "-", "-"], id="no node has the label"),
        pytest.param(
            {"matchLabelKeys": ["rev"]},
            "aaa",
            ["3", "", ""],
            id="a key that the pod lacks is no key",
        ),
    ],
)
def test_filter(more: dict[str, Any], placed: str, words: list[str]) -> None:
    """Words: what the skew would come to where it is too much, a dash where the label is missing."""
    pods = [web(f"p{i}").on(node) for i, node in enumerate(placed)]
    pod = web("probe")
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "labelSelector": WEB, **more}
    pod.manifest["spec"]["topologySpreadConstraints"] = [
        {**constraint, "whenUnsatisfiable": "DoNotSchedule"}
    ]
    objects = [*(node.build() for node in three_zones()), *(one.build() for one in pods)]
    asked = Asked(spread(), pod.build(), *objects)
    assert asked.filter() == [{"-": NO_LABEL, "": ""}.get(word, UNEVEN) for word in words]


def test_whether_eviction_may_help() -> None:
    nodes = [make_node("a").zone("z1"), make_node("b").zone("z2"), make_node("c")]
    pod = web("probe").spread(1, ZONE, {"app": "web"})
    asked = Asked(
        spread(), pod.build(), *(node.build() for node in nodes), web("w").on("a").build()
    )
    asked.filter()
    answer = asked.plugin.filter(asked.pod, asked.cluster.view.nodes, asked.state)
    codes = [answer.outcomes[k - 1].code if k else Code.SUCCESS for k in answer.index.tolist()]
    assert codes == [Code.UNSCHEDULABLE, Code.SUCCESS, Code.UNRESOLVABLE]


def test_a_zone_of_empty_name_does_not_count_for_nodes_without_zone() -> None:
    cluster = make_cluster(make_node("a"), make_node("b").zone(""), a_service("default", app="web"))
    answer = decide(web("probe"), cluster)
    # Nobody is counted anywhere: for a the host's skew less one, for b the zone's as well.
    assert [answer.score(node, "PodTopologySpread") for node in "ab"] == [100, 33]


@pytest.mark.parametrize("hard", [True, False], ids=["hard", "soft"])
def test_a_selector_that_cannot_be_read_is_an_error(hard: bool) -> None:
    pod = web("probe").spread(1, ZONE, {}, hard=hard)
    bad = {"matchExpressions": [{"key": "app", "operator": "Near", "values": ["web"]}]}
    pod.manifest["spec"]["topologySpreadConstraints"][0]["labelSelector"] = bad
    asked = Asked(spread(), pod.build(), make_node("a").build())
    view = asked.cluster.view
    if hard:
        answer = asked.plugin.prefilter(asked.pod, view, asked.state)
    else:
        answer = asked.plugin.prescore(asked.pod, view.nodes, view.nodes.alive, asked.state)
    assert isinstance(answer, Rejected)
    assert answer.code is Code.ERROR
    kind = "hard" if hard else "soft"
    assert f"obtaining pod's {kind} topology spread constraints: " in answer.message
    assert '"Near" is not a valid label selector operator' in answer.message


# --- what may cure a rejection -------------------------------------------------------------------------------------------


def hint(number: int, old: Any, new: Any) -> bool:
    """Whether a pod is woken that is spread over zones and hosts and minds taints."""
    pod = web("probe").spread(1, ZONE, {"app": "web"}).spread(1, HOST, {"app": "web"})
    pod.manifest["spec"]["topologySpreadConstraints"][0]["nodeTaintsPolicy"] = "Honor"
    asked = Asked(spread(), pod.build())
    asked.plugin.handle = Handle(asked.cluster.view)
    wake = asked.plugin.wakes_on()[number].hint
    return wake(asked.pod, *(one and one.build() for one in (old, new))) is Hint.QUEUE


@dataclass
class Handle:
    """As much of the handle as the hints need."""

    view: Any


@pytest.mark.parametrize(
    ("old", "new", "woken"),
    [
        pytest.param(None, web("w").on("a"), True, id="a pod that counts comes"),
        pytest.param(web("w").on("a"), None, True, id="a pod that counts goes"),
        pytest.param(None, web("w"), False, id="a pod that is nowhere"),
        pytest.param(None, make_pod("d").on("a"), False, id="a pod that does not count"),
        pytest.param(
            None, make_pod("w", "else").label("app", "web").on("a"), False, id="another namespace"
        ),
        pytest.param(
            web("w").on("a"), make_pod("w").uid("uid-w").on("a"), True, id="it counts no more"
        ),
        pytest.param(
            web("w").on("a"), web("w").label("x", "y").on("a"), False, id="it still counts"
        ),
        pytest.param(
            web("probe"), web("probe").tolerate("dedicated", "a"), True, id="own toleration"
        ),
        pytest.param(web("probe"), make_pod("probe").uid("uid-probe"), True, id="own labels"),
    ],
)
def test_pods_that_wake(old: PodBuilder | None, new: PodBuilder | None, woken: bool) -> None:
    assert hint(0, old, new) is woken


ZONED = make_node("a").zone("z1")


@pytest.mark.parametrize(
    ("old", "new", "woken"),
    [
        pytest.param(None, ZONED, True, id="a node with all labels comes"),
        pytest.param(None, make_node("a"), False, id="a node without zone comes"),
        pytest.param(ZONED, None, True, id="a node with all labels goes"),
        pytest.param(ZONED, make_node("a"), True, id="a node loses its zone"),
        pytest.param(ZONED, make_node("a").zone("z2"), True, id="a node changes its zone"),
        pytest.param(ZONED, make_node("a").zone("z1").label("x", "y"), False, id="another label"),
        pytest.param(ZONED, make_node("a").zone("z1").taint("t"), True, id="a taint"),
        pytest.param(make_node("a"), make_node("a").taint("t"), False, id="a taint without zone"),
    ],
)
def test_nodes_that_wake(old: NodeBuilder | None, new: NodeBuilder | None, woken: bool) -> None:
    assert hint(1, old, new) is woken


# --- arguments -----------------------------------------------------------------------------------------------------------

FINE = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}


@pytest.mark.parametrize(
    ("args", "complaints"),
    [
        pytest.param({}, [], id="nothing said"),
        pytest.param({"defaultingType": "List", "defaultConstraints": [FINE]}, [], id="a list"),
        pytest.param(
            {"defaultingType": "Own"},
            [("defaultingType", 'Unsupported value: "Own": supported values: "System", "List"')],
            id="an unknown type",
        ),
        pytest.param(
            {"defaultConstraints": [FINE]},
            [("defaultingType", 'Invalid value: "System": when .defaultConstraints are not empty')],
            id="a list that is not asked for",
        ),
        pytest.param(
            {"defaultingType": "List", "defaultConstraints": [FINE, FINE]},
            [("defaultConstraints[1]", f'Duplicate value: "{{{ZONE}, ScheduleAnyway}}"')],
            id="twice the same",
        ),
        pytest.param(
            {"defaultingType": "List", "defaultConstraints": [{}]},
            [
                ("defaultConstraints[0].maxSkew", "Invalid value: 0: not in valid range (0, inf)"),
                ("defaultConstraints[0].topologyKey", "Required value: can not be empty"),
                ("defaultConstraints[0].whenUnsatisfiable", "Required value: can not be empty"),
            ],
            id="nothing in it",
        ),
        pytest.param(
            {"defaultingType": "List", "defaultConstraints": [{**FINE, "labelSelector": WEB}]},
            [
                (
                    "defaultConstraints[0].labelSelector",
                    "Forbidden: constraint must not define a selector, as they deduced for each pod",
                )
            ],
            id="a selector",
        ),
    ],
)
def test_arguments(args: dict[str, Any], complaints: list[tuple[str, str]]) -> None:
    made = msgspec.convert(args, PodTopologySpreadArgs)
    assert list(PodTopologySpread.check_args(made)) == complaints
