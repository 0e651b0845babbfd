from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from bayplan.client.announcement import Announcement
from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.client.scheduler_finding import NoScheduler, choose, find_schedulers, scheduler_of
from bayplan.errors import Forbidden, NotFound
from bayplan.testing.virtual_time import START


def lease(name: str, *profiles: str, renewed: str = "2025-12-31T23:59:50.000000Z") -> Any:
    said = Announcement("https://10.0.0.7:10259", "ab" * 32, profiles)
    return {
        "metadata": {
            "name": name,
            "namespace": "kube-system",
            "annotations": said.annotations() if profiles else {},
        },
        "spec": {"holderIdentity": "x", "leaseDurationSeconds": 15, "renewTime": renewed},
    }


class Leases:
    """Lists these leases, and has one pod (``client.api.Sender``)."""

    def __init__(self, *leases: Any, pod: Any = None) -> None:
        self.leases = leases
        self.pod = pod

    async def send(self, request: Request, lane: Lane, *, timeout_s: float | None = None) -> bytes:
        if "/pods/" in request.path:
            if isinstance(self.pod, Exception):
                raise self.pod
            return json.dumps(self.pod).encode()
        assert request.path.endswith("/namespaces/kube-system/leases")
        return json.dumps({"items": self.leases}).encode()


def found(*leases: Any) -> list[str]:
    schedulers = asyncio.run(find_schedulers(Leases(*leases), "kube-system", START))
    return [one.lease for one in schedulers]


def test_only_those_that_lead_and_say_where_they_are() -> None:
    old = lease("lapsed", "a", renewed="2025-12-31T23:00:00.000000Z")
    assert found(lease("ours", "a"), lease("kube-scheduler"), old) == ["kube-system/ours"]


def test_which_of_several() -> None:
    listed = asyncio.run(
        find_schedulers(
            Leases(lease("one", "default-scheduler"), lease("two", "gpu", "batch")),
            "kube-system",
            START,
        )
    )
    assert choose(listed, "batch", "kube-system").lease == "kube-system/two"
    assert choose(listed[:1], "", "kube-system").lease == "kube-system/one"
    with pytest.raises(NoScheduler, match="--scheduler NAME; there are: default-scheduler"):
        choose(listed, "", "kube-system")
    with pytest.raises(NoScheduler, match="no bayplan serves night"):
        choose(listed, "night", "kube-system")
    with pytest.raises(NoScheduler, match="--server"):
        choose([], "", "kube-system")


@pytest.mark.parametrize(
    ("pod", "name"),
    [
        ({"spec": {"schedulerName": "gpu", "containers": []}}, "gpu"),
        ({"spec": {}}, "default-scheduler"),
        (Forbidden(403, "Forbidden", "pods is forbidden"), ""),
    ],
)
def test_whom_a_pod_asks_for(pod: Any, name: str) -> None:
    assert asyncio.run(scheduler_of(Leases(pod=pod), "ns", "web")) == name


def test_a_pod_that_is_not_there() -> None:
    missing = NotFound(404, "NotFound", 'pods "web" not found')
    with pytest.raises(NotFound):
        asyncio.run(scheduler_of(Leases(pod=missing), "ns", "web"))
