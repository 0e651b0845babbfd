"""Back again: the profile's own scheduler has its lease, and waits for whoever stood in to let go.

Run by ``app`` between the election and the first decision. Whoever stands in sees the lease taken, ends what it began
and lets its own lease go; one that has died in between is waited for as long as its lease says.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.runtime.coordination.foreign_lease import ForeignLease

_log: Final = get_logger(__name__)


async def wait_let_go(lease: ForeignLease, look_every_s: float) -> None:
    """Until nobody stands in. Without an answer from the API server there is nothing to wait for: that is somebody else's worry."""
    told = False
    while True:
        await lease.look()
        if lease.last_error or not lease.is_held:
            return
        if not told:
            _log.info("Waiting for the stand-in to let go", lease=lease.lock, holder=lease.holder)
            told = True
        await asyncio.sleep(look_every_s)
