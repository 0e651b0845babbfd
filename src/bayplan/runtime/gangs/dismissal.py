"""Evicting the members of a gang that was broken off in the middle: condition, deletion and an event that says why.

Asked by ``runtime.gangs.keeping`` when a gang's time is up. A member that waits at Permit, or prepares its volumes, is called
off in memory; one that is just being sent to the API server is left alone: a moment later it is on its node, or back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from bayplan.client import resources
from bayplan.client.lanes import Lane
from bayplan.client.resources import ConditionChange
from bayplan.cycle.confined import GANG
from bayplan.errors import BayplanError, Conflict, NotFound
from bayplan.framework.preemption import DISRUPTION_TARGET
from bayplan.telemetry import events
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.client.api import Sender
    from bayplan.clock import Clock
    from bayplan.cluster.cluster import Cluster
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.runtime.reporting.events import Recorder
    from bayplan.runtime.waiting import WaitingPods

_log: Final = get_logger(__name__)

#: Why the condition of such a pod says that it is disrupted.
INCOMPLETE: Final = "GangIncomplete"


class Dismissal:
    """Evicts members."""

    def __init__(
        self,
        api: Sender,
        clock: Clock,
        cluster: Cluster,
        recorder: Recorder,
        waiting: WaitingPods,
        may_write: Callable[[], bool],
    ) -> None:
        self._api = api
        self._clock = clock
        self._cluster = cluster
        self._recorder = recorder
        self._waiting = waiting
        self._may_write = may_write

    async def dismiss(self, keys: Iterable[str], text: str) -> None:
        """Have these pods leave their nodes; one that cannot be told to is named in the log."""
        for key in keys:
            pod = self._placed(key)
            if pod is None or self._waiting.call_off(pod.uid, GANG):
                continue
            if not pod.terminating and self._may_write():
                await self._evict(pod, text)

    def _placed(self, key: str) -> PodInfo | None:
        pods = self._cluster.pods
        row = pods.row_of.get(key)
        if row is None:
            return None
        return pods.info(row, self._cluster.nodes.names[int(pods.node_row.data[row])])

    async def _evict(self, pod: PodInfo, text: str) -> None:
        if self._cluster.pods.is_assumed(self._cluster.pods.row_of[pod.key]):
            return
        condition = ConditionChange(DISRUPTION_TARGET, "True", INCOMPLETE, text, self._clock.now())
        status = resources.patch_status(pod.namespace, pod.name, pod.uid, conditions=(condition,))
        deletion = resources.delete_pod(pod.namespace, pod.name, pod.uid)
        try:
            await self._api.send(status, Lane.EVICTION)
            await self._api.send(deletion, Lane.EVICTION)
        except (NotFound, Conflict):
            return  # it is gone already, or another pod has its name
        except BayplanError as error:
            _log.error("Cannot evict a member of an incomplete gang", error, pod=pod.key)
            return
        self._recorder.record(pod.spec.scheduler_name, pod, events.gang_incomplete(text))
