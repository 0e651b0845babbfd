from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.storage_objects import required

from bayplan.cluster.node_groups import NO_PLACE, NodeGroups
from bayplan.cluster.volume_nodes import nodes_of
from bayplan.model.decode import decode_as
from bayplan.model.storage import PersistentVolume
from bayplan.testing import make_cluster, make_node

#: Terms of labels and values, one of which a node needs; None: every node will do.
SETS: list[list[dict[str, list[str]]] | None] = [
    None,
    [{"host": ["n0"]}],
    [{"host": ["n1"]}],
    [{"zone": ["z1"]}],
    [{"zone": ["z1", "z2"]}],
    [{"zone": ["z1"]}, {"host": ["n2"]}],
    [{"zone": ["z2"], "host": ["n1"]}],
    [{"host": ["nobody"]}],
]


def nodes_like(terms: list[dict[str, list[str]]] | None) -> Any:
    if terms is None:
        return None
    volume = decode_as(
        PersistentVolume,
        {"metadata": {"name": "v"}, "spec": {"nodeAffinity": required(*terms)}},  # type: ignore[arg-type]
    )
    affinity = volume.spec.node_affinity
    assert affinity is not None
    return nodes_of(affinity.required)


def reaches(terms: list[dict[str, list[str]]] | None, labels: dict[str, str]) -> bool:
    return terms is None or any(
        all(labels.get(key) in values for key, values in term.items()) for term in terms
    )


@given(
    st.lists(st.sampled_from([None, "z1", "z2", "z3"]), min_size=1, max_size=4),
    st.lists(st.sampled_from(range(len(SETS))), max_size=6),
    st.integers(0, 2),
    st.booleans(),
)
def test_the_first_place_within_reach_like_a_node_at_a_time(
    zones: list[str | None], things: list[int], picks: int, late: bool
) -> None:
    """Things stand in order, each for a set of nodes; after a pick its place is taken on that node."""
    groups = NodeGroups()
    numbers = [groups.id(nodes_like(SETS[one])) for one in things]
    labels = [{"host": f"n{i}", **({"zone": z} if z else {})} for i, z in enumerate(zones)]
    cluster = make_cluster(*(make_node(f"n{i}").labels(of) for i, of in enumerate(labels)))
    view = cluster.view
    if late:  # a value that no node had when the sets were last looked at
        places = np.arange(len(things), dtype=np.int64)
        groups.spread(view.nodes, groups.first(np.array(numbers, np.int32), places, 1))
        cluster.put(make_node("n9").labels({"host": "nobody", "zone": "z2"}).build())
        labels.append({"host": "nobody", "zone": "z2"})
    places = np.arange(len(things), dtype=np.int64)
    first = groups.first(np.array(numbers, np.int32), places, picks + 1)
    taken: list[Any] = []
    left = [list(range(len(things))) for _ in labels]
    for _ in range(picks + 1):
        found = groups.spread(view.nodes, first, taken)
        for i, of_node in enumerate(labels):
            fitting = [place for place in left[i] if reaches(SETS[things[place]], of_node)]
            expected = min(fitting, default=NO_PLACE)
            assert found[i] == expected
            if expected != NO_PLACE:
                left[i].remove(expected)
        taken.append(found)


def test_equal_sets_have_one_number() -> None:
    groups = NodeGroups()
    assert groups.id(nodes_like(SETS[1])) == groups.id(nodes_like([{"host": ["n0"]}]))
    assert groups.id(None) == groups.id(None) == 0
