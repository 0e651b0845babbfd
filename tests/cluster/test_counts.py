"""Counts by sort of pods and by domain, kept by steps of one, against counting anew after every event."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster import carriers, counts, tallies
from bayplan.cluster.audit import check, stages
from bayplan.cluster.cluster import Cluster
from bayplan.cluster.recount import Sample
from bayplan.cluster.terms import Term
from bayplan.model.decode import decode_as
from bayplan.model.namespace import Namespace
from bayplan.model.selectors import NOTHING, LabelSelector, compile_label_selector
from bayplan.testing import PodBuilder, make_node, make_pod

ZONE = "topology.kubernetes.io/zone"


def selector(**labels: str) -> Any:
    return compile_label_selector(LabelSelector(match_labels=labels))


#: Sorts of pods by terms that all have to match, and what is asked of the namespaces' labels.
SORTS = [
    (Term(frozenset({"blue"}), NOTHING, selector(app="web")),),
    (Term(frozenset(), selector(), selector(app="web")),),
    (Term(frozenset({"green"}), selector(team="x"), selector()),),
    (
        Term(frozenset({"blue", "green"}), NOTHING, selector(app="web")),
        Term(frozenset(), selector(), selector(tier="gold")),
    ),
]
LABELS: list[dict[str, str]] = [{}, {"app": "web"}, {"app": "web", "tier": "gold"}, {"app": "db"}]


def a_pod(name: str, namespace: str, labels: dict[str, str], kind: int) -> PodBuilder:
    pod = make_pod(name, namespace).uid(f"{namespace}-{name}").labels(labels)
    if kind == 1:
        pod.affinity({"app": "web"}, ZONE, anti=True).affinity({"app": "db"}, ZONE, weight=5)
    return pod.terminating() if kind == 2 else pod


PODS = st.tuples(
    st.sampled_from("abcdef"),
    st.sampled_from(["blue", "green"]),
    st.sampled_from(LABELS),
    st.integers(0, 2),
)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("pod"), PODS, st.integers(0, 4)),
        st.tuples(st.just("gone"), PODS, st.just(0)),
        st.tuples(st.just("node"), st.sampled_from(["z1", "z2", "z3", None]), st.integers(0, 4)),
        st.tuples(st.just("no node"), st.none(), st.integers(0, 4)),
        st.tuples(st.just("namespace"), st.sampled_from(["x", "y", None]), st.integers(0, 1)),
        st.tuples(st.just("ask"), st.booleans(), st.integers(0, 3)),
    ),
    max_size=25,
)


def happen(cluster: Cluster, kind: str, what: Any, number: int) -> None:
    match kind:
        case "pod":
            pod = a_pod(*what).on(f"n{number}").build()
            cluster.remove_pod(pod.metadata.namespace, pod.metadata.name)
            cluster.put(pod)
        case "gone":
            cluster.remove_pod(what[1], what[0])
        case "node":
            node = make_node(f"n{number}")
            cluster.put((node.zone(what) if what else node).build())
        case "no node":
            cluster.remove_node(f"n{number}")
        case "namespace":
            labels = {"team": what} if what else {}
            meta = {"name": ["blue", "green"][number], "labels": labels}
            cluster.put(decode_as(Namespace, {"metadata": meta}))
        case _:
            raise ValueError(kind)


def matches(cluster: Cluster, terms: tuple[Term, ...], pod: Any) -> bool:
    return all(
        cluster.namespaces.covered(term, pod.namespace) and term.selector.matches(pod.labels)
        for term in terms
    )


def assert_counts(cluster: Cluster, sort: int, *, staying: bool) -> None:
    """By zone, counted over all pods of all nodes that exist."""
    tally = cluster.counts.tally(SORTS[sort], staying=staying)
    view = cluster.counts.view(tally, cluster.counts.domains(ZONE))
    expected: Counter[str] = Counter()
    total = 0
    for row in range(len(cluster.view.nodes)):
        node = cluster.view.nodes.node(row)
        for pod in node.pods:
            if matches(cluster, SORTS[sort], pod) and not (staying and pod.terminating):
                total += 1
                if cluster.view.nodes.alive[row] and node.zone:
                    expected[node.zone] += 1
    zones = cluster.view.label_values(ZONE)
    assert tally.total == total
    assert {z: int(view.counts[i]) for i, z in enumerate(zones) if view.counts[i]} == expected
    assert view.total == sum(expected.values())
    assert view.counts[-1] == 0, "what a row without a domain reads"


@given(EVENTS)
def test_like_counting_anew(events: list[tuple[str, Any, int]]) -> None:
    count_along(events)


def count_along(events: list[tuple[str, Any, int]]) -> None:
    cluster = Cluster()
    for kind, what, number in events:
        if kind == "ask":
            assert_counts(cluster, number, staying=what)
            cluster.counts.interest(
                cluster.info(make_pod("x", "blue").label("app", "web").build()).kin
            )
        else:
            happen(cluster, kind, what, number)
    check(cluster)
    for sort in range(len(SORTS)):
        for staying in (False, True):
            assert_counts(cluster, sort, staying=staying)
    check(cluster)


@given(EVENTS)
def test_forgetting_what_nobody_uses_changes_no_count(events: list[tuple[str, Any, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tallies, "IDLE", 1)
        patch.setattr(carriers, "IDLE", 1)
        patch.setattr(counts, "ROOM", 1)
        count_along(events)


def test_selectors_of_one_pod_each_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "TALLIES", 8)
    cluster = Cluster()
    cluster.put(make_node("n").build())
    for number in range(100):
        cluster.put(
            make_pod(f"p{number}").uid(f"{number}").label("app", f"a{number}").on("n").build()
        )
        alone = (Term(frozenset({"default"}), NOTHING, selector(app=f"a{number}")),)
        assert cluster.counts.tally(alone).total == 1
        assert len(cluster.counts.tallies.tallies) <= 8
    check(cluster)


def test_a_recount_of_a_part_each_time_comes_round_to_all() -> None:
    cluster = Cluster()
    cluster.put(make_node("n").build())
    for number in range(20):
        cluster.put(
            make_pod(f"p{number}").uid(f"{number}").label("app", f"a{number}").on("n").build()
        )
        cluster.counts.tally((Term(frozenset({"default"}), NOTHING, selector(app=f"a{number}")),))
    wrong = list(cluster.counts.tallies.tallies.values())[13]
    wrong.total += 1
    found = [
        [line for stage in stages(cluster, Sample(60, turn)) for line in stage] for turn in range(7)
    ]
    assert sum(map(len, found)) == 1


@given(EVENTS)
def test_whom_placed_pods_speak_of(events: list[tuple[str, Any, int]]) -> None:
    """The terms that placed pods carry and that speak of a pod: the same as asking every placed pod."""
    cluster = Cluster()
    probe = cluster.info(make_pod("probe", "blue").label("app", "web").build())
    for kind, what, number in events:
        if kind == "ask":
            cluster.counts.interest(probe.kin)
        else:
            happen(cluster, kind, what, number)
    carrying = Counter(
        (role, term.topology_key, row)
        for row in range(len(cluster.view.nodes))
        for pod in cluster.view.nodes.pods_on(row)
        for role, term in carriers.carried(pod.shape, pod.namespace)
        if cluster.namespaces.covered_by_carrier(term.term, "blue")
        and term.term.selector.matches(probe.labels)
    )
    found = Counter(
        {
            (carrier.role, carrier.placed.topology_key, row): number
            for carrier in cluster.counts.interest(probe.kin).carriers
            for row, number in carrier.rows.items()
        }
    )
    assert found == carrying
