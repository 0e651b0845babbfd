"""An explanation as text and tables for people."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bayplan.cycle.record import NodeLine, PluginScore
from bayplan.sim.explanation import Explanation, NodeDetail

#: Nodes shown of each sort, unless all are asked for.
_SHOWN: Final = 20
#: Wider than any table: as with kubectl, the terminal breaks lines that are too long for it, and nothing is cut off.
_WIDTH: Final = 400
#: From so many nodes on, reasons are counted.
_MANY: Final = 6
#: A longer plugin name is broken into lines.
_LONG_NAME: Final = 14
_CAMEL: Final = re.compile(r"[A-Z][a-z0-9]*|[A-Z]+(?![a-z])")
_NOBODY: Final = "PreFilter"


def print_explanation(explanation: Explanation, *, wide: bool = False) -> None:
    """Print it to standard output: coloured on a terminal, plain elsewhere."""
    # Brackets and colons in names and messages are no markup.
    console = Console(highlight=False, markup=False, emoji=False, width=_WIDTH)
    _Printer(console, explanation, wide=wide).print()


class _Printer:
    def __init__(self, console: Console, explanation: Explanation, *, wide: bool) -> None:
        self._console = console
        self._explanation = explanation
        self._most = len(explanation.lines) if wide else _SHOWN
        self._wide = wide

    def print(self) -> None:
        explanation = self._explanation
        self._say(explanation.headline(), "bold")
        if explanation.placed_on:
            self._say(explanation.whereabouts())
        if explanation.policy:
            self._say(f"policy: {explanation.policy}")
        for note in explanation.notes:
            self._say(f"note: {note}")
        if explanation.detail is not None:
            self._detail(explanation.detail)
        else:
            self._fitting()
            self._turned_down()
        self._preemption()
        self._suggestions()

    def _say(self, text: str, style: str = "") -> None:
        self._console.print(Text(text, style=style), soft_wrap=True)

    def _show(self, table: Table) -> None:
        """A table without the blanks that fill it up on the right."""
        with self._console.capture() as captured:
            self._console.print(table)
        lines = [line.rstrip() for line in captured.get().splitlines()]
        self._console.print(Text.from_ansi("\n".join(lines)), soft_wrap=True)

    # --- nodes

    def _fitting(self) -> None:
        explanation, lines = self._explanation, self._explanation.fitting
        if not lines:
            return
        self._say("")
        table = _table("", "NODE", "TOTAL")
        for column in table.columns[2:]:
            column.justify = "right"
        plugins = self._telling()
        for name, weight in plugins.items():
            title = _heading(name) + (f" ×{weight}" if weight != 1 else "")
            table.add_column(title, justify="right", vertical="bottom")
        shown = lines[: self._most]
        chosen = explanation.line(explanation.chosen)
        if chosen is not None and chosen not in shown:
            shown = [*shown, chosen]
        for line in shown:
            mark = ">" if line.node == explanation.chosen else ""
            scores = [self._score(line, name) for name in plugins]
            table.add_row(mark, line.node, str(line.total), *scores, style="green" if mark else "")
        self._show(table)
        self._rest(explanation.counts[0] - len(shown), "that fit")

    def _telling(self) -> dict[str, int]:
        """The score plugins; those that gave nothing to any node are left out where space is scarce."""
        explanation = self._explanation
        if self._wide:
            return explanation.plugins
        return {
            name: weight
            for name, weight in explanation.plugins.items()
            if any(line.scores[name].weighted for line in explanation.fitting)
        }

    def _score(self, line: NodeLine, name: str) -> str:
        score = line.scores.get(name)
        if score is None:
            return ""
        return _in_full(score) if self._wide else str(score.weighted)

    def _turned_down(self) -> None:
        explanation, lines = self._explanation, self._explanation.turned_down
        if not lines:
            return
        self._say("")
        table = _table("TURNED DOWN", "BY", "REASON")
        for line in lines[: self._most]:
            assert line.rejected is not None
            table.add_row(line.node, line.rejected.plugin or _NOBODY, line.rejected.message)
        self._show(table)
        count = explanation.counts[1]
        self._rest(count - min(len(lines), self._most), "turned down")
        if count >= _MANY:
            self._say("")
            table = _table("NODES", "BY", "REASON")
            table.columns[0].justify = "right"
            ordered = sorted(explanation.reasons.items(), key=lambda item: (-item[1], item[0]))
            for (plugin, reason), count in ordered:
                table.add_row(str(count), plugin or _NOBODY, reason)
            self._show(table)

    def _rest(self, count: int, what: str) -> None:
        if count > 0:
            self._say(f"{count} more {what} (-o wide shows all)")

    # --- one node

    def _detail(self, detail: NodeDetail) -> None:
        line = detail.line
        self._say("")
        if line.rejected is None:
            self._say(f"{line.node} fits, total {line.total}")
            table = _table("PLUGIN", "RAW", "NORMALIZED", "WEIGHT", "SCORE")
            for name, score in line.scores.items():
                numbers = (score.raw, score.normalized, score.weight, score.weighted)
                table.add_row(name, *map(str, numbers))
            for column in table.columns[1:]:
                column.justify = "right"
        else:
            self._say(f"{line.node} is turned down")
            table = _table("BY", "REASON")
            for plugin, text in detail.objections:
                table.add_row(plugin or _NOBODY, text)
        self._show(table)
        self._say("")
        table = _table("RESOURCE", "ALLOCATABLE", "REQUESTED", "ASKED", "")
        for room in detail.room:
            short = "" if room.enough else "short"
            table.add_row(room.resource, room.allocatable, room.requested, room.asked, short)
        count, most = detail.pods
        table.add_row("pods", str(most), str(count), "1", "" if count < most else "short")
        self._show(table)

    # --- what would help

    def _preemption(self) -> None:
        nominated = self._explanation.preemption
        if nominated is None:
            return
        victims = ", ".join(f"{pod.key} (priority {pod.priority})" for pod in nominated.victims)
        self._say("")
        self._say(f"preemption makes room on {nominated.node} by evicting {victims or 'nobody'}")
        if nominated.violations:
            self._say(f"{nominated.violations} of them against a disruption budget")

    def _suggestions(self) -> None:
        explanation = self._explanation
        stuck = not explanation.chosen
        if explanation.detail is not None:
            stuck = explanation.detail.line.rejected is not None
        if not stuck:
            return
        self._say("")
        if not explanation.suggestions:
            self._say("no single change would make it fit: more than one thing stands in the way")
            return
        self._say("any one of these would make it fit:")
        for suggestion in explanation.suggestions:
            self._say(f"  - {suggestion.text}")


def _table(*headings: str) -> Table:
    """As kubectl prints: no lines, columns apart by blanks."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for heading in headings:
        table.add_column(heading, vertical="bottom", overflow="fold")
    return table


def _heading(name: str) -> str:
    """``NodeResourcesFit`` in lines of at most so many characters, broken where words begin."""
    if len(name) <= _LONG_NAME:
        return name
    lines: list[str] = []
    for word in _words(name):
        if lines and len(lines[-1]) + len(word) <= _LONG_NAME:
            lines[-1] += word
        else:
            lines.append(word)
    return "\n".join(lines)


def _words(name: str) -> Iterable[str]:
    words = _CAMEL.findall(name)
    return words if "".join(words) == name else [name]


def _in_full(score: PluginScore) -> str:
    return f"{score.weighted} ({score.raw})"
