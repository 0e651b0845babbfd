"""Tables as kubectl prints them: no lines, columns apart by blanks, nothing cut off.

Used by every command that lists something.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

#: Wider than any table: the terminal breaks lines that are too long for it.
_WIDTH: Final = 400


def make_console() -> Console:
    """Standard output: coloured on a terminal, plain elsewhere; brackets and colons in names are no markup."""
    return Console(highlight=False, markup=False, emoji=False, width=_WIDTH)


def say(console: Console, text: str, style: str = "") -> None:
    """A line of text."""
    console.print(Text(text, style=style), soft_wrap=True)


def plain_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()
) -> Table:
    """A table; ``right``: the columns with numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for number, heading in enumerate(headings):
        justify = "right" if number in right else "left"
        table.add_column(heading, justify=justify, vertical="bottom", overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*row)
    return table


def show(console: Console, table: Table) -> None:
    """Print a table without the blanks that fill it up on the right."""
    with console.capture() as captured:
        console.print(table)
    lines = [line.rstrip() for line in captured.get().splitlines()]
    console.print(Text.from_ansi("\n".join(lines)), soft_wrap=True)
