"""A program that runs beside a test: started with a log of its own, and never left behind.

Used by ``plane`` for etcd, the API server and what goes with them, and by tests for the program under test. A process is
ended by its own id. Should the test's process die first, by SIGKILL even, Linux ends its children with it (``PR_SET_PDEATHSIG``).
That is bound to the thread that started them: start programs from a thread that lives as long as they should.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bayplan.errors import ControlPlaneError

#: How long a program may take to end by itself after SIGTERM.
GRACE_S = 15.0

#: Runs in the new process before the program takes its place, which keeps process id and setting. The comparison is for a parent
#: that died in between. It is a program of its own, since forking a process with threads and running Python in the child is unsafe.
_TIE_TO_PARENT = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""


class Process:
    """One running program. What it says, on either stream, goes to ``log``."""

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        log: Path,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.log = log
        words = [str(word) for word in command]
        tie = [sys.executable, "-I", "-S", "-c", _TIE_TO_PARENT, str(os.getpid())]
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            self._popen = subprocess.Popen(
                [*tie, *words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=None if env is None else dict(env),
                start_new_session=True,  # Ctrl-C in the terminal is for the test, which then ends us in order
            )
        self._paused = False

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def exit_code(self) -> int | None:
        """``None`` while it runs; minus the signal's number where a signal ended it."""
        return self._popen.poll()

    @property
    def running(self) -> bool:
        return self.exit_code is None

    def wait(self, timeout_s: float) -> int | None:
        """Its exit code, once it ends; ``None`` if it still runs after ``timeout_s``."""
        try:
            return self._popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def send(self, number: signal.Signals) -> None:
        """Send it a signal; no matter if it has ended."""
        self._popen.send_signal(number)

    def pause(self) -> None:
        """Stop it in its tracks; it does not notice."""
        self.send(signal.SIGSTOP)
        self._paused = True

    def resume(self) -> None:
        """Let it go on after ``pause``."""
        self.send(signal.SIGCONT)
        self._paused = False

    def kill(self) -> None:
        """End it with no chance to tidy up."""
        self.send(signal.SIGKILL)
        self._popen.wait()

    def stop(self, grace_s: float = GRACE_S) -> int:
        """End it in order, or by force when that takes too long; its exit code."""
        if self._paused:
            self.resume()
        if self.running:
            self.send(signal.SIGTERM)
        if self.wait(grace_s) is None:
            self.kill()
        return self._popen.wait()

    def tail(self, lines: int = 20) -> str:
        """The end of its log."""
        text = self.log.read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def must_run(self) -> None:
        """Raise with the end of its log if it has ended."""
        if not self.running:
            raise ControlPlaneError(
                f"{self.name} ended with {self.exit_code}; {self.log} ends with:\n{self.tail()}"
            )
