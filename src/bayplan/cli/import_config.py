"""``bayplan import FILE``: another scheduler's configuration as ours, with a table of what changes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bayplan.errors import BayplanError

if TYPE_CHECKING:
    from bayplan.kit.importing.result import Imported


@click.command("import", short_help="Turn another scheduler's configuration into ours.")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the configuration here. Without: to standard output, and the table to standard error.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if anything has no counterpart.")
@click.option(
    "--plugin-dir",
    "plugin_dirs",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A directory whose *.py files hold plugins. May be given several times.",
)
def import_config(
    *, file: Path, output: Path | None, strict: bool, plugin_dirs: tuple[Path, ...]
) -> None:
    """Turn FILE into a configuration of ours, and say what stays, what changes and what has no counterpart.

    FILE is a KubeSchedulerConfiguration of kube-scheduler or of scheduler-plugins, a volcano-scheduler.conf, or a ConfigMap
    that holds one of them; "-" reads standard input.
    """
    from bayplan.kit.importing.result import import_config as turn_over
    from bayplan.plugins import default_registry

    try:
        registry = default_registry()
        registry.add_entry_points()
        for directory in plugin_dirs:
            registry.add_directory(directory)
        text = sys.stdin.read() if str(file) == "-" else _read(file)
        imported = turn_over(text, registry, str(file))
    except BayplanError as error:
        raise click.ClickException(str(error)) from error
    _print(imported)
    if output is None:
        click.echo(imported.text, nl=False)
    else:
        try:
            output.write_text(imported.text, encoding="utf-8")
        except OSError as error:
            raise click.ClickException(f"{output}: {error.strerror or error}") from error
        click.echo(f"written: {output} (look at it with: bayplan check-config {output})", err=True)
    sys.exit(1 if strict and not imported.is_whole else 0)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or str(error)
        raise click.ClickException(f"{file}: {what}") from error


def _print(imported: Imported) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(stderr=True, width=None if sys.stderr.isatty() else 160)
    table = Table(title=f"{imported.source}'s configuration as ours", title_justify="left")
    for name in ("", "theirs", "ours", "remark"):
        table.add_column(name)
    for row in imported.rows:
        table.add_row(row.verdict.value, *map(escape, (row.theirs, row.ours, row.remark)))
    console.print(table)
