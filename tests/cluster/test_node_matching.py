"""Column selectors against the same selectors asked of one node at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.node_matching import matcher_mask, required_nodes, term_mask
from bayplan.model.selectors import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    compile_node_selector,
)
from bayplan.testing.builders import make_node, make_pod

KEYS = ("zone", "cores", "disk")
LABELS = st.dictionaries(
    st.sampled_from(KEYS), st.sampled_from(("", "a", "b", "4", "16", "-2", "007")), max_size=3
)
EXPRESSIONS = st.builds(
    NodeSelectorRequirement,
    key=st.sampled_from(KEYS),
    operator=st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near")),
    values=st.lists(st.sampled_from(("a", "b", "c", "4", "10")), max_size=3).map(tuple),
)
FIELDS = st.builds(
    NodeSelectorRequirement,
    key=st.sampled_from(("metadata.name", "metadata.uid")),
    operator=st.sampled_from(("In", "NotIn", "Exists")),
    values=st.lists(st.sampled_from(("n0", "n1", "gone", "")), max_size=2).map(tuple),
)
TERMS = st.builds(
    NodeSelectorTerm,
    match_expressions=st.lists(EXPRESSIONS, max_size=2).map(tuple),
    match_fields=st.lists(FIELDS, max_size=1).map(tuple),
)
SELECTORS = st.builds(NodeSelector, node_selector_terms=st.lists(TERMS, max_size=3).map(tuple))


def cluster_of(labels: list[dict[str, str]]) -> Cluster:
    cluster = Cluster()
    for i, of_node in enumerate(labels):
        cluster.put(make_node(f"n{i}").labels(of_node).build())
    return cluster


@given(st.lists(LABELS, min_size=1, max_size=6), SELECTORS)
def test_like_a_node_at_a_time(labels: list[dict[str, str]], selector: NodeSelector) -> None:
    cluster, matcher = cluster_of(labels), compile_node_selector(selector)
    some = np.arange(len(labels))[::-2]
    for nodes in (cluster.view.nodes, cluster.view.rows(some), cluster.view.trial(some)):
        expected = [matcher.matches(labels[row], f"n{row}") for row in nodes.rows]
        assert matcher_mask(nodes, matcher).tolist() == expected
        for term in matcher.terms:
            expected = [term.matches(labels[row], f"n{row}") for row in nodes.rows]
            assert term_mask(nodes, term).tolist() == expected


def test_a_value_that_comes_up_later_is_seen() -> None:
    cluster = cluster_of([{"zone": "a"}])
    wanted = NodeSelectorRequirement("zone", "In", ("b", "c"))
    (term,) = compile_node_selector(NodeSelector((NodeSelectorTerm((wanted,)),))).terms
    assert term_mask(cluster.view.nodes, term).tolist() == [False]
    cluster.put(make_node("n1").label("zone", "c").build())
    cluster.put(make_node("n0").label("zone", "b").build())
    assert term_mask(cluster.view.nodes, term).tolist() == [True, True]


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
IN_ZONE_A = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}


@pytest.mark.parametrize(
    ("selector", "affinity", "expected"),
    [
        pytest.param({}, None, None, id="nothing required"),
        pytest.param({"disk": "ssd"}, None, [True, False, True], id="nodeSelector"),
        pytest.param({}, [IN_ZONE_A], [True, True, False], id="affinity"),
        pytest.param({"disk": "ssd"}, [IN_ZONE_A], [True, False, False], id="both"),
        pytest.param({}, [], [False, False, False], id="affinity without terms"),
        pytest.param({}, [{}], [False, False, False], id="affinity with an empty term"),
    ],
)
def test_what_a_pod_requires(
    selector: dict[str, str], affinity: list[Any] | None, expected: list[bool] | None
) -> None:
    labels = [{"zone": "a", "disk": "ssd"}, {"zone": "a"}, {"zone": "b", "disk": "ssd"}]
    cluster = cluster_of(labels)
    builder = make_pod("web").node_selector(selector)
    if affinity is not None:
        rules = {REQUIRED: {"nodeSelectorTerms": affinity}}
        builder.manifest["spec"]["affinity"] = {"nodeAffinity": rules}
    required = required_nodes(cluster.info(builder.build()).shape)
    mask = required.mask(cluster.view.nodes)
    assert (None if mask is None else mask.tolist()) == expected
    one_by_one = [required.matches(of_node, f"n{i}") for i, of_node in enumerate(labels)]
    assert one_by_one == (expected or [True] * 3)
