from __future__ import annotations

from typing import Any

import pytest

from bayplan.cluster.cluster import Cluster
from bayplan.errors import ConfigError
from bayplan.framework.config import load_config_objects
from bayplan.framework.plugin import QueueSortPlugin
from bayplan.plugins import default_registry
from bayplan.testing import PodBuilder, make_cluster, make_node, make_pod
from bayplan.testing.scheduler import desk_of_profile

TREE = [
    {
        "name": "research",
        "weight": 3,
        "queues": [
            {"name": "vision", "namespaces": ["vision"]},
            {"name": "speech", "weight": 2, "namespaces": ["speech", "audio"]},
        ],
    },
    {"name": "open"},
]


def profile(**args: Any) -> dict[str, Any]:
    sort = {"enabled": [{"name": "FairQueues"}], "disabled": [{"name": "*"}]}
    return {
        "plugins": {"queueSort": sort},
        "pluginConfig": [{"name": "FairQueues", "args": {"queues": TREE, **args}}],
    }


def a_cluster(*pods: PodBuilder) -> Cluster:
    return make_cluster(make_node("n").capacity(cpu="100", memory="1000", pods="1000"), *pods)


def plugin_of(cluster: Cluster, **args: Any) -> QueueSortPlugin:
    (sort,) = desk_of_profile(cluster, profile(**args), default_registry()).profile.queue_sort
    return sort


def taking(name: str, namespace: str, cpu: str = "1", memory: str = "0") -> PodBuilder:
    return make_pod(name, namespace).on("n").requests(cpu=cpu, memory=memory)


@pytest.mark.parametrize(
    ("pod", "lane"),
    [
        pytest.param(make_pod("p", "audio"), "speech", id="by namespace"),
        pytest.param(make_pod("p", "other"), "default", id="of no queue's namespace"),
        pytest.param(make_pod("p").label("bayplan.io/queue", "open"), "open", id="by label"),
        pytest.param(
            make_pod("p").annotation("bayplan.io/queue", "open"), "open", id="by annotation"
        ),
        pytest.param(
            make_pod("p").label("bayplan.io/queue", "vision"),
            "default",
            id="by a label that its namespace may not have",
        ),
        pytest.param(
            make_pod("p", "vision").label("bayplan.io/queue", "research"),
            "vision",
            id="by the label of a queue with queues below",
        ),
        pytest.param(make_pod("p", "vision").priority(2_000_001_000), "system", id="of the system"),
    ],
)
def test_where_a_pod_waits(pod: PodBuilder, lane: str) -> None:
    cluster = a_cluster()
    assert plugin_of(cluster).lane(cluster.info(pod.build())) == lane


@pytest.mark.parametrize(
    ("pods", "waiting", "lane"),
    [
        pytest.param([], ["open", "vision"], "vision", id="all alike: as they are written"),
        pytest.param([taking("a", "vision")], ["open", "vision"], "open", id="who has nothing"),
        pytest.param(
            [taking("a", "vision"), taking("b", "speech", "1500m")],
            ["speech", "vision"],
            "speech",
            id="by weight",
        ),
        pytest.param(
            [taking("a", "vision", "3"), taking("b", "speech", "1", "70")],
            ["speech", "vision"],
            "vision",
            id="by what it has most of",
        ),
        pytest.param(
            [
                taking("a", "vision", "2"),
                taking("b", "x", "1").label("bayplan.io/queue", "open"),
            ],
            ["open", "speech"],
            "speech",
            id="a sibling without any does not count against the one above",
        ),
        pytest.param([], ["open", "system"], "system", id="the system first"),
    ],
)
def test_whose_turn_it_is(pods: list[PodBuilder], waiting: list[str], lane: str) -> None:
    assert plugin_of(a_cluster(*pods)).next_lane(waiting) == lane


def test_one_that_was_passed_over_too_often_has_its_turn() -> None:
    sort = plugin_of(a_cluster(taking("a", "vision")), patience=3)
    turns = [sort.next_lane(["open", "vision"]) for _ in range(8)]
    assert turns == ["open", "open", "open", "vision"] * 2
    strict = plugin_of(a_cluster(taking("a", "vision")), patience=0)
    assert {strict.next_lane(["open", "vision"]) for _ in range(300)} == {"open"}


def test_a_pod_that_is_assumed_counts_at_once() -> None:
    cluster = a_cluster()
    sort = plugin_of(cluster)
    assert sort.next_lane(["open", "vision"]) == "vision"
    cluster.assume(cluster.info(taking("a", "vision").build()), "n")
    assert sort.next_lane(["open", "vision"]) == "open"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        pytest.param(
            {"queues": [{"name": "a"}, {"name": "b", "queues": [{"name": "a"}]}]},
            'queues[1].queues[0].name: Invalid value: a queue named "a" already exists',
            id="a name twice",
        ),
        pytest.param(
            {"queues": [{"name": "a", "weight": 0}]},
            "queues[0].weight: Invalid value: must be greater than 0",
            id="no weight",
        ),
        pytest.param(
            {"queues": [{"name": "a", "wieght": 2}]},
            "wieght",
            id="a field that is not there",
        ),
        pytest.param({"patience": -1}, "patience: Invalid value", id="negative patience"),
        pytest.param({"defaultWeight": 0}, "defaultWeight: Invalid value", id="default weight"),
    ],
)
def test_what_is_wrong_with_arguments(args: dict[str, Any], said: str) -> None:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile(**args)],
    }
    with pytest.raises(ConfigError) as error:
        load_config_objects(document, default_registry())
    assert said in str(error.value)
