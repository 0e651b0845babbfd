"""Fixtures of the end-to-end tests: a stage for each test, and its logs when it fails."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import cast

import pytest

from bayplan.testing.control_plane import Binaries
from tests.e2e.stage import Stage, open_stage
from tests.e2e.subjects import Subject

#: Of each log, when a test fails.
TAIL_LINES = 40


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the ends of the logs of what the test started to the report of its failure: the files may be gone by tomorrow."""
    report = yield
    stage = getattr(item, "funcargs", {}).get("stage")
    if report.failed and isinstance(stage, Stage):
        for log in sorted((stage.plane.folder / "logs").glob("*.log")):
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
            report.sections.append((str(log), "\n".join(lines[-TAIL_LINES:])))
    return report


@pytest.fixture(scope="session")
def subject() -> Subject:
    """Which scheduler is tested."""
    name = os.environ.get("BAYPLAN_E2E_SUBJECT", "bayplan")
    assert name in {"bayplan", "kube-scheduler"}, f"BAYPLAN_E2E_SUBJECT is {name}"
    return cast("Subject", name)


@pytest.fixture
def stage(tmp_path: Path, binaries: Binaries, subject: Subject) -> Iterator[Stage]:
    """A cluster of the test's own."""
    with open_stage(tmp_path, binaries, subject) as stage:
        yield stage
