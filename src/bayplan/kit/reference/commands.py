"""The page on commands: what ``--help`` says, as Markdown."""

from __future__ import annotations

import inspect
import re
from typing import Final

import click

_HEAD: Final = """# Command reference

*Made from the code by `make docs`; do not edit.*
"""


def commands_page(group: click.Group) -> str:
    """The page."""
    context = click.Context(group, info_name="bayplan")
    parts = [_HEAD]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None and not command.hidden:
            parts.append(_command(name, command))
    return "\n".join(parts)


def _command(name: str, command: click.Command) -> str:
    arguments = " ".join(
        parameter.make_metavar(click.Context(command))
        for parameter in command.params
        if isinstance(parameter, click.Argument)
    )
    lines = [f"## bayplan {name}\n", f"`bayplan {name}{f' {arguments}' if arguments else ''}`\n"]
    lines.append(_plain(command.help or "") + "\n")
    options = [
        parameter
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
    ]
    if options:
        lines += ["| option | |", "|---|---|", *(_option(option) for option in options), ""]
    return "\n".join(lines)


def _option(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    kind = "" if option.is_flag else _kind(option)
    default = ""
    if option.show_default and option.default is not None and option.default is not False:
        default = f" Default: `{option.default}`."
    said = (option.help or "").replace("|", "\\|").replace("\n", " ")
    return f"| {names}{kind} | {_starred(said)}{default} |"


def _kind(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return " " + "\\|".join(map(str, option.type.choices))
    return f" {option.metavar.replace('|', chr(92) + '|')}" if option.metavar else ""


def _starred(text: str) -> str:
    """Stars are no emphasis."""
    return text.replace("*", "\\*")


def _plain(text: str) -> str:
    """Help texts keep lines that click must not join behind a backspace."""
    return re.sub(r"\x08\n", "\n", inspect.cleandoc(text)).replace("<", "&lt;").replace("*", "\\*")
