"""Volumes and claims, written to the API server for VolumeBinding, which then waits for what the watches show.

Handed to the plugin as ``handle.volumes`` (``framework.volume_writer``); the handlers of volumes and claims call
``changed``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bayplan.client import resources
from bayplan.client.lanes import Lane
from bayplan.model.decode import decode_as
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim

if TYPE_CHECKING:
    from bayplan.client.api import Sender
    from bayplan.clock import Clock

#: Something else than a volume may have changed (the pod, the node): look this often in any case.
_LOOK_S: Final = 1.0


class LiveVolumes:
    """Writing volumes and claims, and waiting for them."""

    def __init__(self, api: Sender, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._waiting: set[asyncio.Future[None]] = set()

    def changed(self) -> None:
        """A volume or a claim has changed: whoever waits for one looks again."""
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    async def patch_volume(self, name: str, patch: Mapping[str, Any]) -> PersistentVolume:
        """Patch a PersistentVolume; returns it as it is then."""
        answer = await self._api.send(resources.patch_volume(name, patch), Lane.BIND)
        return decode_as(PersistentVolume, msgspec.json.decode(answer))

    async def patch_claim(
        self, namespace: str, name: str, patch: Mapping[str, Any]
    ) -> PersistentVolumeClaim:
        """Patch a PersistentVolumeClaim; returns it as it is then."""
        request = resources.patch_claim(namespace, name, patch)
        answer = await self._api.send(request, Lane.BIND)
        return decode_as(PersistentVolumeClaim, msgspec.json.decode(answer))

    async def wait_until(self, ready: Callable[[], bool], timeout_s: float) -> bool:
        """Ask ``ready`` at every change, and at least once a second; False where time runs out."""
        until = self._clock.monotonic() + timeout_s
        while not ready():
            left = until - self._clock.monotonic()
            if left <= 0:
                return False
            await self._next_change(min(left, _LOOK_S))
        return True

    async def _next_change(self, timeout_s: float) -> None:
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        try:
            await asyncio.wait((waiting,), timeout=timeout_s)
        finally:
            self._waiting.discard(waiting)
