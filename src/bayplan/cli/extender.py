"""``bayplan extender``: the plugins of a configuration behind the extender webhook of a kube-scheduler."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import click

from bayplan.cli.flags import Duration
from bayplan.errors import BayplanError
from bayplan.telemetry.log import setup

_FILE: Final = click.Path(path_type=Path)


@click.command("extender")
@click.option("--config", type=_FILE, help="A KubeSchedulerConfiguration that names the plugins.")
@click.option("--bind", "bind", default="127.0.0.1:8888", show_default=True, help="HOST:PORT.")
@click.option(
    "--tls-cert", default="", help="Serve TLS with this certificate; read again when it changes."
)
@click.option("--tls-key", default="", help="Its key.")
@click.option("--client-ca", default="", help="Answer only those whose certificate this signs.")
@click.option(
    "--kubeconfig", default="", help="Watch this cluster, so that plugins see pods, usage, volumes."
)
@click.option(
    "--plugin-dir",
    "plugin_dirs",
    multiple=True,
    type=_FILE,
    help="A directory whose *.py files hold plugins.",
)
@click.option(
    "--budget",
    type=Duration(),
    default="2s",
    show_default=True,
    help="The longest an answer may take.",
)
@click.option(
    "--on-failure",
    type=click.Choice(["closed", "open"]),
    default="closed",
    show_default=True,
    help="Where there is no answer: fail the pod, or let everything pass.",
)
@click.option(
    "--max-body-mib",
    type=click.IntRange(1),
    default=128,
    show_default=True,
    help="The largest request.",
)
@click.option(
    "--print-config",
    is_flag=True,
    help="Print what to paste into kube-scheduler's configuration, and exit.",
)
@click.option(
    "-v", "--v", "verbosity", type=click.IntRange(0), default=0, help="More log, the higher."
)
@click.option(
    "--logging-format", type=click.Choice(["text", "json"]), default="text", show_default=True
)
def extender(**given: Any) -> None:
    """Serve filters and scores written in Python to a kube-scheduler that is already there.

    Verbs: filter, prioritize, preempt, bind. --print-config prints the stanza that makes kube-scheduler call them.
    """
    setup(given["verbosity"], given["logging_format"], sys.stderr)
    try:
        sys.exit(_run(given))
    except BayplanError as error:
        click.echo(f"bayplan extender: {error}", err=True)
        sys.exit(1)


def _run(given: dict[str, Any]) -> int:
    from bayplan.app.extender import ExtenderOptions, configured, points, serve_extender, stanza
    from bayplan.serve.extender.server import Bounds

    host, colon, port = given["bind"].rpartition(":")
    if not colon or not port.isdecimal():
        raise click.BadParameter(
            f"{given['bind']}: write it as 127.0.0.1:8888", param_hint="--bind"
        )
    budget: timedelta = given["budget"]
    options = ExtenderOptions(
        config=given["config"],
        host=host.strip("[]"),
        port=int(port),
        cert_file=given["tls_cert"],
        key_file=given["tls_key"],
        client_ca_file=given["client_ca"],
        kubeconfig=given["kubeconfig"],
        plugin_dirs=given["plugin_dirs"],
        bounds=Bounds(
            budget.total_seconds(), given["max_body_mib"] << 20, given["on_failure"] == "open"
        ),
    )
    if given["print_config"]:
        import yaml

        config, _ = configured(options)
        for line in points(config):
            click.echo(f"# serves {line}")
        click.echo(yaml.safe_dump(stanza(options, config), sort_keys=False), nl=False)
        return 0
    return asyncio.run(serve_extender(options))
