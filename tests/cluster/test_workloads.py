from __future__ import annotations

import itertools
from typing import Any

import pytest

from bayplan.cluster.changes import Reads
from bayplan.cluster.cluster import Cluster
from bayplan.model.decode import decode_as
from bayplan.model.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from bayplan.testing import PodBuilder, make_pod


def make(kind: type[Any], name: str, selector: Any, namespace: str = "default") -> Any:
    meta = {"name": name, "namespace": namespace}
    return decode_as(kind, {"metadata": meta, "spec": {"selector": selector}})


def service(name: str = "svc", namespace: str = "default", **selector: str) -> Any:
    return make(Service, name, selector, namespace)


def web(kind: str = "", version: str = "apps/v1", *, controller: bool = True) -> PodBuilder:
    pod = make_pod("web").labels(app="web", tier="front")
    if kind:
        owner = {"apiVersion": version, "kind": kind, "name": "own", "controller": controller}
        pod.manifest["metadata"]["ownerReferences"] = [owner]
    return pod


BY_APP = {"matchLabels": {"app": "web"}}
UNREADABLE = {"matchExpressions": [{"key": "app", "operator": "Near"}]}


@pytest.mark.parametrize(
    ("pod", "objects", "selector"),
    [
        pytest.param(web(), [], None, id="nothing at all"),
        pytest.param(web(), [service(app="web")], "app=web", id="a service"),
        pytest.param(
            web(),
            [service("a", app="web"), service("b", tier="front")],
            "app=web,tier=front",
            id="services add up",
        ),
        pytest.param(web(), [service(app="db")], None, id="a service of others"),
        pytest.param(web(), [service(app="web", x="y")], None, id="a service that wants more"),
        pytest.param(web(), [service(namespace="else", app="web")], None, id="a service elsewhere"),
        pytest.param(web(), [service()], None, id="a service without selector"),
        pytest.param(
            web("ReplicaSet"), [make(ReplicaSet, "own", BY_APP)], "app=web", id="a ReplicaSet"
        ),
        pytest.param(
            web("StatefulSet"), [make(StatefulSet, "own", BY_APP)], "app=web", id="a StatefulSet"
        ),
        pytest.param(
            web("ReplicationController", "v1"),
            [make(ReplicationController, "own", {"app": "web"})],
            "app=web",
            id="a ReplicationController",
        ),
        pytest.param(
            web("ReplicaSet"),
            [make(ReplicaSet, "own", BY_APP), service(tier="front")],
            "app=web,tier=front",
            id="a service and a controller",
        ),
        pytest.param(
            web("ReplicaSet", "extensions/v1beta1"),
            [make(ReplicaSet, "own", BY_APP)],
            None,
            id="a controller of an old version",
        ),
        pytest.param(
            web("ReplicaSet", controller=False),
            [make(ReplicaSet, "own", BY_APP)],
            None,
            id="an owner that is no controller",
        ),
        pytest.param(
            web("ReplicaSet"), [make(ReplicaSet, "other", BY_APP)], None, id="somebody else's"
        ),
        pytest.param(
            web("ReplicaSet"),
            [make(ReplicaSet, "own", UNREADABLE), service(app="web")],
            "app=web",
            id="a controller whose selector cannot be read adds nothing",
        ),
    ],
)
def test_who_belongs_together(pod: PodBuilder, objects: list[Any], selector: str | None) -> None:
    cluster = Cluster()
    for obj in objects:
        cluster.put(obj)
    info = cluster.info(pod.build())
    for _ in range(2):  # the second answer is a remembered one
        found = cluster.workloads.selector_for(info)
        assert (None if found is None else str(found)) == selector


def test_an_answer_is_remembered_until_a_workload_of_the_namespace_changes() -> None:
    cluster = Cluster()
    info = cluster.info(web().build())
    versions = [cluster.journal.versions(Reads.WORKLOADS)]
    found = []
    for act, obj in (
        (cluster.put, service(app="web")),
        (cluster.put, service(app="web")),
        (cluster.put, service(namespace="else", app="web")),
        (cluster.put, service(tier="front")),
        (cluster.put, service()),
        (cluster.remove, service()),
    ):
        act(obj)
        versions.append(cluster.journal.versions(Reads.WORKLOADS))
        selector = cluster.workloads.selector_for(info)
        found.append(None if selector is None else str(selector))
    assert found == ["app=web", "app=web", "app=web", "tier=front", None, None]
    changed = [before != after for before, after in itertools.pairwise(versions)]
    assert changed == [True, False, True, True, True, False]
