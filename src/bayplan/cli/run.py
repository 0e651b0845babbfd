"""``bayplan run``: schedule a live cluster.

Flags are named as kube-scheduler's; what they come to is in ``bayplan.app.options``.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import click

from bayplan.errors import BayplanError, ConfigError
from bayplan.framework.config.durations import parse_duration
from bayplan.telemetry.log import setup


class _Duration(click.ParamType[timedelta]):
    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        try:
            return parse_duration(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class _Level(click.ParamType[int]):
    """``-v 5``, ``-v=5`` and ``--v=5`` alike."""

    name = "level"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).removeprefix("=")
        if not text.isdecimal():
            self.fail(f"{text!r} is not a number", param, ctx)
        return int(text)


_FILE = click.Path(path_type=Path)


@click.command("run")
@click.option("--config", type=_FILE, help="A KubeSchedulerConfiguration.")
@click.option("--kubeconfig", default="", help="How to reach the cluster; goes before the file's.")
@click.option("--master", default="", help="The API server's URL, in place of the kubeconfig's.")
@click.option("--context", "context_name", default="", help="The kubeconfig's context.")
@click.option("--scheduler-name", default="", help="Run this profile, or call the only one so.")
@click.option("--leader-elect", "elect", type=bool, is_flag=False, flag_value=True, default=None)
@click.option("--leader-elect-lease-duration", "duration", type=_Duration())
@click.option("--leader-elect-renew-deadline", "renew_deadline", type=_Duration())
@click.option("--leader-elect-retry-period", "retry_period", type=_Duration())
@click.option("--leader-elect-resource-name", "lease_name")
@click.option("--leader-elect-resource-namespace", "lease_namespace")
@click.option("--dry-run", is_flag=True, help="Decide and say so, but write nothing.")
@click.option(
    "--take-over",
    is_flag=True,
    help="Serve default-scheduler though a kube-scheduler seems to run.",
)
@click.option("--plugin-dir", "plugin_dirs", multiple=True, type=_FILE)
@click.option("--kube-api-qps", "qps", type=float, help="Requests per second; 0: no limit.")
@click.option("--kube-api-burst", "burst", type=int)
@click.option("--bind-address", default="0.0.0.0", show_default=True)
@click.option("--secure-port", type=int, default=10259, show_default=True)
@click.option("--http-port", type=int, default=0, help="Health and metrics over plain HTTP.")
@click.option("--tls-cert-file", "cert_file", default="")
@click.option("--tls-private-key-file", "key_file", default="")
@click.option("--cert-dir", default="")
@click.option("--authentication-kubeconfig", default="")
@click.option("--authorization-kubeconfig", default="")
@click.option("-v", "--v", "verbosity", type=_Level(), default=0, help="More log, the higher.")
@click.option("--logging-format", type=click.Choice(["text", "json"]), default="text")
def run(verbosity: int, logging_format: Literal["text", "json"], **given: Any) -> None:
    """Schedule the pods of a cluster, until told to stop.

    Runs beside a kube-scheduler under a name of its own (--scheduler-name), or in its place. The exit status is 0
    after SIGTERM and 1 when the lease was lost.
    """
    from bayplan.app import serve_scheduler

    setup(verbosity, logging_format, sys.stderr)
    try:
        status = asyncio.run(serve_scheduler(_options(given)))
    except ConfigError as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    except BayplanError as error:
        click.echo(f"bayplan run: {error}", err=True)
        sys.exit(1)
    sys.exit(status)


def _options(given: dict[str, Any]) -> Any:
    from bayplan.app import Lease, Options, Serving

    return Options(
        config=given["config"],
        kubeconfig=given["kubeconfig"],
        master=given["master"],
        context=given["context_name"],
        scheduler_name=given["scheduler_name"],
        lease=Lease(
            given["elect"],
            given["duration"],
            given["renew_deadline"],
            given["retry_period"],
            given["lease_name"],
            given["lease_namespace"],
        ),
        serving=Serving(
            bind_address=given["bind_address"],
            secure_port=given["secure_port"],
            http_port=given["http_port"],
            cert_file=given["cert_file"],
            key_file=given["key_file"],
            cert_dir=given["cert_dir"],
            authentication_kubeconfig=given["authentication_kubeconfig"],
            authorization_kubeconfig=given["authorization_kubeconfig"],
        ),
        plugin_dirs=given["plugin_dirs"],
        dry_run=given["dry_run"],
        take_over=given["take_over"],
        qps=given["qps"],
        burst=given["burst"],
    )
