"""What a process waits for: signals from outside, and the first of several events. Used by ``process``."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def signals(handlers: Mapping[signal.Signals, Callable[[], None]]) -> Iterator[None]:
    """Signal handlers for as long as a block runs."""
    loop = asyncio.get_running_loop()
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)


async def first(*events: asyncio.Event) -> None:
    """Until one of the events has come."""
    loop = asyncio.get_running_loop()
    waits = [loop.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
