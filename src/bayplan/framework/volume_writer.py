"""What VolumeBinding asks of the API server: two kinds of patch, and to be called back while it waits.

Implemented by the shell (live) and in memory (tests, simulation); handed to the plugin as ``handle.volumes``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim


class VolumeWriter(Protocol):
    """Writing volumes and claims.

    A patch is a JSON merge patch and carries the ``resourceVersion`` it was made for, so that the API server refuses it
    where the object has changed since. A refusal, and whatever else goes wrong, is raised as a BayplanError.
    """

    async def patch_volume(self, name: str, patch: Mapping[str, Any]) -> PersistentVolume:
        """Patch a PersistentVolume; returns it as it is then."""
        ...

    async def patch_claim(
        self, namespace: str, name: str, patch: Mapping[str, Any]
    ) -> PersistentVolumeClaim:
        """Patch a PersistentVolumeClaim; returns it as it is then."""
        ...

    async def wait_until(self, ready: Callable[[], bool], timeout_s: float) -> bool:
        """Ask ``ready`` whenever volumes or claims have changed, and at least once a second; False where time runs out.

        What ``ready`` raises is passed on.
        """
        ...
