"""How long the event loop does not come to its other work, as a metric. Run by ``process``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bayplan.clock import Clock
    from bayplan.telemetry.metrics import Metrics

#: The event loop's own delay is measured this often.
_LOOK_S: Final = 0.25
_STALL_S: Final = 0.05


async def notice_stalls(clock: Clock, metrics: Metrics) -> None:
    """Measure until cancelled."""
    while True:
        before = clock.monotonic()
        await asyncio.sleep(_LOOK_S)
        late = clock.monotonic() - before - _LOOK_S
        if late >= _STALL_S:
            metrics.loop_stall(late)
