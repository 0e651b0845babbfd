"""Where problems and warnings are collected while a configuration is read.

Every step of the loader writes into one report and goes on, so that a person sees everything that is wrong with a file
at once. Read by ``load``, which raises the problems or keeps the warnings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bayplan.errors import Problem
from bayplan.framework.config.paths import Path, render

if TYPE_CHECKING:
    from bayplan.framework.config.document import Node


class Report:
    """Problems and warnings of one document; several documents of a file share the lists."""

    def __init__(self, document: Node | None = None, *, parent: Report | None = None) -> None:
        self._document = document
        self.problems: list[Problem] = parent.problems if parent else []
        self.warnings: list[str] = parent.warnings if parent else []
        #: Fields that people write in the wrong place, and where they belong.
        self.misplaced: Mapping[str, str] = {}
        #: Paths whose value could not be decoded: a default stands in there, and judging that would be noise.
        self._broken: set[Path] = set()

    def line(self, path: Path) -> int | None:
        """The line of the path, or of the nearest thing around it that the file spells out."""
        return self._document.line_of(path) if self._document is not None else None

    def error(self, path: Path, message: str) -> None:
        """Something that makes the configuration unusable."""
        if path not in self._broken:
            self.problems.append(Problem(render(path), message, self.line(path)))

    def broken(self, path: Path, message: str) -> None:
        """A value that cannot be decoded; later errors at the same path are not reported."""
        self.error(path, message)
        self.hush(path)

    def hush(self, path: Path) -> None:
        """Nothing more is to be said of this path."""
        self._broken.add(path)

    def warn(self, path: Path, message: str) -> None:
        """Something that works, but hardly as meant."""
        self.warnings.append(str(Problem(render(path), message, self.line(path))))
