"""Pods that are assumed and not bound yet, where they can still be held back, let go or called off.

Permit plugins make a pod wait until each of them allows it, one rejects it, or time runs out. A pod that preemption
chooses as a victim before it is bound is called off here, in memory, instead of being deleted.

Filled by ``runtime.binding``; plugins see it through the handle, ``runtime.ingest`` when a waiting pod is deleted, and
``runtime.eviction`` when one is a victim.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from bayplan.framework.config.durations import format_duration
from bayplan.framework.status import Code, Rejected

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo


class Waiting:
    """A pod that Permit holds back (``framework.handle.WaitingPod``)."""

    def __init__(self, pod: PodInfo, node: str, waits: Mapping[str, float]) -> None:
        self.pod = pod
        self.node = node
        self._answer: asyncio.Future[Rejected | None] = asyncio.get_running_loop().create_future()
        #: Plugin to the alarm that ends its patience.
        self._alarms = {
            plugin: asyncio.get_running_loop().call_later(wait_s, self._time_out, plugin, wait_s)
            for plugin, wait_s in waits.items()
        }

    @property
    def pending_plugins(self) -> list[str]:
        """The plugins that have not allowed the pod yet."""
        return list(self._alarms)

    def allow(self, plugin: str) -> None:
        """``plugin`` has no objection any more; the pod goes on once nobody has."""
        alarm = self._alarms.pop(plugin, None)
        if alarm is not None:
            alarm.cancel()
        if not self._alarms:
            self._settle(None)

    def reject(self, plugin: str, reason: str) -> bool:
        """Give the pod up as unschedulable; False where its fate was settled before."""
        return self._settle(Rejected(reason, plugin=plugin))

    def preempt(self, plugin: str, reason: str = "preempted") -> bool:
        """Call the pod off for one of higher priority: an error, so that it is tried again soon."""
        return self._settle(Rejected(reason, code=Code.ERROR, plugin=plugin))

    async def wait(self) -> Rejected | None:
        """None once the pod may go on."""
        try:
            return await self._answer
        finally:
            self._disarm()

    def _time_out(self, plugin: str, wait_s: float) -> None:
        waited = format_duration(timedelta(seconds=wait_s))
        self.reject(plugin, f"rejected due to timeout after waiting {waited} at plugin {plugin}")

    def _settle(self, answer: Rejected | None) -> bool:
        if self._answer.done():
            return False
        self._answer.set_result(answer)
        self._disarm()
        return True

    def _disarm(self) -> None:
        for alarm in self._alarms.values():
            alarm.cancel()
        self._alarms.clear()


class Preparing:
    """A pod in PreBind: it can be called off until the binding is sent."""

    def __init__(self, pod: PodInfo, node: str, task: asyncio.Task[None]) -> None:
        self.pod = pod
        self.node = node
        #: Why it was called off; empty as long as it was not.
        self.cause = ""
        self._task = task
        self._prepared = False

    def cancel(self, cause: str) -> bool:
        """Call the pod off; False where that is too late."""
        if self._prepared or self.cause:
            return False
        self.cause = cause
        self._task.cancel()
        return True

    def mark_prepared(self) -> bool:
        """From now on it is too late; False where the pod was called off in the last moment."""
        self._prepared = not self.cause
        return self._prepared


class WaitingPods:
    """Who waits where, by uid."""

    def __init__(self) -> None:
        self._waiting: dict[str, Waiting] = {}
        self._preparing: dict[str, Preparing] = {}

    def hold(self, pod: PodInfo, node: str, waits: Mapping[str, float]) -> Waiting:
        """Have a pod wait for these plugins."""
        waiting = self._waiting[pod.uid] = Waiting(pod, node, waits)
        return waiting

    def let_go(self, waiting: Waiting) -> None:
        """The pod does not wait any more."""
        if self._waiting.get(waiting.pod.uid) is waiting:
            del self._waiting[waiting.pod.uid]

    def prepare(self, pod: PodInfo, node: str, task: asyncio.Task[None]) -> Preparing:
        """A pod enters PreBind."""
        preparing = self._preparing[pod.uid] = Preparing(pod, node, task)
        return preparing

    def prepared(self, preparing: Preparing) -> None:
        """The pod has left PreBind, either way."""
        if self._preparing.get(preparing.pod.uid) is preparing:
            del self._preparing[preparing.pod.uid]

    def get(self, uid: str) -> Waiting | None:
        """The waiting pod of that uid."""
        return self._waiting.get(uid)

    def reject(self, uid: str, reason: str = "removed") -> bool:
        """Reject a waiting pod that was deleted; False where none waits."""
        waiting = self._waiting.get(uid)
        return waiting is not None and waiting.reject("", reason)

    def call_off(self, uid: str, plugin: str) -> bool:
        """Call off a victim that is not bound yet; False where only a deletion helps."""
        waiting = self._waiting.get(uid)
        if waiting is not None:
            return waiting.preempt(plugin)
        preparing = self._preparing.get(uid)
        return preparing is not None and preparing.cancel(f"preempted by {plugin}")

    def __iter__(self) -> Iterator[Waiting]:
        return iter(list(self._waiting.values()))

    def __len__(self) -> int:
        return len(self._waiting)
