"""The documentation's pages, and the blocks of code in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"

#: Written by hand or generated; decisions are records of their day and are not kept working.
PAGES: Final = sorted(
    [
        ROOT / "README.md",
        ROOT / "README.zh-CN.md",
        ROOT / "CONTRIBUTING.md",
        *(path for path in DOCS.rglob("*.md") if "decisions" not in path.parts),
    ]
)

#: Why a block is not run, as a remark above it says: ``<!-- not run: needs a cluster of yours -->``
REASONS: Final = (
    "needs a cluster of yours",
    "needs the network",
    "CI runs it",
    "make e2e runs it",
    "needs a quiet machine",
    "an excerpt",
)
_NOT_RUN: Final = re.compile(r"<!-- not run: (?P<reason>.+?) -->")
_FENCE: Final = re.compile(
    r"^(?P<mark>`{3,})(?P<language>[\w-]*)(?:\s+title=\"(?P<title>[^\"]+)\")?\s*$"
)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block."""

    page: Path
    #: Of the first line inside.
    line: int
    language: str
    #: The file that it is to be kept as.
    title: str
    text: str
    #: Empty where it is run.
    not_run: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page, in order; an open fence is an error."""
    lines = page.read_text(encoding="utf-8").splitlines()
    number, above = 0, ""
    while number < len(lines):
        opening = _FENCE.match(lines[number])
        if opening is None:
            assert not lines[number].startswith("```"), f"{page}:{number + 1}: what fence is this?"
            above = lines[number] if lines[number].strip() else above
            number += 1
            continue
        end = lines.index(opening["mark"], number + 1)
        said = _NOT_RUN.fullmatch(above.strip())
        yield Block(
            page,
            number + 2,
            opening["language"],
            opening["title"] or "",
            "\n".join(lines[number + 1 : end]) + "\n",
            said["reason"] if said else "",
        )
        number, above = end + 1, ""
