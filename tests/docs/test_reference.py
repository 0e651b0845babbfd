"""The committed reference pages are what the code says now."""

from __future__ import annotations

import pytest

from bayplan.cli import main
from bayplan.kit.reference.pages import reference_pages
from tests.docs.pages import DOCS

PAGES = reference_pages(main)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_current(name: str) -> None:
    committed = (DOCS / "reference" / name).read_text(encoding="utf-8")
    assert committed == PAGES[name], "run `make docs`"


def test_nothing_else_is_there() -> None:
    assert sorted(path.name for path in (DOCS / "reference").iterdir()) == sorted(PAGES)
