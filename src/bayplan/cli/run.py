"""``bayplan run``: schedule a live cluster. The flags are in ``cli.flags``."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any, Final

import click

from bayplan.cli.flags import options_of, remarks, scheduler_flags
from bayplan.errors import BayplanError, ConfigError
from bayplan.telemetry.log import get_logger, setup

_log: Final = get_logger(__name__)


@click.command("run")
@scheduler_flags
def run(**given: Any) -> None:
    """Schedule the pods of a cluster, until told to stop.

    Runs beside a kube-scheduler under a name of its own (--scheduler-name), or in its place. The exit status is 0
    after SIGTERM and 1 when the lease was lost.
    """
    setup(given["verbosity"], given["logging_format"], sys.stderr)
    for remark in remarks(given):
        _log.warning("Flag", remark=remark)
    try:
        status = _run(given)
    except ConfigError as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    except BayplanError as error:
        click.echo(f"bayplan run: {error}", err=True)
        sys.exit(1)
    sys.exit(status)


def _run(given: dict[str, Any]) -> int:
    from bayplan.app import serve_scheduler

    options = options_of(given)
    if given["write_config_to"] is not None:
        return _write_config(options, given["write_config_to"])
    return asyncio.run(serve_scheduler(options))


def _write_config(options: Any, path: Path) -> int:
    """What the file and the flags come to, as a file that gives the same again."""
    import yaml

    from bayplan.app.options import configure
    from bayplan.serve.configz import kube_configuration

    config, _ = configure(options)
    text = yaml.safe_dump(kube_configuration(config), sort_keys=False)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        click.echo(f"--write-config-to {path}: {error.strerror}", err=True)
        return 1
    _log.info("Wrote configuration", file=str(path))
    return 0
