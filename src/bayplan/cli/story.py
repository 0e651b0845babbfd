"""One pod's story as a running scheduler tells it: asked for, and printed for people.

Used by ``explain`` and by ``kubectl bayplan why``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from bayplan.cli.ages import age_text
from bayplan.cli.explanation_table import print_explanation
from bayplan.cli.missing import why_missing
from bayplan.cli.plain_table import make_console, plain_table, say, show
from bayplan.cli.running import Which, scheduler_pages
from bayplan.errors import BayplanError, NotFound
from bayplan.sim.explanation_json import from_json

if TYPE_CHECKING:
    from rich.console import Console

#: Moves that are shown of a pod that has moved often.
_MOVES: Final = 12
_DEFAULT_NAMESPACE: Final = "default"


def tell(which: Which, pod: str, node: str, output: str) -> None:
    """Ask and print."""
    key = pod if "/" in pod else f"{_DEFAULT_NAMESPACE}/{pod}"
    try:
        story = asyncio.run(_ask(which, key, node, everything=output != "table"))
        if output == "json":
            click.echo(msgspec.json.format(msgspec.json.encode(story), indent=2))
        else:
            print_story(story, wide=output == "wide")
    except BayplanError as error:
        raise click.ClickException(str(error)) from error


async def _ask(which: Which, key: str, node: str, *, everything: bool) -> dict[str, Any]:
    query = {"nodes": "all"} if everything else {}
    if node:
        query["node"] = node
    try:
        async with scheduler_pages(which, key) as pages:
            story: dict[str, Any] = await pages.get(f"/debug/decisions/{key}", **query)
            return story
    except NotFound:
        missing = await why_missing(which, key)
        if not missing:
            raise
        return {"pod": key, "state": "missing", "missing": missing}


def print_story(story: Mapping[str, Any], *, wide: bool = False) -> None:
    """Where the pod is, how it came there, each attempt, and the last one in full."""
    console = make_console()
    if "missing" in story:
        for line in story["missing"]:
            say(console, line)
        return
    say(console, _headline(story), "bold")
    history = story.get("history")
    if history is not None:
        _moves(console, history["moves"])
        _attempts(console, history)
    explanation = story.get("explanation")
    if explanation is not None:
        say(console, "")
        if "asOf" in explanation:
            say(console, f"as decided at {explanation['asOf']}:")
        else:
            say(
                console,
                "as it would be decided now (the record of its own attempt is not kept any more):",
            )
        print_explanation(from_json(explanation), wide=wide)
    if "trouble" in story:
        say(console, "")
        say(console, f"no explanation: {story['trouble']}")


def _headline(story: Mapping[str, Any]) -> str:
    pod, state = story["pod"], story["state"]
    if "queue" in story:
        row = story["queue"]
        place = f"{state} for {age_text(row['inPlaceFor'])}"
        if row.get("gate"):
            place += f", kept out by {row['gate']}"
        elif row["plugins"]:
            place += f", turned down by {', '.join(row['plugins'])}"
        if "backoffEnds" in row:
            place += f", next attempt from {row['backoffEnds']}"
        tries = "1 attempt" if row["attempts"] == 1 else f"{row['attempts']} attempts"
        return f"{pod} waits: {place}; {tries} in {age_text(row['age'])}"
    if "inFlight" in story:
        row = story["inFlight"]
        on = f" on {row['node']}" if row["node"] else ""
        return f"{pod} is on its way{on}: {row['stage']} for {age_text(row['age'])}, attempt {row['attempt']}"
    if state == "placed":
        return f"{pod} is on {story['node']}"
    return f"{pod} is {state}"


def _moves(console: Console, moves: list[Mapping[str, Any]]) -> None:
    if not moves:
        return
    say(console, "")
    shown = moves if len(moves) <= _MOVES else [moves[0], *moves[1 - _MOVES :]]
    rows = [(move["time"], move["place"], move["event"]) for move in shown]
    show(console, plain_table(("TIME", "QUEUE", "BY"), rows))


def _attempts(console: Console, history: Mapping[str, Any]) -> None:
    rows = [_attempt(run) for run in history["attempts"]]
    if not rows:
        return
    say(console, "")
    show(console, plain_table(("ATTEMPT", "TIME", "TOOK", "RESULT", "BY", "MESSAGE"), rows))
    if history["dropped"]:
        say(console, f"{history['dropped']} attempts after the first are not kept any more")


def _attempt(run: Mapping[str, Any]) -> tuple[str, ...]:
    first, last = run["first"], run["last"]
    number = str(first) if first == last else f"{first}-{last}"
    took = f"{run['seconds'] * 1000:.1f}ms"
    return (number, run["lastTime"], took, run["result"], ",".join(run["plugins"]), run["message"])
