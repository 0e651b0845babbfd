"""``bayplan check-config FILE``: which plugin runs where, in which order and with which weight, or what is wrong.

Reads one file and what it names (plugin directories, ``module:Class``); asks no cluster, no network and no clock.
"""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from bayplan.errors import ConfigError, Problem
from bayplan.framework.config import Configuration, ProfileConfig, load_config
from bayplan.framework.config.durations import format_duration

if TYPE_CHECKING:
    from bayplan.framework.config.types import Extender
    from bayplan.framework.registry import Registry


@click.command("check-config")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
@click.option(
    "--plugin-dir",
    "plugin_dirs",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A directory whose *.py files hold plugins. May be given several times.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How to print the result.",
)
@click.pass_context
def check_config(
    context: click.Context, file: Path, plugin_dirs: tuple[Path, ...], output: str
) -> None:
    """Show what FILE comes to, or everything that is wrong with it.

    FILE is a KubeSchedulerConfiguration, as for kube-scheduler --config; "-" reads standard input.
    The exit status is 1 if the file cannot be used.
    """
    try:
        configuration = _load(file, plugin_dirs, context.obj)
    except ConfigError as error:
        if output == "json":
            click.echo(_as_json({"valid": False, "errors": _errors(error.problems)}))
        else:
            click.echo(str(error), err=True)
        sys.exit(1)
    if output == "json":
        click.echo(_as_json({"valid": True, **_summary(configuration)}))
    else:
        _print_table(configuration)


def _load(file: Path, plugin_dirs: tuple[Path, ...], registry: Registry | None) -> Configuration:
    """The configuration; the registry is the group's, or that of bayplan's own and installed plugins."""
    if registry is None:
        from bayplan.plugins import default_registry

        registry = default_registry()
        registry.add_entry_points()
    problems: list[Problem] = []
    for directory in plugin_dirs:
        try:
            registry.add_directory(directory)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems, "--plugin-dir")
    if str(file) == "-":
        return load_config(sys.stdin.read(), registry, source="<stdin>")
    return load_config(file, registry)


def _errors(problems: list[Problem]) -> list[dict[str, Any]]:
    return [{"path": p.path, "line": p.line, "message": p.message} for p in problems]


def _summary(configuration: Configuration) -> dict[str, Any]:
    return {
        "source": configuration.source,
        "apiVersion": configuration.api_version,
        "profiles": [_profile(profile) for profile in configuration.profiles],
        "extenders": [_extender(extender) for extender in configuration.extenders],
        "bayplan": configuration.own,
        "warnings": configuration.warnings,
    }


def _extender(extender: Extender) -> Extender:
    """Without the private key: what is printed ends up in tickets."""
    if extender.tls_config is None or not extender.tls_config.key_data:
        return extender
    tls = msgspec.structs.replace(extender.tls_config, key_data=b"(hidden)")
    return msgspec.structs.replace(extender, tls_config=tls)


def _profile(profile: ProfileConfig) -> dict[str, Any]:
    return {
        "schedulerName": profile.scheduler_name,
        "percentageOfNodesToScore": profile.percentage_of_nodes_to_score,
        "algorithm": profile.algorithm,
        "plugins": {
            point: [
                {"name": ref.name, "weight": ref.weight} if ref.weight else {"name": ref.name}
                for ref in refs
            ]
            for point, refs in profile.plugins.items()
        },
        "pluginConfig": [
            {"name": name, "args": args}
            for name, args in profile.args.items()
            if msgspec.structs.fields(args)
        ],
    }


def _as_json(value: Any) -> str:
    plain = msgspec.to_builtins(value, builtin_types=(timedelta,), enc_hook=repr)
    return json.dumps(plain, indent=2, ensure_ascii=False, default=format_duration)


def _print_table(configuration: Configuration) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    for profile in configuration.profiles:
        decider = f", decided by {profile.algorithm}" if profile.algorithm else ""
        percentage = profile.percentage_of_nodes_to_score or "adaptive"
        click.echo(
            f"profile {profile.scheduler_name}{decider} (percentageOfNodesToScore: {percentage})"
        )
        table = Table()
        for name in ("point", "order", "plugin", "weight"):
            table.add_column(name, justify="right" if name in {"order", "weight"} else "left")
        for point, refs in profile.plugins.items():
            for number, ref in enumerate(refs, start=1):
                weight = str(ref.weight) if ref.weight else ""
                first = point if number == 1 else ""
                table.add_row(first, str(number), escape(ref.name), weight)
            table.add_section()
        console.print(table)
    for extender in configuration.extenders:
        verbs = {
            "filter": extender.filter_verb,
            "prioritize": extender.prioritize_verb,
            "preempt": extender.preempt_verb,
            "bind": extender.bind_verb,
        }
        served = ", ".join(name for name, verb in verbs.items() if verb) or "nothing"
        click.echo(f"extender {extender.url_prefix}: {served}")
    for warning in configuration.warnings:
        click.echo(f"warning: {warning}")
