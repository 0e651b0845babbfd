"""``bayplan bench``: schedulers side by side on a real API server, measured from outside.

Needs what ``make kube`` builds, or KUBEBUILDER_ASSETS. The variables are those of ``make bench``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayplan.bench import workload as workloads
from bayplan.bench.subjects import SUBJECTS
from bayplan.errors import BayplanError

if TYPE_CHECKING:
    from bayplan.bench.campaign import Plan

_MODES = ("drain", "stream")
#: What is run where nothing is asked for, and for the record.
_USUAL = ("stock", "ours", "ceiling")


@click.command("bench")
@click.option(
    "-w",
    "--workloads",
    "names",
    envvar="WORKLOADS",
    help=f"Names with commas between, or 'all'. Without: {','.join(workloads.USUAL)}.",
)
@click.option(
    "--schedulers",
    envvar="SCHEDULERS",
    help=f"Some of {','.join(SUBJECTS)}. Without: {','.join(_USUAL)}.",
)
@click.option("--modes", envvar="MODES", help=f"Some of {','.join(_MODES)}. Without: drain.")
@click.option(
    "--nodes",
    envvar="NODES",
    type=click.IntRange(min=1),
    help="So many nodes, and pods in proportion.",
)
@click.option("--rounds", envvar="ROUNDS", default=3, show_default=True, type=click.IntRange(min=1))
@click.option("--full", envvar="FULL", is_flag=True, help="The record: everything, with all pods.")
@click.option(
    "--out",
    envvar="OUT",
    type=click.Path(path_type=Path),
    help="Write the rows as JSON to this file.",
)
def bench(  # noqa: PLR0913 - one argument per option
    names: str | None,
    schedulers: str | None,
    modes: str | None,
    nodes: int | None,
    rounds: int,
    *,
    full: bool,
    out: Path | None,
) -> None:
    """Measure schedulers beside each other on a real API server."""
    try:
        plan = _plan(names, schedulers, modes, nodes, rounds, full=full)
        _run(plan, out)
    except BayplanError as error:
        click.echo(str(error), err=True)
        sys.exit(1)


def _plan(
    names: str | None,
    schedulers: str | None,
    modes: str | None,
    nodes: int | None,
    rounds: int,
    *,
    full: bool,
) -> Plan:
    from bayplan.bench.campaign import Plan

    everything = workloads.names()
    wanted = (
        everything
        if names == "all" or (full and not names)
        else _words(names, everything, workloads.USUAL)
    )
    chosen = []
    for name in wanted:
        workload = workloads.load(name)
        if nodes:
            workload = workload.scaled(nodes)
        chosen.append(workload if full else workload.cut())
    return Plan(
        chosen,
        _words(modes, _MODES, _MODES if full else _MODES[:1]),
        _words(schedulers, list(SUBJECTS), list(SUBJECTS) if full else _USUAL),
        rounds,
    )


def _words(given: str | None, known: Any, default: Any) -> list[Any]:
    words = [word.strip() for word in given.split(",") if word.strip()] if given else list(default)
    for word in words:
        if word not in known:
            raise BayplanError(f"{word!r} is not known: there are {', '.join(known)}")
    return words


def _run(plan: Plan, out: Path | None) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from bayplan.bench.campaign import carry_out
    from bayplan.bench.report import as_json, rows, table
    from bayplan.bench.trial import API_FLAGS
    from bayplan.clock import SystemClock

    console = Console(stderr=True)
    results = []
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
    ]
    with Progress(*columns, TimeElapsedColumn(), console=console) as bar:
        whole = bar.add_task("runs", total=plan.runs)
        current = bar.add_task("", total=1)

        def show(what: str, bound: int, wanted: int) -> None:
            bar.update(current, description=what, completed=bound, total=wanted)

        for result in carry_out(plan, SystemClock(), show):
            results.append(result)
            bar.advance(whole)
            if out is not None:
                # After every run: a benchmark that is broken off has still measured something.
                out.write_text(
                    json.dumps(as_json(rows(results)), indent=2) + "\n", encoding="utf-8"
                )
    found = rows(results)
    Console(width=None if sys.stdout.isatty() else 200).print(table(found))
    click.echo(f"API server: {' '.join(API_FLAGS)}; etcd without fsync; users in system:masters")
