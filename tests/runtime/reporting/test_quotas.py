"""Writing what quotas are used for: once, when it changes, and not again while the API server says no."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.cluster.cluster import Cluster
from bayplan.errors import BayplanError, Forbidden, NotFound
from bayplan.model.decode import decode
from bayplan.runtime.reporting.quotas import QuotaStatus, gauge
from bayplan.testing import make_pod
from bayplan.testing.virtual_time import VirtualClock


def quota(version: str = "1", used: dict[str, str] | None = None) -> Any:
    return decode(
        {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "ElasticQuota",
            "metadata": {
                "name": "q",
                "namespace": "a",
                "uid": "u",
                "resourceVersion": version,
            },
            "spec": {"min": {"cpu": "1"}, "max": {"cpu": "4", "memory": "8Gi"}},
            "status": {"used": used or {}},
        }
    )


class Api:
    """Takes patches, or does not."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.error: BayplanError | None = None

    async def send(self, request: Request, _lane: Lane) -> bytes:
        self.paths.append(request.path)
        if self.error is not None:
            raise self.error
        self.sent.append(json.loads(request.body)["status"]["used"])
        return b""


class Scene:
    def __init__(self) -> None:
        self.cluster, self.api, self.clock = Cluster(), Api(), VirtualClock()
        self.leads = True
        api: Any = self.api
        self.status = QuotaStatus(api, self.cluster.quotas, self.clock, lambda: self.leads)
        self.cluster.put(quota())

    def look(self) -> list[dict[str, Any]]:
        asyncio.run(self.status.look())
        return self.api.sent


def test_what_is_used_is_written_once() -> None:
    scene = Scene()
    scene.cluster.put(make_pod("p", "a").on("n").requests(cpu="2500m", memory="1Gi").build())
    assert scene.look() == [{"cpu": "2500m", "memory": "1Gi"}]
    assert len(scene.look()) == 1
    assert scene.api.paths == [
        "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/a/elasticquotas/q/status"
    ]
    # The watch shows it, in other words than it was written.
    scene.cluster.put(quota("2", {"cpu": "2.5", "memory": "1024Mi"}))
    assert len(scene.look()) == 1
    # Somebody else has written something.
    scene.cluster.put(quota("3", {"cpu": "9", "gpu": "1"}))
    assert scene.look()[1:] == [{"cpu": "2500m", "gpu": None, "memory": "1Gi"}]


def test_a_standby_writes_nothing() -> None:
    scene = Scene()
    scene.leads = False
    assert scene.look() == []


def test_after_a_refusal_there_is_a_pause() -> None:
    scene = Scene()
    scene.api.error = Forbidden(403, "Forbidden", "no")
    scene.look()
    scene.look()
    assert len(scene.api.paths) == 1
    scene.api.error = None
    scene.clock.advance(31)
    assert scene.look() == [{"cpu": "0", "memory": "0"}]


def test_a_quota_that_is_gone_is_no_trouble() -> None:
    scene = Scene()
    scene.api.error = NotFound(404, "NotFound", "gone")
    scene.look()
    scene.cluster.remove(quota())
    assert scene.look() == []


def test_the_metric_is_in_cores_and_bytes() -> None:
    scene = Scene()
    scene.cluster.put(make_pod("p", "a").on("n").requests(cpu="2500m", memory="1Gi").build())
    values = gauge(scene.cluster.quotas)()
    assert values == pytest.approx(
        {
            ("a", "cpu", "used"): 2.5,
            ("a", "cpu", "min"): 1.0,
            ("a", "cpu", "max"): 4.0,
            ("a", "cpu", "borrowed"): 1.5,
            ("a", "memory", "used"): float(1 << 30),
            ("a", "memory", "max"): float(8 << 30),
        }
    )
