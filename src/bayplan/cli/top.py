"""``bayplan top``: a scheduler at work, live: rates, queues, what pods wait for, nodes by load.

``screen`` makes the picture of two summaries and knows no clock and no terminal; ``top`` asks, waits and shows.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import click
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from bayplan.cli.ages import age_text
from bayplan.cli.plain_table import make_console, plain_table, show
from bayplan.cli.running import Which, running_options, scheduler_pages
from bayplan.errors import BayplanError

_RESULTS: Final = ("scheduled", "unschedulable", "error")
_BAR: Final = 20
_REASON_CHARS: Final = 90


@dataclass(frozen=True, slots=True)
class Interval:
    """How often to look, and at how many nodes."""

    seconds: float
    nodes: int


class Pages(Protocol):
    """A scheduler's pages (``client.scheduler_pages.SchedulerPages``)."""

    async def get(self, path: str, **query: str) -> Any: ...


@click.command(short_help="Watch a scheduler at work.")
@click.option("--once", is_flag=True, help="Print it once, without a live view.")
@click.option(
    "--interval",
    "interval_s",
    default=2.0,
    show_default=True,
    type=click.FloatRange(min=0.2),
    help="Seconds between two looks.",
)
@click.option("--nodes", default=10, show_default=True, type=click.IntRange(0, 1000))
@running_options
def top(*, once: bool, interval_s: float, nodes: int, **given: Any) -> None:
    """Watch the running scheduler: rates, queues, what pods wait for, the fullest nodes.

    Ctrl-C ends it. Takes the right to get leases and the nonResourceURL /debug/summary.
    """
    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_top(Which.of(given), interval_s, nodes, once=once))
    except BayplanError as error:
        raise click.ClickException(str(error)) from error


async def _top(which: Which, interval_s: float, nodes: int, *, once: bool) -> None:
    async with scheduler_pages(which) as pages:
        before = await pages.get("/debug/summary", nodes=str(nodes))
        if once:
            console = make_console()
            for part in screen(before, None).renderables:
                if isinstance(part, Table):
                    show(console, part)
                else:
                    console.print(part, soft_wrap=True)
            return
        with Live(screen(before, None), console=Console(), screen=True, auto_refresh=False) as live:
            await follow(
                pages,
                before,
                Interval(interval_s, nodes),
                lambda parts: live.update(parts, refresh=True),
            )


async def follow(
    pages: Pages,
    before: Mapping[str, Any],
    every: Interval,
    show: Callable[[Group], None],
) -> None:
    """Look again and again, until cancelled."""
    while True:
        await asyncio.sleep(every.seconds)
        now = await pages.get("/debug/summary", nodes=str(every.nodes))
        show(screen(now, before))
        before = now


def screen(now: Mapping[str, Any], before: Mapping[str, Any] | None) -> Group:
    """The picture; rates need an earlier summary."""
    parts: list[Any] = [_head(now), _rates(now, before), _queues(now), Text("")]
    if now["unschedulable"]:
        rows = [(str(row["pods"]), row["plugin"], row["profile"]) for row in now["unschedulable"]]
        parts += [plain_table(("PODS", "TURNED DOWN BY", "PROFILE"), rows, right=(0,)), Text("")]
    if now["reasons"]:
        rows = [(str(row["pods"]), _cut(row["reason"]), "") for row in now["reasons"][:8]]
        parts += [plain_table(("PODS", "LAST SAID", ""), rows, right=(0,)), Text("")]
    parts += _nodes(now["nodes"])
    return Group(*parts)


def _head(now: Mapping[str, Any]) -> Text:
    names = ", ".join(now["profiles"])
    role = "" if now["leading"] else "  (stands by: another instance leads)"
    return Text(f"bayplan {names}  {now['time']}{role}", style="bold")


def _rates(now: Mapping[str, Any], before: Mapping[str, Any] | None) -> Text:
    attempts = now["attempts"]
    if before is None:
        said = ", ".join(f"{attempts.get(name, 0)} {name}" for name in _RESULTS)
        return Text(f"attempts so far: {said}")
    seconds = now["monotonic"] - before["monotonic"]
    if seconds <= 0:  # another process answers now
        return Text("attempts per second: -")
    rates = [(attempts.get(n, 0) - before["attempts"].get(n, 0)) / seconds for n in _RESULTS]
    said = ", ".join(
        f"{max(rate, 0):.1f} {name}" for rate, name in zip(rates, _RESULTS, strict=True)
    )
    return Text(f"attempts per second: {said}")


def _queues(now: Mapping[str, Any]) -> Text:
    queues = ", ".join(f"{pods} {name}" for name, pods in now["queue"].items())
    oldest = "" if now["oldest"] is None else f"; the oldest waits for {age_text(now['oldest'])}"
    return Text(f"waiting: {queues}; {now['inFlight']} in flight{oldest}")


def _nodes(nodes: Mapping[str, Any]) -> list[Any]:
    cpu, memory, pods = nodes["cpu"], nodes["memory"], nodes["pods"]
    said = (
        f"{nodes['count']} nodes ({nodes['cordoned']} cordoned): cpu {_percent(_part(*cpu))}, "
        f"memory {_percent(_part(*memory))}, pods {pods[0]} of {pods[1]}"
    )
    rows = [
        (
            row["node"],
            f"{_percent(row['cpu'])} {_bar(row['cpu'])}",
            f"{_percent(row['memory'])} {_bar(row['memory'])}",
            f"{row['pods']}/{row['maxPods']}",
            "cordoned" if row["cordoned"] else "",
        )
        for row in nodes["fullest"]
    ]
    found: list[Any] = [Text(said)]
    if rows:
        found.append(plain_table(("NODE", "CPU", "MEMORY", "PODS", ""), rows, right=(3,)))
    return found


def _part(asked: float, offered: float) -> float:
    return asked / offered if offered else 0.0


def _percent(share: float) -> str:
    return f"{share:4.0%}"


def _bar(share: float) -> str:
    full = round(min(max(share, 0.0), 1.0) * _BAR)
    return "█" * full + "░" * (_BAR - full)


def _cut(text: str) -> str:
    return text if len(text) <= _REASON_CHARS else f"{text[:_REASON_CHARS]}…"
