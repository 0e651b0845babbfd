"""What comes and goes while a scheduler works: pods that fit nowhere, nodes, services. Started by ``trial``."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

from bayplan.bench.filling import create
from bayplan.bench.scene import New, node, pod, pods_in
from bayplan.bench.workload import Meanwhile, Workload
from bayplan.client.api import Api
from bayplan.client.lanes import Lane
from bayplan.client.request import Request

_NO_GRACE: Final = b'{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}'


def keep_creating(
    api: Api, workload: Workload, tasks: asyncio.TaskGroup
) -> list[asyncio.Task[None]]:
    """A task for each thing that comes again and again; the caller cancels them."""
    return [tasks.create_task(_repeat(api, workload, what)) for what in workload.meanwhile]


async def _repeat(api: Api, workload: Workload, what: Meanwhile) -> None:
    last: New | None = None
    for new in _endless(workload, what):
        if last is not None and what.again:
            gone = Request("DELETE", f"{last.path}/{last.body['metadata']['name']}", _NO_GRACE)
            await api.send(gone, Lane.BIND)
        await create(api, new)
        last = new
        await asyncio.sleep(what.every_ms / 1000)


def _endless(workload: Workload, what: Meanwhile) -> Iterator[New]:
    number = 0
    while True:
        number += 1
        if what.pod:
            shape = workload.shape(what.pod)
            body = pod(what.namespace, f"{what.pod}-{number}", shape, number)
            yield New(pods_in(what.namespace), body)
        elif what.service:
            body = {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": f"service-{number}"},
                "spec": {"selector": what.service, "ports": [{"port": 80}]},
            }
            yield New(f"/api/v1/namespaces/{what.namespace}/services", body)
        else:
            yield New("/api/v1/nodes", node(f"passing-{number}", what.node))
