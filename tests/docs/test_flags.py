"""Every flag that the documentation names is one that the command has, and every command exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from bayplan.cli import main
from tests.docs.pages import PAGES, ROOT

#: Flags of other programs that the pages speak of.
FOREIGN = {
    "--api",  # python -m bench.churn
    "--basetemp",  # pytest
    "--dry-run",  # kubectl
    "--field-selector",
    "--feature-gates",  # kube-apiserver
    "--for",
    "--from-file",
    "--runtime-config",  # kube-apiserver
    "--timeout",
    "--all-namespaces",
}
#: A span of code, or a line, that calls another program: its flags are its own affair.
_OTHERS = re.compile(
    r"^(\$ )?(kubectl(?! bayplan)|helm|pip|python|git|curl|pytest|make|\.?/?\.venv)\b"
)
_COMMAND = re.compile(r"(?<!kubectl )\bbayplan (?P<name>[a-z][a-z-]*)(?P<rest>[^\n`|;&>)]*)")
_FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")


def flags_of(command: click.Command) -> set[str]:
    """Long flags, hidden ones too."""
    return {
        name
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("--")
    } | {"--help"}


def all_commands() -> dict[str, click.Command]:
    context = click.Context(main)
    found = {name: main.get_command(context, name) for name in main.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


COMMANDS = all_commands()
KNOWN = {flag for command in COMMANDS.values() for flag in flags_of(command)} | {"--version"}


def code_of(page: Path) -> Iterator[str]:
    """Commands, in blocks and in the text; a line that goes on behind a backslash is one."""
    text = re.sub(r"\\\n\s*", " ", page.read_text(encoding="utf-8"))
    for line in text.splitlines():
        yield line.partition(" # ")[0] if line.startswith("$ ") else line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_flags_exist(page: Path) -> None:
    for line in code_of(page):
        for span in (line, *re.findall(r"`([^`]+)`", line)):
            if _OTHERS.match(span.strip()):
                line = line.replace(span, "")
        unknown = set(_FLAG.findall(line)) - KNOWN - FOREIGN
        assert unknown == set(), f"{page.name}: {line.strip()}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_have_the_flags_that_are_used_with_them(page: Path) -> None:
    for line in code_of(page):
        # In prose "bayplan decides" is no command: code alone counts.
        spans = [line] if line.startswith("$ ") else re.findall(r"`([^`]+)`", line)
        for span in spans:
            for match in _COMMAND.finditer(span):
                command = COMMANDS.get(match["name"])
                assert command is not None, f"{page.name}: there is no bayplan {match['name']}"
                unknown = set(_FLAG.findall(match["rest"])) - flags_of(command)
                assert unknown == set(), f"{page.name}: {span}"


def test_every_command_is_documented() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in COMMANDS if f"bayplan {name}" not in text] == []
