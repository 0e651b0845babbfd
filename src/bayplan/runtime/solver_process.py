"""``python -m bayplan.runtime.solver_process``: puzzles come in on stdin, a line each, and solutions go out on stdout.

Started by ``runtime.solving``, and ended by it or by the end of stdin: it does not outlive the scheduler. It runs at the
lowest priority, so that it takes only what the machine has to spare.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterable
from typing import BinaryIO, Final

import msgspec

from bayplan.cycle.gang_solver import Limits, Puzzle, solve

_LOWEST: Final = 19


class Task(msgspec.Struct, frozen=True):
    """One line of input."""

    puzzle: Puzzle
    limits: Limits


def serve(lines: Iterable[bytes], out: BinaryIO) -> None:
    """Answer until there are no more lines."""
    decode, encode = msgspec.json.Decoder(Task).decode, msgspec.json.encode
    for line in lines:
        task = decode(line)
        out.write(encode(solve(task.puzzle, task.limits)) + b"\n")
        out.flush()


if __name__ == "__main__":
    with contextlib.suppress(OSError):
        os.nice(_LOWEST)
    # Ctrl-C in a terminal is meant for the scheduler, which ends in good order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What the solver itself prints must not come between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with contextlib.suppress(BrokenPipeError):
        serve(sys.stdin.buffer, answers)
