"""A second, nearly idle thread that notices when the first one is stuck in a plugin, and gets it out.

The event loop beats four times a second. When it has not beaten for longer than the budget, somebody holds it up: the thread
looks at what the main thread is doing, and where that is a plugin, has an exception raised in it. It is raised by a signal
handler, in the main thread itself: so it also ends a sleep or a wait for a socket, and can never come too late, when somebody
else is at work already. The runner turns it into an error of that plugin, which costs one pod an attempt. A plugin that goes on
all the same is interrupted again; after that it counts as stuck, until it returns.

Started by ``app``; ``stuck`` is asked by health checks and by whoever renews the lease.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from bayplan.errors import PluginHung
from bayplan.framework import runner
from bayplan.framework.plugin import Plugin
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.clock import Clock

_log: Final = get_logger(__name__)

#: What a plugin may take to return; a slow one should say so by answering late, not by never answering.
BUDGET_S: Final = 5.0
BEAT_S: Final = 0.25
#: So often a plugin is interrupted before it counts as stuck.
_ATTEMPTS: Final = 3
#: Threads are not woken more exactly than this on a busy machine.
_PAUSE_S: Final = 1.0
#: Free for our use: Python and its libraries leave this signal alone.
_SIGNAL: Final = signal.SIGVTALRM


class Watchdog:
    """Watches the thread that starts it, which has to be the main one."""

    def __init__(
        self,
        clock: Clock,
        *,
        budget_s: float = BUDGET_S,
        on_interrupt: Callable[[str], None] = lambda plugin: None,
    ) -> None:
        """``on_interrupt`` is told the plugin's name, in the watchdog's thread."""
        self._clock = clock
        self._budget_s = budget_s
        self._on_interrupt = on_interrupt
        self._main = threading.main_thread()
        self._beaten_at = clock.monotonic()
        #: When the whole process came back from a pause: then nobody is to blame for it.
        self._resumed_at = float("-inf")
        self._attempts = 0
        self._stuck = ""
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._handler_before: Any = None

    @property
    def stuck(self) -> str | None:
        """What the event loop hangs in and cannot be got out of; None while it turns."""
        return self._stuck or None

    # --- in the main thread --------------------------------------------------------------------------------------------

    def __enter__(self) -> Watchdog:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Watch the running loop."""
        self._handler_before = signal.signal(_SIGNAL, self._interrupt)
        self._beat()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Watch no longer."""
        if self._timer is not None:
            self._timer.cancel()
        if self._thread is not None:
            self._ended.set()
            self._thread.join()
            self._thread = None
            signal.signal(_SIGNAL, self._handler_before or signal.SIG_DFL)

    def _beat(self) -> None:
        self._beaten_at = self._clock.monotonic()
        self._timer = asyncio.get_running_loop().call_later(BEAT_S, self._beat)

    def _late_s(self) -> float:
        return self._clock.monotonic() - max(self._beaten_at, self._resumed_at)

    def _interrupt(self, _number: int, frame: FrameType | None) -> None:
        """The signal: whatever runs now is interrupted, if it is still late, and a plugin's."""
        late_s = self._late_s()
        # Within the runner itself the plugin has returned, and nobody would catch it.
        in_runner = frame is not None and frame.f_code is runner.call.__code__
        if late_s > self._budget_s and not in_runner and culprit(frame) is not None:
            raise PluginHung(f"did not return within {self._budget_s:g} s and was interrupted")

    # --- in the watchdog's thread --------------------------------------------------------------------------------------

    def _watch(self) -> None:
        pause_s = min(BEAT_S, self._budget_s)
        slept_at = self._clock.monotonic()
        while not self._ended.wait(pause_s):
            self.look(woken_after_s=self._clock.monotonic() - slept_at - pause_s)
            slept_at = self._clock.monotonic()

    def look(self, woken_after_s: float = 0.0) -> None:
        """Is the loop still turning? Called again and again; interrupts what holds it up.

        ``woken_after_s``: how much later than it wanted to this thread itself was woken.
        """
        if woken_after_s > _PAUSE_S:
            # The machine was asleep, or the process stopped (SIGSTOP).
            self._resumed_at = self._clock.monotonic()
        late_s = self._late_s()
        if late_s <= self._budget_s:
            if self._stuck:
                _log.info("The event loop turns again", was=self._stuck)
            self._attempts, self._stuck = 0, ""
            return
        if late_s <= self._budget_s * (self._attempts + 1):
            return
        frame = sys._current_frames().get(self._main.ident or 0)  # noqa: SLF001 - documented, and the only way
        found = culprit(frame)
        self._attempts += 1
        where = f"plugin {found[0]} ({found[1]})" if found else "bayplan itself"
        if found is not None and self._attempts <= _ATTEMPTS:
            stack = "".join(traceback.format_stack(frame, limit=8))
            _log.error(
                "Plugin does not return; interrupting it",
                plugin=found[0],
                point=found[1],
                seconds=round(late_s, 1),
                stack=stack,
            )
            self._on_interrupt(found[0])
            signal.pthread_kill(self._main.ident or 0, _SIGNAL)
        else:
            self._stuck = f"{where} has held up the event loop for {late_s:.0f} s"
            _log.error("Stuck", what=self._stuck)


def culprit(frame: FrameType | None) -> tuple[str, str] | None:
    """The innermost plugin at work in a stack, and at which point; None where there is none."""
    found: Plugin | None = None
    method = ""
    while frame is not None:
        local = frame.f_locals
        if frame.f_code is runner.call.__code__:
            called: Plugin = local["plugin"]
            if found is None or found is called:
                return called.name, local["point"]
        elif found is None and isinstance(local.get("self"), Plugin):
            # Perhaps not called by the runner: what a plugin awaits, for one.
            found, method = local["self"], frame.f_code.co_name
        frame = frame.f_back
    return (found.name, method) if found is not None else None
