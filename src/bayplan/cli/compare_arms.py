"""``bayplan compare-arms``: how a profile fares that is tried beside another, as canary or as shadow."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click
import msgspec
import numpy as np

from bayplan.cli.plain_table import make_console, plain_table, say, show
from bayplan.cli.running import Which, running_options, scheduler_pages
from bayplan.errors import BayplanError
from bayplan.telemetry.decision_files import read_decisions

#: Fewer attempts than this say little.
_ENOUGH: Final = 30
#: What counts as a difference: shares by so much, times and prices by such a factor.
_SHARE: Final = 0.01
_FACTOR: Final = 1.1
_HEADINGS: Final = (
    "PROFILE",
    "ROLE",
    "ATTEMPTS",
    "SCHEDULED",
    "UNSCHEDULABLE",
    "FAILURES",
    "P50",
    "P99",
    "UTILISATION",
    "PRICE/H",
    "VERDICT",
)
_NUMBERS: Final = tuple(range(2, 10))


@click.command("compare-arms", short_help="Compare a canary or a shadow with its profile.")
@click.option(
    "--decisions",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    default=None,
    help="A decision log file to read in place of the running scheduler: all profiles in it side by side.",
)
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table")
@running_options
def compare_arms(*, decisions: Path | None, output: str, **given: Any) -> None:
    """Show attempts, times, utilisation, price and failures of each arm, and what follows from them.

    Asks the running scheduler for the nonResourceURL /debug/arms.
    """
    try:
        page = of_file(decisions) if decisions is not None else asyncio.run(_ask(Which.of(given)))
    except BayplanError as error:
        raise click.ClickException(str(error)) from error
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(page), indent=2))
    else:
        print_arms(page)


async def _ask(which: Which) -> dict[str, Any]:
    async with scheduler_pages(which) as pages:
        page: dict[str, Any] = await pages.get("/debug/arms")
        return page


def of_file(path: Path) -> dict[str, Any]:
    """The same page from a file of decisions, which knows no prices and no use of nodes."""
    accounts: dict[str, dict[str, Any]] = {}
    times: dict[str, list[float]] = {}
    fields = {"scheduled": "scheduled", "dry-run": "scheduled", "error": "errors"}
    for record in read_decisions(path):
        profile = str(record["profile"])
        account = accounts.setdefault(
            profile,
            {"role": "", "attempts": 0, "scheduled": 0, "unschedulable": 0, "errors": 0},
        )
        account["attempts"] += 1
        account[fields.get(str(record["result"]), "unschedulable")] += 1
        times.setdefault(profile, []).append(float(record["seconds"]))
    for profile, account in accounts.items():
        account["p50Seconds"] = float(np.percentile(times[profile], 50))
        account["p99Seconds"] = float(np.percentile(times[profile], 99))
        account["utilisation"] = account["pricePerPod"] = None
    return {"arms": [], "accounts": accounts}


def print_arms(page: Mapping[str, Any]) -> None:
    """For people."""
    console = make_console()
    accounts: Mapping[str, Mapping[str, Any]] = page["accounts"]
    if not accounts:
        say(console, "no profile has an arm: give one in the BayplanConfiguration (docs/reload.md)")
        return
    against = {arm["with"]: arm["profile"] for arm in page["arms"]}
    rows = [
        _row(name, account, accounts.get(against.get(name, "")))
        for name, account in accounts.items()
    ]
    show(console, plain_table(_HEADINGS, rows, right=_NUMBERS))
    for arm in page["arms"]:
        if arm["verdicts"]:
            say(console, "")
            total = sum(arm["verdicts"].values())
            said = ", ".join(f"{count} {_words(word)}" for word, count in arm["verdicts"].items())
            say(console, f"{arm['with']} in the shadow of {arm['profile']}: {total} pods: {said}")
            for each in arm["disagreements"][-5:]:
                where = f"{each['stable'] or 'nowhere'} against {each['shadow'] or 'nowhere'}"
                say(console, f"  {each['pod']}: {where}" + (each["why"] and f": {each['why']}"))


def _words(verdict: str) -> str:
    return {
        "same": "alike",
        "other_node": "to another node",
        "only_stable": "that only the profile places",
        "only_shadow": "that only the shadow places",
        "error": "that the shadow breaks on",
    }[verdict]


def _row(
    name: str, account: Mapping[str, Any], stable: Mapping[str, Any] | None
) -> tuple[str, ...]:
    return (
        name,
        account["role"],
        str(account["attempts"]),
        str(account["scheduled"]),
        str(account["unschedulable"]),
        str(account["errors"]),
        _milliseconds(account["p50Seconds"]),
        _milliseconds(account["p99Seconds"]),
        "-" if account["utilisation"] is None else f"{account['utilisation']:.1%}",
        "-" if account["pricePerPod"] is None else f"{account['pricePerPod']:.4f}",
        "" if stable is None else "; ".join(verdicts(account, stable)) or "no worse",
    )


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1000:.2f} ms"


def verdicts(arm: Mapping[str, Any], stable: Mapping[str, Any]) -> Iterator[str]:
    """What is worse, and what is better, than without the arm."""
    if min(arm["attempts"], stable["attempts"]) < _ENOUGH:
        yield f"too early to say (fewer than {_ENOUGH} attempts)"
        return
    for field, name in (("errors", "failures"), ("unschedulable", "unschedulable")):
        ours, theirs = arm[field] / arm["attempts"], stable[field] / stable["attempts"]
        if abs(ours - theirs) >= _SHARE:
            yield f"{'more' if ours > theirs else 'fewer'} {name} ({ours:.1%} against {theirs:.1%})"
    # What a shadow takes is the decision alone: no binding belongs to it.
    if arm["role"] != "shadow":
        yield from _factor(arm["p99Seconds"], stable["p99Seconds"], "slower", "faster")
    yield from _factor(arm["pricePerPod"], stable["pricePerPod"], "dearer", "cheaper")
    ours, theirs = arm["utilisation"], stable["utilisation"]
    if ours is not None and theirs is not None and abs(ours - theirs) >= _SHARE:
        yield "packs tighter" if ours > theirs else "spreads wider"


def _factor(ours: float | None, theirs: float | None, more: str, less: str) -> Iterator[str]:
    if not ours or not theirs:
        return
    if ours > theirs * _FACTOR:
        yield f"{more} by {ours / theirs - 1:.0%}"
    elif ours * _FACTOR < theirs:
        yield f"{less} by {1 - ours / theirs:.0%}"
