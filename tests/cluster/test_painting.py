from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.painting import Painting, Table
from bayplan.testing import make_cluster, make_node

#: Rows change their zone, or the zones their values, or the stamp is another one.
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("node"), st.integers(0, 3), st.sampled_from(["z0", "z1", "z2", None])),
        st.tuples(st.just("value"), st.integers(0, 3), st.integers(0, 2)),
        st.tuples(st.just("stamp"), st.integers(0, 1), st.none()),
    ),
    max_size=12,
)


@given(EVENTS, st.booleans())
def test_like_looking_every_row_up(events: list[Any], few: bool) -> None:
    cluster = make_cluster(*(make_node(f"n{i}").zone(f"z{i % 3}") for i in range(4)))
    key = "topology.kubernetes.io/zone"
    cluster.view.nodes.label(key)
    #: By zone, the last entry for rows without one.
    values = np.zeros(8, np.int16)
    stamp = 0
    painting: Painting[np.int16] = Painting()

    def look_up(tables: Sequence[Table], nodes: Any) -> Any:
        ((name, amounts),) = tables
        return amounts.take(nodes.label(name)) + stamp

    for kind, number, what in events:
        if kind == "node":
            node = make_node(f"n{number}")
            cluster.put((node.zone(what) if what else node).build())
        elif kind == "value":
            values = values.copy()
            values[number if number < 3 else -1] = what
        else:
            stamp = number
        nodes = cluster.view.nodes
        before = painting.values
        painted = painting.paint(nodes, [(key, values)], look_up, stamp)
        assert painted.tolist() == look_up([(key, values)], nodes).tolist()
        if before is not None and before is not painted:
            before.flags.writeable = False  # whoever kept the old one keeps what it has read
        if few:
            rows = cluster.view.rows(np.array([2, 0]))
            assert painting.paint(rows, [(key, values)], look_up, stamp).tolist() == [
                int(painted[2]),
                int(painted[0]),
            ]
            assert painting.values is painted, "only all rows are remembered"
