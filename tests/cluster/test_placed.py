from __future__ import annotations

import numpy as np

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.placed import PlacedPods
from bayplan.testing import make_pod


def test_pods_in_columns_and_one_by_one() -> None:
    cluster = Cluster()
    cluster.put(make_pod("p", "a").on("n").priority(3).started("2026-01-01T00:00:00Z").build())
    cluster.put(make_pod("q", "b").on("m").requests(cpu="1").build())
    cluster.put(make_pod("r", "a").on("m").requests(cpu="1").build())
    rows = np.array([cluster.pods.row_of[key] for key in ("b/q", "a/p", "a/r")])
    pods = PlacedPods(cluster, rows)
    asked: list[str] = []

    def is_a(namespace: str) -> bool:
        asked.append(namespace)
        return namespace == "a"

    assert len(pods) == 3
    assert pods.priority.tolist() == [0, 3, 0]
    assert np.isnan(pods.started).tolist() == [True, False, True]
    assert pods.by_namespace(is_a).tolist() == [False, True, True]
    assert asked == ["b", "a"]
    assert pods.by_spec(lambda spec: float(spec.priority or 0)).tolist() == [0, 3, 0]
    assert (pods.pod(0).key, pods.pod(0).node_name) == ("b/q", "m")
