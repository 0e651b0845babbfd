"""Questions to the solver, and what becomes of the answers."""

from __future__ import annotations

import asyncio
import io
import sys

import msgspec
import pytest

from bayplan.cycle.gang_puzzle import Question
from bayplan.cycle.gang_solver import Bin, Limits, Puzzle, Solution
from bayplan.model.pod_group import GroupKey
from bayplan.runtime.solver_process import Task, serve
from bayplan.runtime.solving import Progress, SolverFailed, SolverProcess, Solving

PUZZLE = Puzzle(2, (2,), ((1,),), (Bin((1,), (1,), 0, 0), Bin((1,), (1,), 0, 0)))
QUESTION = Question(PUZZLE, ("n-0", "n-1"), (("ml/a", "ml/b"),))
PLAN = {"ml/a": "n-0", "ml/b": "n-1"}
TRAIN, OTHER = GroupKey("ml", "train"), GroupKey("ml", "other")


class Pupil:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.asked = 0
        self.fails = False
        self.closed = False

    async def solve(self, task: Task) -> Solution:
        self.asked += 1
        await self.open.wait()
        if self.fails:
            raise SolverFailed("no answer")
        return Solution(((0, 0, 1), (0, 1, 1)), "OPTIMAL")

    async def close(self) -> None:
        self.closed = True


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def solving(pupil: Pupil) -> tuple[Solving, list[GroupKey]]:
    told: list[GroupKey] = []
    return Solving(pupil, Limits(), told.append), told


def test_a_plan_is_there_once() -> None:
    async def main() -> None:
        pupil = Pupil()
        at_work, told = solving(pupil)
        assert at_work.progress(TRAIN) is Progress.NEW
        assert at_work.ask(TRAIN, QUESTION)
        await settle()
        assert (at_work.progress(TRAIN), told) == (Progress.ASKED, [])
        assert at_work.take(TRAIN) == {}
        pupil.open.set()
        await settle()
        assert (at_work.progress(TRAIN), told) == (Progress.ANSWERED, [TRAIN])
        assert at_work.take(TRAIN) == PLAN
        assert at_work.progress(TRAIN) is Progress.NEW

    asyncio.run(main())


def test_one_after_the_other() -> None:
    async def main() -> None:
        pupil = Pupil()
        at_work, told = solving(pupil)
        at_work.ask(TRAIN, QUESTION)
        at_work.ask(OTHER, QUESTION)
        await settle()
        assert pupil.asked == 1
        pupil.open.set()
        await settle()
        assert told == [TRAIN, OTHER]

    asyncio.run(main())


def test_who_is_forgotten_gets_no_answer() -> None:
    async def main() -> None:
        pupil = Pupil()
        at_work, told = solving(pupil)
        at_work.ask(TRAIN, QUESTION)
        await settle()
        at_work.forget(TRAIN)
        pupil.open.set()
        await settle()
        assert (at_work.progress(TRAIN), told) == (Progress.NEW, [])

    asyncio.run(main())


def test_a_failure_is_an_answer_without_a_plan() -> None:
    async def main() -> None:
        pupil = Pupil()
        pupil.fails = True
        pupil.open.set()
        at_work, told = solving(pupil)
        at_work.ask(TRAIN, QUESTION)
        await settle()
        assert (at_work.progress(TRAIN), told) == (Progress.ANSWERED, [TRAIN])
        assert at_work.take(TRAIN) == {}

    asyncio.run(main())


def test_there_is_a_limit_to_those_who_wait() -> None:
    async def main() -> None:
        at_work, _ = solving(Pupil())
        groups = [GroupKey("ml", f"g-{number}") for number in range(101)]
        assert [at_work.ask(group, QUESTION) for group in groups] == [True] * 100 + [False]
        # Somebody who waits already may put his question in other words.
        assert at_work.ask(groups[0], QUESTION)
        await at_work.close()

    asyncio.run(main())


def test_closing() -> None:
    async def main() -> None:
        pupil = Pupil()
        at_work, told = solving(pupil)
        at_work.ask(TRAIN, QUESTION)
        await settle()
        await at_work.close()
        assert (pupil.closed, told) == (True, [])

    asyncio.run(main())


def test_the_process_line_by_line() -> None:
    pytest.importorskip("ortools")
    out = io.BytesIO()
    line = msgspec.json.encode(Task(PUZZLE, Limits()))
    serve([line, line], out)
    solutions = [msgspec.json.decode(one, type=Solution) for one in out.getvalue().splitlines()]
    assert [QUESTION.plan(solution) for solution in solutions] == [PLAN, PLAN]


@pytest.mark.slow
def test_the_process_itself() -> None:
    pytest.importorskip("ortools")

    async def main() -> None:
        process = SolverProcess()
        for _ in range(2):
            solution = await process.solve(Task(PUZZLE, Limits()))
            assert QUESTION.plan(solution) == PLAN
        await process.close()
        await process.close()

    asyncio.run(main())


@pytest.mark.slow
def test_a_process_that_ends_is_an_error_and_the_next_question_gets_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main() -> None:
        process = SolverProcess()
        with monkeypatch.context() as patch:
            # An interpreter that ends at once.
            patch.setattr(sys, "executable", "true")
            with pytest.raises(SolverFailed, match="the solver's process is gone"):
                await process.solve(Task(PUZZLE, Limits()))
        pytest.importorskip("ortools")
        assert (await process.solve(Task(PUZZLE, Limits()))).members == 2
        await process.close()

    asyncio.run(main())
