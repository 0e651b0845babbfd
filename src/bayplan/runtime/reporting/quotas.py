"""What elastic quotas are used for: ``status.used`` of each ElasticQuota, and the same as a metric.

Run by ``runtime.scheduler`` beside the other reports; there are quotas only where a plugin asks for them. A quota is looked at
once a second and written where its status says something else; a thousand pods in between cost one patch. As the pods
that count are those that hold room, one that is being bound is among them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from bayplan.client import resources
from bayplan.client.lanes import Lane
from bayplan.cluster.quotas import amounts
from bayplan.errors import BayplanError, Conflict, NotFound
from bayplan.model.amounts import quantity_text
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.client.api import Sender
    from bayplan.clock import Clock
    from bayplan.cluster.quotas import Quota, Quotas

_log: Final = get_logger(__name__)

_LOOK_S: Final = 1.0
#: After a patch that failed the quota is left alone for so long.
_PAUSE_S: Final = 30.0
_MILLI: Final = 1000

Used = dict[str, int]


class QuotaStatus:
    """Writes ``status.used``."""

    def __init__(
        self, api: Sender, quotas: Quotas, clock: Clock, may_write: Callable[[], bool]
    ) -> None:
        self._api = api
        self._quotas = quotas
        self._clock = clock
        self._may_write = may_write
        #: By uid: what was written, and the version that it was written over. Until the watch shows another the status
        #: in hand is old.
        self._written: dict[str, tuple[str, Used]] = {}
        self._paused: dict[str, float] = {}

    async def run(self) -> None:
        """Look and write until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_S)
            await self.look()

    async def look(self) -> None:
        """Write every status that is not as it should be."""
        known = set()
        for quota in list(self._quotas):
            meta = quota.object.metadata
            known.add(meta.uid)
            used = used_of(quota, self._quotas)
            if not self._may_write() or used == self._shown(quota):
                continue
            if self._paused.get(meta.uid, 0.0) <= self._clock.monotonic():
                await self._write(quota, used)
        for notes in (self._written, self._paused):
            for uid in notes.keys() - known:
                del notes[uid]

    def _shown(self, quota: Quota) -> Used:
        meta = quota.object.metadata
        version, used = self._written.get(meta.uid, ("", {}))
        return used if version == meta.resource_version else amounts(quota.object.status.used)

    async def _write(self, quota: Quota, used: Used) -> None:
        meta = quota.object.metadata
        told: dict[str, str | None] = dict.fromkeys(quota.object.status.used)
        told |= {name: quantity_text(name, amount) for name, amount in used.items()}
        request = resources.patch_quota_status(meta.namespace, meta.name, meta.uid, told)
        try:
            await self._api.send(request, Lane.STATUS)
        except (NotFound, Conflict):
            return  # it is gone, or another one by now
        except BayplanError as error:
            _log.error("Cannot write the status of a quota", error, quota=quota.object.key)
            self._paused[meta.uid] = self._clock.monotonic() + _PAUSE_S
            return
        self._written[meta.uid] = (meta.resource_version, used)


def used_of(quota: Quota, quotas: Quotas) -> Used:
    """What a namespace uses of the resources that its quota names."""
    used = quotas.used(quota.namespace)
    return {name: used.get(name, 0) for name in sorted(quota.resources)}


def gauge(quotas: Quotas) -> Callable[[], Mapping[tuple[str, ...], float]]:
    """All quotas as a metric with the labels namespace, resource and amount; cores, bytes and pieces."""

    def pull() -> dict[tuple[str, ...], float]:
        values: dict[tuple[str, ...], float] = {}
        for quota in quotas:
            sides: dict[str, Mapping[str, int]] = {
                "used": used_of(quota, quotas),
                "min": quota.min,
                "max": quota.max,
                "borrowed": {**dict.fromkeys(quota.min, 0), **quotas.borrowed(quota.namespace)},
            }
            for side, by_resource in sides.items():
                for name, amount in by_resource.items():
                    value = amount / _MILLI if name == "cpu" else float(amount)
                    values[quota.namespace, name, side] = value
        return values

    return pull
