"""The solver at work for gangs that their members' own order has not placed, in a process of its own.

::

    attempt fails ─▶ ask(group, question) ─▶ another process, seconds ─▶ the members are woken
                                                                          └▶ next attempt: take(group), the plan first

Nobody waits: while the solver looks, everybody else is decided, and the group comes up again when there is an answer. A plan
is a proposal made on the cluster as it was; the filters decide about it as about any other. Asked by ``runtime.loop``;
``solver_process`` is the other end.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from bayplan.cycle.gang_solver import Limits, Solution
from bayplan.errors import BayplanError
from bayplan.runtime.solver_process import Task
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.cycle.gang_puzzle import Question
    from bayplan.model.pod_group import GroupKey

_log: Final = get_logger(__name__)

#: Groups that wait for the solver; when there are more, the newest does without.
_MOST_WAITING: Final = 100
#: What a process may take to start and to answer, for each unit of effort: far more than it should.
_PATIENCE_S: Final = 30.0
#: A line of a puzzle for a large cluster has some megabytes.
_LONGEST_LINE: Final = 1 << 26


class SolverFailed(BayplanError):
    """The solver's process ended or did not answer."""


class Solver(Protocol):
    """Somebody who solves puzzles, one at a time."""

    async def solve(self, task: Task) -> Solution: ...
    async def close(self) -> None: ...


class SolverProcess:
    """The solver in another process, which starts with the first puzzle."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None

    async def solve(self, task: Task) -> Solution:
        """Send a puzzle and wait for the answer.

        Raises:
            SolverFailed: there is none; the next puzzle gets a new process.
        """
        try:
            async with asyncio.timeout(_PATIENCE_S * (1.0 + task.limits.effort)):
                process = await self._running()
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(msgspec.json.encode(task) + b"\n")
                await process.stdin.drain()
                line = await process.stdout.readline()
            return msgspec.json.decode(line, type=Solution)
        except TimeoutError as error:
            await self.close()
            raise SolverFailed("no answer from the solver in time") from error
        except (OSError, msgspec.DecodeError, ValueError) as error:
            await self.close()
            raise SolverFailed(f"the solver's process is gone: {error}") from error
        except asyncio.CancelledError:
            # An answer to what nobody waits for any more would be taken for that to the next question.
            await self.close()
            raise

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "bayplan.runtime.solver_process",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=_LONGEST_LINE,
            )
        return self._process

    async def close(self) -> None:
        """End it."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()


class Progress(Enum):
    """How far the solver is with a group."""

    #: It has not been asked since the group last failed.
    NEW = "new"
    ASKED = "asked"
    #: It has answered, with a plan or without.
    ANSWERED = "answered"


@dataclass(slots=True)
class Solving:
    """Questions, and the answers until somebody takes them."""

    solver: Solver
    limits: Limits
    #: Told of each answer: the members are to be tried again.
    on_answer: Callable[[GroupKey], None] = lambda group: None
    _asked: dict[GroupKey, Question] = field(default_factory=dict)
    _plans: dict[GroupKey, Mapping[str, str]] = field(default_factory=dict)
    _work: asyncio.Task[None] | None = None

    def progress(self, group: GroupKey) -> Progress:
        """Whether to ask, to wait, or to take what there is."""
        if group in self._asked:
            return Progress.ASKED
        return Progress.ANSWERED if group in self._plans else Progress.NEW

    def ask(self, group: GroupKey, question: Question) -> bool:
        """Have it looked for a plan; False where too many are waiting for theirs."""
        if len(self._asked) >= _MOST_WAITING and group not in self._asked:
            return False
        self._asked[group] = question
        if self._work is None or self._work.done():
            self._work = asyncio.get_running_loop().create_task(self._answer_all())
        return True

    def take(self, group: GroupKey) -> Mapping[str, str]:
        """The plan of a group: a node for each member, by ``namespace/name``. Empty without one; gone once taken."""
        return self._plans.pop(group, {})

    def forget(self, group: GroupKey) -> None:
        """The group is gone, or placed without help."""
        self._asked.pop(group, None)
        self._plans.pop(group, None)

    async def close(self) -> None:
        """Answer nobody any more."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait([self._work])
        await self.solver.close()

    async def _answer_all(self) -> None:
        while self._asked:
            group, question = next(iter(self._asked.items()))
            plan: Mapping[str, str] = {}
            try:
                solution = await self.solver.solve(Task(question.puzzle, self.limits))
                plan = question.plan(solution)
                _log.info("Solver answered", podGroup=str(group), answer=solution.status)
            except SolverFailed as error:
                _log.error("Solver failed", error, podGroup=str(group))
            # Forgotten or asked about again meanwhile: then this is the answer to another question.
            if self._asked.get(group) is question:
                del self._asked[group]
                self._plans[group] = plan
                self.on_answer(group)
