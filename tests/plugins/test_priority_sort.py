"""PrioritySort against Kubernetes' comparison of two pods."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.cluster import Cluster
from bayplan.plugins.priority_sort import PrioritySort
from bayplan.testing.builders import make_pod

ENTRIES = st.tuples(st.integers(-5, 5), st.floats(0, 1e9))


@given(ENTRIES, ENTRIES)
def test_like_kubernetes(one: tuple[int, float], other: tuple[int, float]) -> None:
    cluster, plugin = Cluster(), PrioritySort()
    keys = [
        plugin.sort_key(cluster.info(make_pod("web").priority(priority).build()), queued_at)
        for priority, queued_at in (one, other)
    ]
    is_less = one[0] > other[0] or (one[0] == other[0] and one[1] < other[1])
    assert (keys[0] < keys[1]) is is_less


def test_a_pod_without_priority_has_priority_0() -> None:
    cluster = Cluster()
    assert PrioritySort().sort_key(cluster.info(make_pod("web").build()), 3.0) == (0, 3.0)
