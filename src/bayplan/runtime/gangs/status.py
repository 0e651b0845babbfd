"""The status of pod groups, written back: phase and counts for the coscheduling plugin's, a condition for native ones.

Fed by ``runtime.gangs.keeping`` with groups that have been quiet for a moment. Written in the background, only what differs
from what the object says or from what was last written; another controller that says otherwise is left alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bayplan.client import group_requests, resources
from bayplan.client.lanes import Lane
from bayplan.errors import BayplanError, Conflict, NotFound
from bayplan.model.pod_group import GroupApi
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.client.api import Sender
    from bayplan.clock import Clock
    from bayplan.cluster.cluster import Cluster
    from bayplan.cluster.gangs import Standing
    from bayplan.model.pod_group import Group, GroupKey

_log: Final = get_logger(__name__)

PENDING: Final = "Pending"
SCHEDULING: Final = "Scheduling"
RUNNING: Final = "Running"
#: The native condition.
SCHEDULED: Final = "PodGroupScheduled"

_RESOURCES: Final[dict[GroupApi, resources.Resource[Any]]] = {
    GroupApi.NATIVE: resources.POD_GROUPS,
    GroupApi.COSCHEDULING: resources.COSCHEDULING_POD_GROUPS,
    GroupApi.FORMER: resources.FORMER_POD_GROUPS,
}
#: What is written, by field.
_Status = dict[str, Any]


class GroupStatuses:
    """Writes them."""

    def __init__(
        self, api: Sender, clock: Clock, cluster: Cluster, may_write: Callable[[], bool]
    ) -> None:
        self._api = api
        self._clock = clock
        self._cluster = cluster
        self._may_write = may_write
        self._wishes: dict[GroupKey, tuple[Group, _Status]] = {}
        #: What was last written, without times.
        self._written: dict[GroupKey, tuple[str, _Status]] = {}
        #: Why a group had no place at its last attempt; none once it has.
        self._short: dict[GroupKey, str] = {}
        self._work = asyncio.Event()

    def was_short(self, key: GroupKey, message: str) -> None:
        """An attempt came to nothing; empty: it came to something."""
        if message:
            self._short[key] = message
        else:
            self._short.pop(key, None)
        self._cluster.gangs.changed.add(key)

    def forget(self, key: GroupKey) -> None:
        """The group is gone."""
        for book in (self._wishes, self._written, self._short):
            book.pop(key, None)

    def wish(self, group: Group, standing: Standing) -> None:
        """Say how the group stands."""
        if group.api is GroupApi.NATIVE:
            status = self._condition(group, standing)
        else:
            status = self._phase(group, standing)
        if not status or self._written.get(group.key) == (group.uid, status):
            return
        self._wishes[group.key] = (group, status)
        self._work.set()

    def _phase(self, group: Group, standing: Standing) -> _Status:
        running = self._started(standing)
        if len(standing.bound) + standing.finished >= max(group.min_member, 1):
            phase = RUNNING
        else:
            phase = SCHEDULING if standing.present >= group.min_member else PENDING
        before = group.status
        if group.key not in self._written and (phase, running) == (before.phase, before.running):
            return {}
        return {"phase": phase, "running": running}

    def _started(self, standing: Standing) -> int:
        pods = self._cluster.pods
        rows = [pods.row_of[key] for key in standing.bound]
        return int(np.count_nonzero(~np.isnan(pods.started.data[rows]))) if rows else 0

    def _condition(self, group: Group, standing: Standing) -> _Status:
        """Never from True back to False, as Kubernetes has it."""
        shown = next((c for c in group.status.conditions if c.type == SCHEDULED), None)
        if shown is not None and shown.status == "True":
            return {}
        if len(standing.bound) + standing.finished >= max(group.min_member, 1):
            return {"status": "True", "reason": "Scheduled", "message": ""}
        message = self._short.get(group.key)
        if message is None:
            return {}
        if shown is not None and (shown.status, shown.message) == ("False", message):
            return {}
        return {"status": "False", "reason": "Unschedulable", "message": message}

    # --- writing -------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await self._work.wait()
            self._work.clear()
            while self._wishes:
                key = next(iter(self._wishes))
                group, status = self._wishes.pop(key)
                if self._may_write():
                    await self._write(group, status)

    async def _write(self, group: Group, status: _Status) -> None:
        native = group.api is GroupApi.NATIVE
        body = self._native_body(status) if native else self._plugin_body(group, status)
        request = group_requests.patch_group_status(
            _RESOURCES[group.api], group.key.namespace, group.key.name, group.uid, body
        )
        try:
            await self._api.send(request, Lane.STATUS)
        except (NotFound, Conflict):
            return  # it is gone, or another one by now
        except BayplanError as error:
            _log.error("Cannot write the status of a pod group", error, group=str(group.key))
            return
        if self._cluster.gangs.group(group.key) is not None:
            self._written[group.key] = (group.uid, status)

    def _plugin_body(self, group: Group, status: _Status) -> _Status:
        begins = status["phase"] != PENDING and group.status.schedule_start_time is None
        if not begins:
            return status
        return {**status, "scheduleStartTime": group_requests.time_text(self._clock.now())}

    def _native_body(self, status: _Status) -> _Status:
        moment = group_requests.time_text(self._clock.now())
        return {"conditions": [{"type": SCHEDULED, **status, "lastTransitionTime": moment}]}
