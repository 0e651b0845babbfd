"""ImageLocality against Kubernetes' arithmetic, one node at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.cluster import Cluster
from bayplan.framework.state import CycleState
from bayplan.plugins.image_locality import ImageLocality, normalized
from bayplan.testing.builders import PodBuilder, make_node, make_pod

MB = 1024 * 1024


def pod_with(
    containers: list[str], init: list[str] | None = None, volumes: list[str] | None = None
) -> PodBuilder:
    builder = make_pod("web")
    spec: dict[str, Any] = builder.manifest["spec"]
    spec["containers"] = [{"name": f"c{i}", "image": name} for i, name in enumerate(containers)]
    spec["initContainers"] = [{"name": f"i{i}", "image": name} for i, name in enumerate(init or [])]
    spec["volumes"] = [
        {"name": f"v{i}", "image": {"reference": name}} for i, name in enumerate(volumes or [])
    ]
    return builder


def cluster_of(*images: dict[str, int]) -> Cluster:
    cluster = Cluster()
    for i, on_node in enumerate(images):
        builder = make_node(f"n{i}")
        for name, size in on_node.items():
            builder.image(name, size)
        cluster.put(builder.build())
    return cluster


def scores(cluster: Cluster, pod: PodBuilder) -> list[int]:
    info = cluster.info(pod.build())
    answer = ImageLocality().score(info, cluster.view.nodes, CycleState())
    return [answer] * len(cluster.view.nodes) if isinstance(answer, int) else answer.tolist()


@pytest.mark.parametrize(
    ("image", "full"),
    [
        pytest.param("nginx", "nginx:latest", id="no tag"),
        pytest.param("nginx:1.27", "nginx:1.27", id="a tag"),
        pytest.param("reg:5000/nginx", "reg:5000/nginx:latest", id="a port and no tag"),
        pytest.param("reg:5000/nginx:1", "reg:5000/nginx:1", id="a port and a tag"),
        pytest.param("nginx@sha256:ab", "nginx@sha256:ab", id="a digest"),
        pytest.param("", ":latest", id="nothing"),
    ],
)
def test_image_names(image: str, full: str) -> None:
    assert normalized(image) == full


SIZES = {
    "a:latest": 10 * MB,
    "b:1": 300 * MB,
    "c:1": 700 * MB,
    "d:1": 5000 * MB,
    "e:1": (1 << 63) - 1,
}
ON_NODE = st.sets(st.sampled_from(sorted(SIZES))).map(lambda names: {n: SIZES[n] for n in names})
USED = st.lists(st.sampled_from(("a", "b:1", "c:1", "d:1", "e:1", "unknown")), max_size=3)


@given(st.lists(ON_NODE, min_size=1, max_size=5), USED.filter(len), USED, USED)
def test_like_a_node_at_a_time(
    nodes: list[dict[str, int]], containers: list[str], init: list[str], volumes: list[str]
) -> None:
    def expected(on_node: dict[str, int]) -> int:
        saved = 0
        for image in (*containers, *init, *volumes):
            name = image if ":" in image else f"{image}:latest"
            if name in on_node:
                share = sum(name in other for other in nodes) / len(nodes)
                saved += int(float(on_node[name]) * share)
        most = 1000 * MB * (len(containers) + len(init))
        return 100 * (min(max(saved, 23 * MB), most) - 23 * MB) // (most - 23 * MB)

    cluster = cluster_of(*nodes)
    got = scores(cluster, pod_with(containers, init, volumes))
    assert got == [expected(on_node) for on_node in nodes]


def test_a_few_rows() -> None:
    cluster = cluster_of({"a:1": 900 * MB}, {}, {"a:1": 900 * MB})
    pod = cluster.info(pod_with(["a:1"]).build())
    answer = ImageLocality().score(pod, cluster.view.rows(np.array([2, 1])), CycleState())
    assert not isinstance(answer, int)
    assert answer.tolist() == [59, 0]


def test_images_that_no_node_has_leave_all_nodes_alike() -> None:
    cluster = cluster_of({"a:1": 900 * MB}, {})
    pod = cluster.info(pod_with(["b:1"]).build())
    assert ImageLocality().score(pod, cluster.view.nodes, CycleState()) == 0


def test_an_image_that_goes_counts_no_more() -> None:
    cluster = cluster_of({"a:1": 900 * MB}, {"a:1": 900 * MB})
    assert scores(cluster, pod_with(["a:1"])) == [89, 89]
    cluster.put(make_node("n1").build())
    assert scores(cluster, pod_with(["a:1"])) == [43, 0]
    cluster.remove_node("n1")
    assert scores(cluster, pod_with(["a:1"]))[0] == 89
