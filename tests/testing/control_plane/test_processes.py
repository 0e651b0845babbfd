from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bayplan.errors import ControlPlaneError
from bayplan.testing.control_plane.processes import Process
from bayplan.testing.control_plane.waiting import wait_ready

FOREVER = [sys.executable, "-S", "-c", "import signal; print('up', flush=True); signal.pause()"]
DEAF = [
    sys.executable,
    "-S",
    "-c",
    "import signal\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "print('up', flush=True)\n"
    "while True: signal.pause()",
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "program.log"


def up(process: Process) -> Process:
    wait_ready(lambda: "up" in process.tail(), process, 30)
    return process


def test_a_process_ends_in_order(log: Path) -> None:
    process = up(Process("program", FOREVER, log))

    assert process.running
    assert process.stop() == -signal.SIGTERM
    assert process.stop() == -signal.SIGTERM, "a second time it is no error"


def test_a_process_that_will_not_end_is_ended(log: Path) -> None:
    process = up(Process("program", DEAF, log))

    assert process.stop(grace_s=0.1) == -signal.SIGKILL


def test_a_paused_process_is_ended_too(log: Path) -> None:
    process = up(Process("program", FOREVER, log))
    process.pause()

    assert process.stop() == -signal.SIGTERM


def test_a_program_that_ends_too_soon_is_told_with_its_last_words(log: Path) -> None:
    process = Process("program", ["/bin/sh", "-c", "echo one; echo two >&2; exit 3"], log)

    with pytest.raises(ControlPlaneError, match=r"(?s)program ended with 3; .*one\ntwo"):
        wait_ready(lambda: False, process, 30)


def test_a_program_that_is_never_ready_is_told_too(log: Path) -> None:
    process = up(Process("program", FOREVER, log))
    try:
        with pytest.raises(ControlPlaneError, match=r"(?s)not ready after 0.1 s; .*up"):
            wait_ready(lambda: False, process, 0.1)
    finally:
        process.stop()


def test_it_gets_the_environment_it_is_given(log: Path) -> None:
    process = Process("program", ["/bin/sh", "-c", "echo $COLOUR"], log, {"COLOUR": "green"})

    assert process.wait(30) == 0
    assert process.tail() == "green"


@pytest.fixture
def parent(log: Path) -> Iterator[tuple[int, int]]:
    """The ids of a process that started one with ``Process``, and of that one."""
    code = (
        "import signal, sys\n"
        "from pathlib import Path\n"
        "from bayplan.testing.control_plane.processes import Process\n"
        f"child = Process('child', {FOREVER!r}, Path(sys.argv[1]))\n"
        "print('up', child.pid, flush=True)\n"
        "signal.pause()"
    )
    process = Process("parent", [sys.executable, "-c", code, log], log.with_name("parent.log"))
    up(process)
    yield process.pid, int(process.tail().split()[1])
    process.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG is Linux's")
def test_no_process_outlives_the_one_that_started_it(parent: tuple[int, int]) -> None:
    parent_id, child_id = parent
    child = os.pidfd_open(child_id)
    try:
        os.kill(parent_id, signal.SIGKILL)
        ended, _, _ = select.select([child], [], [], 30)
    finally:
        os.close(child)

    assert ended == [child]
