"""An API that is read and never written: what a dry run works with.

Takes the place of the real one (``client.api.Sender``) behind events, conditions and evictions; bindings are not even asked for
(``runtime.binding``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.client.api import Sender
    from bayplan.client.lanes import Lane
    from bayplan.client.request import Request

_log: Final = get_logger(__name__)


class ReadOnly:
    """Passes reads on; of writes it only says what would have been written."""

    def __init__(self, api: Sender) -> None:
        self._api = api

    async def send(self, request: Request, lane: Lane, *, timeout_s: float | None = None) -> bytes:
        """Carry a read out; answer a write with an empty object."""
        if request.method == "GET":
            return await self._api.send(request, lane, timeout_s=timeout_s)
        if debug := _log.v(2):
            debug.info("Would send", request=str(request))
        return b"{}"
