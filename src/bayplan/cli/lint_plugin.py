"""``bayplan lint-plugin FILE[:Class]``: what is wrong with a plugin, and what to do about it, before it meets a cluster."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click
import yaml

from bayplan.errors import BayplanError

if TYPE_CHECKING:
    from bayplan.kit.linting.report import Report


@click.command(
    "lint-plugin", short_help="Say what is wrong with a plugin, before it meets a cluster."
)
@click.argument("file", metavar="FILE[:CLASS]")
@click.option(
    "--args",
    "arguments",
    default="",
    metavar="YAML",
    help="The plugin's arguments: '{threshold: 0.7}'.",
)
@click.option(
    "--nodes",
    type=click.IntRange(min=1),
    default=5000,
    show_default=True,
    help="How many nodes the speed is measured with; it says nothing of the other checks.",
)
@click.option(
    "--min-speed",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="PODS",
    help="Fewer pods per second are a fault.",
)
@click.option("--speed/--no-speed", "timed", default=True, help="Leave out what takes seconds.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print the result.",
)
def lint_plugin(
    *, file: str, arguments: str, nodes: int, min_speed: float, timed: bool, output: str
) -> None:
    """Check the plugins in FILE, or one of them.

    Purity (the same pod and node get the same answer), agreement of per-node and column form, what is remembered and when it
    is thrown away, and speed. The exit status is 1 if anything is at fault, or if FILE cannot be used.
    """
    from bayplan.clock import SystemClock
    from bayplan.kit.linting.report import Measuring, lint
    from bayplan.kit.linting.subject import subjects

    measuring = Measuring(SystemClock(), nodes=nodes, least=min_speed) if timed else None
    try:
        reports = [lint(subject, measuring) for subject in subjects(file, _arguments(arguments))]
    except BayplanError as error:
        raise click.ClickException(str(error)) from error
    if output == "json":
        click.echo(json.dumps([_plain(report) for report in reports], indent=2, ensure_ascii=False))
    else:
        for report in reports:
            _print(report, file)
    sys.exit(0 if all(report.is_good for report in reports) else 1)


def _arguments(text: str) -> dict[str, Any]:
    try:
        given = yaml.safe_load(text) if text else {}
    except yaml.YAMLError as error:
        raise click.BadParameter(f"not YAML: {error}", param_hint="--args") from error
    if not isinstance(given, dict):
        raise click.BadParameter("wants a mapping: '{threshold: 0.7}'", param_hint="--args")
    return given


def _plain(report: Report) -> dict[str, Any]:
    speed = report.speed
    return {
        "plugin": report.plugin,
        "points": list(report.points),
        "good": report.is_good,
        "untried": dict(report.untried),
        "findings": [
            {
                "rule": finding.rule,
                "severity": finding.severity.value,
                "line": finding.line,
                "message": finding.message,
                "cure": finding.cure,
            }
            for finding in report.findings
        ],
        "speed": None
        if speed is None
        else {
            "nodes": speed.nodes,
            "podsPerSecond": round(speed.with_plugin, 1),
            "podsPerSecondWithoutIt": round(speed.alone, 1),
        },
    }


def _print(report: Report, file: str) -> None:
    from bayplan.kit.linting.report import RULES

    click.echo(f"{report.plugin} ({', '.join(report.points)})")
    path = file.removesuffix(f":{report.plugin}")
    for rule, what in RULES.items():
        found = [finding for finding in report.findings if finding.rule == rule]
        for finding in found:
            where = f"{path}:{finding.line}: " if finding.line else ""
            click.echo(f"  {finding.severity.value:<6} {rule}: {where}{finding.message}")
            click.echo(f"         do: {finding.cure}")
        if rule in report.untried:
            click.echo(f"  -      {rule}: {report.untried[rule]}")
        elif not found and rule != "speed":
            click.echo(f"  ok     {rule}: {what}")
    if report.speed is not None:
        speed = report.speed
        click.echo(
            f"  speed  {speed.with_plugin:,.0f} pods/s at {speed.nodes:,} nodes "
            f"({speed.alone:,.0f} without it)"
        )
