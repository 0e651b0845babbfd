"""README.zh-CN.md has what README.md has: sections, rows, links, code."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT, blocks

ENGLISH, CHINESE = ROOT / "README.md", ROOT / "README.zh-CN.md"


def skeleton(text: str) -> list[str]:
    """Headings by depth, table rows by their first code span, list items: all that does not depend on the language."""
    text = re.sub(r"^```.*?^```", "(block)", text, flags=re.MULTILINE | re.DOTALL)
    found = []
    for line in text.splitlines():
        if line.startswith("#"):
            found.append(line.partition(" ")[0])
        elif line.startswith("|"):
            found.append(f"row of {line.count('|')}")
        elif re.match(r"- |\d\. |\(block\)", line):
            found.append(line[:2])
    return found


def targets(text: str) -> list[str]:
    return sorted(set(re.findall(r"\]\(([^)]+)\)", text)) - {"README.md", "README.zh-CN.md"})


def commands_named(text: str) -> set[str]:
    return set(re.findall(r"`bayplan ([a-z][a-z-]*)", text))


def test_both_are_built_alike() -> None:
    english, chinese = (path.read_text(encoding="utf-8") for path in (ENGLISH, CHINESE))
    assert skeleton(chinese) == skeleton(english)
    assert targets(chinese) == targets(english)


def test_both_name_the_same_commands_and_flags() -> None:
    english, chinese = (path.read_text(encoding="utf-8") for path in (ENGLISH, CHINESE))
    in_tables = re.compile(r"^\|.*$", re.MULTILINE)
    named = [commands_named("".join(in_tables.findall(text))) for text in (english, chinese)]
    assert named[0] == named[1]
    flags = [set(re.findall(r"`(--[a-z-]+)`", text)) for text in (english, chinese)]
    assert flags[0] == flags[1]


def test_the_code_is_the_same() -> None:
    def code(path: str) -> list[str]:
        found = [
            block.text for block in blocks(ROOT / path) if block.language in ("python", "yaml")
        ]
        return [re.sub(r'""".*?"""', "", text) for text in found]

    assert code("README.md") == code("README.zh-CN.md")
