from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.promised_rows import PromisedRows
from bayplan.testing import make_node, make_pod

NODES = ["n1", "n2", "n3"]
#: A promise to a pod, or with an empty name its end; a node that comes or goes; a look.
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from("abc"), st.sampled_from([*NODES, ""])),
        st.tuples(st.sampled_from(["node"]), st.sampled_from(NODES)),
        st.tuples(st.sampled_from(["look"]), st.just("")),
    ),
    max_size=20,
)


def apply(cluster: Cluster, what: str, node: str) -> None:
    if what == "node":
        if cluster.view.row_of(node) is None:
            cluster.put(make_node(node).build())
        else:
            cluster.remove_node(node)
    elif node:
        pod = make_pod(what).priority("abc".index(what)).build()
        cluster.nominations.put(cluster.info(pod), node)
    else:
        cluster.nominations.remove(f"default/{what}")


@given(EVENTS)
def test_rows_are_those_that_the_names_stand_for(events: list[tuple[str, str]]) -> None:
    cluster = Cluster()
    for what, node in events:
        if what != "look":
            apply(cluster, what, node)
            continue
        for priority in (-1, 1, 5):
            there = {
                (row, pod.name)
                for row, pods in cluster.promises.at_least(priority).by_row.items()
                for pod in pods
            }
            assert there == {
                (cluster.view.row_of(node), pod.name)
                for pod, node in cluster.nominations.all()
                if cluster.view.row_of(node) is not None and pod.priority >= priority
            }


@given(EVENTS)
def test_every_row_that_is_not_as_before_is_named(events: list[tuple[str, str]]) -> None:
    cluster = Cluster()
    source: PromisedRows | None = None
    seen: dict[int, list[str]] = {}
    read = 0
    for what, node in events:
        if what != "look":
            apply(cluster, what, node)
            continue
        now = cluster.promises.at_least(0)
        rows = {row: [pod.name for pod in pods] for row, pods in now.by_row.items()}
        if now is source:
            differ = {row for row in {*rows, *seen} if rows.get(row) != seen.get(row)}
            assert differ <= set(now.changed[read:])
        source, seen, read = now, rows, len(now.changed)
