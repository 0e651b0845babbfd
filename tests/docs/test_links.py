"""Links lead somewhere: to a file of the repository and, where one is named, to a heading in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT

#: Decisions too: they are on the site.
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def links(page: Path) -> list[str]:
    """Targets inside the repository."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    text = re.sub(r"`[^`\n]*`", "", text)
    found = [match["target"] for match in _LINK.finditer(text)]
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """What GitHub and the site call the page's headings."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", head.lower()).strip() for head in heads]
    return {re.sub(r"\s", "-", head) for head in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target in links(page):
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{page}: {target}"
        assert there.is_relative_to(ROOT)
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{page}: {target}"


@pytest.mark.parametrize(
    "page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_pages_of_the_site_link_to_pages_of_the_site(page: Path) -> None:
    """Other files are named, not linked: they are not on the site."""
    outside = [
        target
        for target in links(page)
        if not (page.parent / target.partition("#")[0]).resolve().is_relative_to(DOCS)
    ]
    assert outside == []
