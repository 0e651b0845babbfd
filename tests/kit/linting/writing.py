"""Plugins as files, and what the checks say of them."""

from __future__ import annotations

import textwrap
from pathlib import Path

from bayplan.kit.linting.report import Report, lint
from bayplan.kit.linting.subject import Subject, subjects

HEAD = """\
import numpy as np
from bayplan import (
    Action, FilterPlugin, Hint, Mask, NodeInfo, Nodes, PodInfo, PreFilterPlugin, Reads, Rejected, Resource, ScorePlugin, WakeOn, scale
)
"""


def written(folder: Path, body: str, name: str = "plugin.py") -> Path:
    """A file with one plugin."""
    path = folder / name
    path.write_text(HEAD + textwrap.dedent(body), encoding="utf-8")
    return path


def subject(folder: Path, body: str) -> Subject:
    """The one plugin of a file."""
    (found,) = subjects(str(written(folder, body)))
    return found


def linted(folder: Path, body: str) -> Report:
    """All that is said of it, but for its speed."""
    return lint(subject(folder, body), None)


def rules(report: Report) -> list[tuple[str, str]]:
    """Rule and severity of each finding."""
    return [(finding.rule, finding.severity.value) for finding in report.findings]
