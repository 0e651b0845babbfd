"""Verdicts as a table for people: one row per node, the reasons or the scores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.table import Table


def print_verdicts(verdicts: Iterable[dict[str, Any]]) -> None:
    """Print each verdict under its case's name."""
    # What is printed are names and messages of others: their brackets and colons are no markup.
    console = Console(markup=False, emoji=False)
    for verdict in verdicts:
        console.print()
        if "error" in verdict:
            console.print(f"{verdict['id']}: {verdict['error']}", style="red")
            continue
        console.print(_table(verdict))
        for line in _conclusion(verdict):
            console.print(line)


def _table(verdict: dict[str, Any]) -> Table:
    scores = verdict.get("scores", {})
    totals, best = verdict.get("totals", {}), set(verdict.get("best", ()))
    # A plugin that gave every node the same says nothing about the choice.
    telling = sorted(
        plugin
        for plugin in {name for per_node in scores.values() for name in per_node}
        if len({per_node.get(plugin) for per_node in scores.values()}) > 1
    )
    table = Table(title=str(verdict["id"]), title_justify="left", title_style="bold")
    table.add_column("node")
    for plugin in telling:
        table.add_column(plugin, justify="right")
    table.add_column("total", justify="right")
    table.add_column("verdict")
    for node, status in sorted(verdict["filter"].items()):
        if status["code"] == "Success":
            said = "best" if node in best else ""
            row = [str(scores[node].get(plugin, "")) for plugin in telling] + [str(totals[node])]
        else:
            said = f"{', '.join(status['reasons'])} ({status.get('plugin') or 'PreFilter'})"
            row = [""] * (len(telling) + 1)
        table.add_row(node, *row, said, style="green" if node in best else "")
    return table


def _conclusion(verdict: dict[str, Any]) -> Iterable[str]:
    if verdict.get("best"):
        yield f"=> {' or '.join(sorted(verdict['best']))}"
    if verdict.get("message"):
        yield f"=> {verdict['message']}"
    for outcome in verdict.get("preempted") or ():
        victims = ", ".join(outcome["victims"] or ()) or "nobody new"
        yield f"=> room on {outcome['node']} by evicting {victims}"
    if verdict.get("postFilterMessage"):
        yield f"=> {verdict['postFilterMessage']}"
