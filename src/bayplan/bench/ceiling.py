"""``python -m bayplan.bench.ceiling KUBECONFIG NAMESPACE VICTIMS``: the most that the API server takes from one client.

Decides nothing: pods go to the nodes in turn as they come, over the same transport as bayplan's, with one Binding and one
Event each. With VICTIMS, that many pods of the node are first evicted as preemption does it: a condition, a deletion and an
Event for each, then the nomination and the Event of the failed attempt. Started by ``subjects``.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bayplan.bench.scene import PROBE
from bayplan.bench.watched import Listed, Obj, decode_event, decode_list
from bayplan.client import resources
from bayplan.client.api import Api
from bayplan.client.config import load
from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.client.resources import ConditionChange, EventNote, ObjectRef
from bayplan.clock import Clock, SystemClock

_NAME: Final = "ceiling"


class Writer:
    """Makes the writes."""

    def __init__(self, api: Api, clock: Clock, namespace: str, victims: int) -> None:
        self._api = api
        # In stream mode a pod in a namespace of its own tells that whoever is measured is up.
        self._namespaces = (PROBE, namespace)
        self._clock = clock
        self._victims = victims
        self._by_node: defaultdict[str, list[Obj]] = defaultdict(list)
        self._nodes: Iterator[str] = iter(())
        self._serial = 0

    async def run(self) -> None:
        """Until it is ended."""
        nodes = await self._list("/api/v1/nodes")
        self._nodes = _in_turn([node.metadata.name for node in nodes.items])
        if self._victims:
            for pod in (await self._list("/api/v1/namespaces/before/pods")).items:
                self._by_node[pod.spec.node_name].append(pod)
        async with asyncio.TaskGroup() as tasks:
            for namespace in self._namespaces:
                tasks.create_task(self._follow(f"/api/v1/namespaces/{namespace}/pods", tasks))

    async def _follow(self, pods: str, tasks: asyncio.TaskGroup) -> None:
        listed = await self._list(pods)
        for pod in listed.items:
            self._take(pod, tasks)
        path = f"{pods}?watch=1&resourceVersion={listed.metadata.resource_version}"
        stream = await self._api.stream(path, silence_s=300.0)
        while lines := await stream.batch():
            for line in lines:
                event = decode_event(line)
                if event.type == "ADDED":
                    self._take(event.object, tasks)

    def _take(self, pod: Obj, tasks: asyncio.TaskGroup) -> None:
        if not pod.spec.node_name:
            tasks.create_task(self._place(pod, next(self._nodes), tasks))

    async def _place(self, pod: Obj, node: str, tasks: asyncio.TaskGroup) -> None:
        meta = pod.metadata
        if self._victims:
            await self._evict(pod, node, tasks)
        binding = resources.bind(meta.namespace, meta.name, meta.uid, node)
        await self._api.send(binding, Lane.BIND)
        note = f"Successfully assigned {meta.namespace}/{meta.name} to {node}"
        self._tell(pod, "Scheduled", "Binding", note, tasks)

    async def _evict(self, pod: Obj, node: str, tasks: asyncio.TaskGroup) -> None:
        meta = pod.metadata
        nomination = resources.patch_status(
            meta.namespace,
            meta.name,
            meta.uid,
            conditions=(ConditionChange("PodScheduled", "False", "Unschedulable", "0/1000 nodes"),),
            nominated_node_name=node,
        )
        await self._api.send(nomination, Lane.STATUS)
        self._tell(pod, "FailedScheduling", "Scheduling", "0/1000 nodes are available", tasks)
        for victim in [self._by_node[node].pop() for _ in range(self._victims)]:
            gone = victim.metadata
            condition = ConditionChange("DisruptionTarget", "True", "PreemptionByScheduler", "x")
            patch = resources.patch_status(
                gone.namespace, gone.name, gone.uid, conditions=(condition,)
            )
            await self._api.send(patch, Lane.EVICTION)
            deletion = resources.delete_pod(gone.namespace, gone.name, gone.uid)
            await self._api.send(deletion, Lane.EVICTION)
            self._tell(victim, "Preempted", "Preempting", f"Preempted on node {node}", tasks)

    def _tell(
        self, pod: Obj, reason: str, action: str, note: str, tasks: asyncio.TaskGroup
    ) -> None:
        self._serial += 1
        meta = pod.metadata
        request = resources.event(
            EventNote(ObjectRef("Pod", meta.namespace, meta.name, meta.uid), reason, action, note),
            now=self._clock.now(),
            controller=_NAME,
            instance=_NAME,
            serial=self._serial,
        )
        tasks.create_task(self._send(request))

    async def _send(self, request: Request) -> None:
        await self._api.send(request, Lane.EVENT)

    async def _list(self, path: str) -> Listed:
        return decode_list(await self._api.send(Request("GET", path), Lane.READ))


def _in_turn(names: list[str]) -> Iterator[str]:
    while True:
        yield from names


async def _main(kubeconfig: Path, namespace: str, victims: int) -> None:
    clock = SystemClock()
    api = Api.open(load(kubeconfig=kubeconfig), clock, random.Random(0))
    await Writer(api, clock, namespace, victims).run()


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
