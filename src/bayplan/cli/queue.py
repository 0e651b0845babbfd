"""``bayplan queue``: every pod that waits or is on its way, with what it waits for and for how long."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from bayplan.cli.ages import age_text
from bayplan.cli.plain_table import make_console, plain_table, say, show
from bayplan.cli.running import Which, running_options, scheduler_pages
from bayplan.errors import BayplanError

if TYPE_CHECKING:
    from rich.console import Console

_PLACES: Final = ("active", "backoff", "unschedulable", "gated", "inFlight")
_REASONS: Final = 10
#: A reason's first part says what is the matter; the rest is in the explanation.
_REASON_CHARS: Final = 100


@click.command(short_help="Show which pods wait, and what for.")
@click.option("-n", "--namespace", default="", help="Only pods of this namespace.")
@click.option(
    "--place",
    type=click.Choice(["active", "backoff", "unschedulable", "gated", "in-flight"]),
    default=None,
    help="Only pods that are there.",
)
@click.option(
    "--limit", default=500, show_default=True, type=click.IntRange(1), help="Waiting pods at most."
)
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table")
@running_options
def queue(*, namespace: str, place: str | None, limit: int, output: str, **given: Any) -> None:
    """Show the scheduling queue of the running scheduler.

    active: next; backoff: after a pause; unschedulable: until something changes; gated: until a gate opens; in flight:
    decided, and waiting for Permit, for volumes or for the API server. Takes the right to get leases and the
    nonResourceURL /debug/queue.
    """
    try:
        page = asyncio.run(_ask(Which.of(given), limit))
    except BayplanError as error:
        raise click.ClickException(str(error)) from error
    page = only(page, namespace, place)
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(page), indent=2))
    else:
        print_queue(page)


async def _ask(which: Which, limit: int) -> dict[str, Any]:
    async with scheduler_pages(which) as pages:
        page: dict[str, Any] = await pages.get("/debug/queue", limit=str(limit))
        return page


def only(page: dict[str, Any], namespace: str, place: str | None) -> dict[str, Any]:
    """The part of a page that was asked for; the counts stay those of the whole queue."""

    def wanted(row: Mapping[str, Any]) -> bool:
        return not namespace or row["pod"].startswith(f"{namespace}/")

    in_flight = [row for row in page["inFlight"] if wanted(row) and place in (None, "in-flight")]
    pods = [row for row in page["pods"] if wanted(row) and place in (None, row["place"])]
    return {**page, "inFlight": in_flight, "pods": pods}


def print_queue(page: Mapping[str, Any]) -> None:
    """For people."""
    console = make_console()
    counts = page["counts"]
    said = ", ".join(f"{counts.get(name, 0)} {_words(name)}" for name in _PLACES)
    say(console, said, "bold")
    _reasons(console, page)
    rows = [_waiting(row) for row in page["pods"]] + [_in_flight(row) for row in page["inFlight"]]
    if rows:
        say(console, "")
        headings = ("POD", "PLACE", "FOR", "AGE", "ATTEMPTS", "PRIORITY", "BY", "REASON")
        show(console, plain_table(headings, rows, right=(4, 5)))
    left = page["total"] - len(page["pods"])
    if left > 0:
        say(console, f"{left} more wait (--limit, -n and --place choose)")


def _words(name: str) -> str:
    return "in flight" if name == "inFlight" else name


def _reasons(console: Console, page: Mapping[str, Any]) -> None:
    plugins = page["unschedulable"]
    if plugins:
        say(console, "")
        rows = [(str(row["pods"]), row["plugin"], row["profile"]) for row in plugins]
        show(console, plain_table(("PODS", "TURNED DOWN BY", "PROFILE"), rows, right=(0,)))
    reasons = Counter(row["reason"] for row in page["pods"] if row.get("reason"))
    if len(reasons) < len(page["pods"]) and reasons:
        say(console, "")
        rows2: Sequence[tuple[str, ...]] = [
            (str(count), text) for text, count in reasons.most_common(_REASONS)
        ]
        show(console, plain_table(("PODS", "REASON"), rows2, right=(0,)))


def _waiting(row: Mapping[str, Any]) -> tuple[str, ...]:
    by = row.get("gate") or ",".join(row["plugins"])
    reason = row.get("reason", "")
    if len(reason) > _REASON_CHARS:
        reason = f"{reason[:_REASON_CHARS]}…"
    return (
        row["pod"],
        row["place"],
        age_text(row["inPlaceFor"]),
        age_text(row["age"]),
        str(row["attempts"]),
        str(row["priority"]),
        by,
        reason,
    )


def _in_flight(row: Mapping[str, Any]) -> tuple[str, ...]:
    age = age_text(row["age"])
    return (row["pod"], row["stage"], age, age, str(row["attempt"]), "", "", f"to {row['node']}")
