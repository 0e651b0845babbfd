from __future__ import annotations

from typing import Any

from bayplan.cluster.audit import check
from bayplan.cluster.cluster import Cluster
from bayplan.model.decode import decode
from bayplan.model.policy import ElasticQuota
from bayplan.testing import make_pod


def quota(namespace: str, name: str = "q", *, created: str = "", **spec: Any) -> ElasticQuota:
    meta = {"name": name, "namespace": namespace}
    if created:
        meta["creationTimestamp"] = created
    found = decode(
        {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "ElasticQuota",
            "metadata": meta,
            "spec": spec,
        }
    )
    assert isinstance(found, ElasticQuota)
    return found


def test_only_namespaces_with_a_quota_are_counted() -> None:
    cluster = Cluster()
    for namespace in ("a", "b"):
        cluster.put(make_pod("p", namespace).on("n").requests(cpu="2").build())
    quotas = cluster.view.quotas
    assert not quotas.total_used
    cluster.put(quota("a", min={"cpu": 1}, max={"cpu": "4"}))
    assert quotas.total_used == {"cpu": 2000, "pods": 1}
    cluster.put(quota("b", min={"cpu": "500m", "memory": "1Gi"}))
    assert quotas.total_used == {"cpu": 4000, "pods": 2}
    assert quotas.guaranteed == {"cpu": 1500, "memory": 1 << 30}
    assert quotas.borrowed("a") == {"cpu": 1000}
    check(cluster)
    cluster.remove(quota("a"))
    assert quotas.total_used == {"cpu": 2000, "pods": 1}
    assert [one.namespace for one in quotas] == ["b"]
    check(cluster)


def test_a_resource_that_no_minimum_names_cannot_be_borrowed() -> None:
    cluster = Cluster()
    cluster.put(quota("a", max={"gpu.example.com/x": 4}, min={"cpu": 1}))
    cluster.put(make_pod("p", "a").on("n").requests({"gpu.example.com/x": "2"}).build())
    assert cluster.view.quotas.borrowed("a") == {}


def test_of_two_quotas_of_a_namespace_the_oldest_counts() -> None:
    cluster = Cluster()
    cluster.put(quota("a", "young", created="2026-02-01T00:00:00Z", min={"cpu": 9}))
    cluster.put(quota("a", "old", created="2026-01-01T00:00:00Z", min={"cpu": 1}))
    assert cluster.view.quotas.guaranteed == {"cpu": 1000}
    cluster.remove(quota("a", "old"))
    assert cluster.view.quotas.guaranteed == {"cpu": 9000}


def test_a_change_is_a_topic_of_its_own() -> None:
    from bayplan.cluster.changes import Reads

    cluster = Cluster()
    before = cluster.view.versions(Reads.QUOTAS)
    cluster.put(quota("a", min={"cpu": 9}))
    assert cluster.view.versions(Reads.QUOTAS) != before
