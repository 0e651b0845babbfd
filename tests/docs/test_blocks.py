"""Every block of code in the documentation does what the page says.

A page is tried from top to bottom in one empty folder: Python runs in one namespace, ``$ commands`` print what stands below
them (``…`` for what differs from run to run), YAML loads. A block that cannot be run says so, for one of a few reasons.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, REASONS, ROOT, Block, blocks
from tests.docs.session import Session, commands, is_like

#: So many blocks are not run, and why. Add to these figures only what no test can do.
NOT_RUN = {
    "needs a cluster of yours": 3,
    "needs the network": 1,
    "CI runs it": 3,
    "make e2e runs it": 1,
    "needs a quiet machine": 1,
    "an excerpt": 0,
}
#: Pages whose commands are followed by a test of their own, since they need an API server: bare blocks.
FOLLOWED_ELSEWHERE = {ROOT / "docs" / "deployment.md": ROOT / "tests/e2e/test_deployment_page.py"}
_PROGRAMS = re.compile(r"^(\$ |bayplan |kubectl |helm |docker |make |pip |python )", re.MULTILINE)

#: Tried, or plain text: pictures, output, files in other formats.
LANGUAGES = {"", "python", "console", "yaml", "toml", "go", "text"}

RUN = [page for page in PAGES if any(block.language for block in blocks(page))]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _needs_kubectl(page: Path) -> bool:
    return any(
        "kubectl " in command
        for block in blocks(page)
        if block.language == "console" and not block.not_run
        for command, _ in commands(block)
    )


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_a_page_does_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if _needs_kubectl(page) and not (ROOT / ".kube" / "bin" / "kubectl").exists():
        pytest.skip("there is no kubectl: run `make kube`")
    monkeypatch.chdir(tmp_path)
    session = Session(tmp_path, page.stem)
    try:
        for block in blocks(page):
            if not block.not_run:
                session.do(block)
    finally:
        session.close()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_are_of_a_kind_that_is_tried_or_say_why_not(page: Path) -> None:
    for block in blocks(page):
        assert block.language in LANGUAGES, f"{block}: use console, python or yaml"
        if block.language in ("", "text") and not block.title and page not in FOLLOWED_ELSEWHERE:
            assert not _PROGRAMS.search(block.text), f"{block}: a command: mark the block console"


def test_pages_that_are_followed_elsewhere_are() -> None:
    for page, test in FOLLOWED_ELSEWHERE.items():
        assert page.name in test.read_text(encoding="utf-8")


def test_what_is_not_run_is_counted() -> None:
    found = Counter(block.not_run for page in PAGES for block in blocks(page) if block.not_run)
    assert set(found) <= set(REASONS), "use one of the reasons there are"
    assert dict(found) == {reason: n for reason, n in NOT_RUN.items() if n}


@pytest.mark.parametrize(
    ("said", "expected", "alike"),
    [
        pytest.param("a\nb\n", "a\nb", True, id="equal"),
        pytest.param("a 12 b", "a … b", True, id="a part of a line"),
        pytest.param("a\nx\ny\nb\n", "a\n…\nb", True, id="lines left out"),
        pytest.param("a\nb\n", "a\n…\nb", True, id="no lines left out"),
        pytest.param("a\nb\n", "a", False, id="one too many"),
        pytest.param("a\nb\n", "a\nc", False, id="another line"),
        pytest.param("a x\ny b", "a … b", False, id="not across lines"),
    ],
)
def test_how_output_is_compared(said: str, expected: str, *, alike: bool) -> None:
    assert is_like(said, expected) is alike


def test_how_commands_are_read() -> None:
    text = "$ one \\\n    two\n1\n2\n\n$ three\n"
    block = Block(ROOT / "README.md", 1, "console", "", text, "")
    assert commands(block) == [("one two", "1\n2"), ("three", "")]
