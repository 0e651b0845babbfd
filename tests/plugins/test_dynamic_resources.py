"""DynamicResources: refuses claims, and stays out of the way of everybody else."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.podinfo import PodInfo
from bayplan.framework.preemption import Failures
from bayplan.framework.state import CycleState
from bayplan.framework.status import SKIP, Code, Rejected, unresolvable
from bayplan.plugins.dynamic_resources import DynamicResources
from bayplan.testing.builders import make_node, make_pod

UNUSED = cast("Failures", None)


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.put(make_node("a").build())
    return cluster


def claiming(cluster: Cluster, *claims: str) -> PodInfo:
    builder = make_pod("web")
    builder.manifest["spec"]["resourceClaims"] = [
        {"name": claim, "resourceClaimName": f"{claim}-claim"} for claim in claims
    ]
    return cluster.info(builder.build())


@pytest.mark.parametrize(
    ("claims", "names"),
    [
        pytest.param(["gpu"], '"gpu"', id="one claim"),
        pytest.param(["gpu", "nic"], '"gpu", "nic"', id="two claims"),
    ],
)
def test_a_pod_with_claims_is_refused(cluster: Cluster, claims: list[str], names: str) -> None:
    pod, plugin = claiming(cluster, *claims), DynamicResources()
    words = f"pod uses resource claims ({names}), which are not supported yet"
    assert plugin.prefilter(pod, cluster.view, CycleState()) == unresolvable(words)
    assert plugin.filter(pod, cluster.view.nodes, CycleState()) == unresolvable(words)


def test_another_pod_is_not_looked_at_but_scored(cluster: Cluster) -> None:
    pod, plugin, state = claiming(cluster), DynamicResources(), CycleState()
    assert plugin.prefilter(pod, cluster.view, state) is SKIP
    assert plugin.filter(pod, cluster.view.nodes, state) is None
    assert plugin.score(pod, cluster.view.nodes, state) == 0
    everywhere = np.ones(1, np.bool_)
    assert plugin.normalize(np.zeros(1, np.int64), everywhere, state) is None


def test_there_is_nothing_to_deallocate(cluster: Cluster) -> None:
    pod, plugin, state = claiming(cluster), DynamicResources(), CycleState()
    plugin.prefilter(pod, cluster.view, state)
    answer = plugin.postfilter(pod, cluster.view, state, UNUSED)
    assert answer == Rejected("no new claims to deallocate")


def test_where_prefilter_was_not_reached_preemption_is_cut_off(cluster: Cluster) -> None:
    answer = DynamicResources().postfilter(claiming(cluster), cluster.view, CycleState(), UNUSED)
    assert answer == Rejected("not found", code=Code.ERROR)
