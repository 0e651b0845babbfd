"""``bayplan cluster``: a Kubernetes API with simulated nodes, to try things on.

Nothing schedules in it: that is left to ``bayplan run``, to a stock kube-scheduler, or to whatever is being tried. It
listens on loopback only and ends with SIGINT or SIGTERM.
"""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Final

import click
import yaml

from bayplan.embedded.cluster import ClusterOptions, EmbeddedCluster
from bayplan.embedded.nodes import shape as shapes
from bayplan.embedded.server import EmbeddedOptions
from bayplan.errors import BayplanError, ConfigError

_DEFAULT_NODES: Final = 3


@click.command("cluster")
@click.option(
    "--nodes", type=click.IntRange(min=0), help=f"So many like nodes. [default: {_DEFAULT_NODES}]"
)
@click.option(
    "--shape",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A YAML file that says which nodes there are: capacities, zones, labels, taints.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Where to listen. 0: any free port."
)
@click.option(
    "--kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a kubeconfig here, once everything is ready; gone when the cluster ends.",
)
@click.option(
    "--state",
    type=click.Path(path_type=Path),
    help="A folder to keep the objects in, for the next time.",
)
@click.option("--token", default="", help="Only who presents this token may do anything.")
@click.option("--tls", is_flag=True, help="HTTPS, with a certificate of its own.")
def cluster(  # noqa: PLR0913 - one per flag
    *,
    nodes: int | None,
    shape: Path | None,
    port: int,
    kubeconfig: Path | None,
    state: Path | None,
    token: str,
    tls: bool,
) -> None:
    """Serve a Kubernetes API with simulated nodes, for kubectl, schedulers and tests.

    A node that a client creates gets an agent too. Pods that are bound to a node run; the annotation
    bayplan.io/runs-for: 5s lets one complete.
    """
    if nodes is not None and shape is not None:
        raise click.UsageError(
            "--nodes and --shape both say which nodes there are: give one of them"
        )
    try:
        options = ClusterOptions(
            shape=shapes.read(shape)
            if shape
            else shapes.of_count(_DEFAULT_NODES if nodes is None else nodes),
            api=EmbeddedOptions(port=port, token=token, tls=tls, state=state),
        )
        if kubeconfig is not None:
            clear_place(kubeconfig)
        try:
            asyncio.run(_serve(options, kubeconfig))
        finally:
            if kubeconfig is not None:
                kubeconfig.unlink(missing_ok=True)
    except ConfigError as error:
        raise click.ClickException(str(error)) from error
    except (BayplanError, OSError) as error:
        raise click.ClickException(f"the cluster cannot be started: {error}") from error


async def _serve(options: ClusterOptions, kubeconfig: Path | None) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, stop.set)
    async with EmbeddedCluster(options) as running:
        where = f"--server {running.api.url}"
        if kubeconfig is not None:
            running.api.write_kubeconfig(kubeconfig)
            where = f"--kubeconfig {kubeconfig}"
        count = len(running.store.list("nodes"))
        click.echo(f"{count} nodes at {running.api.url}; try: kubectl {where} get nodes")
        await stop.wait()


def clear_place(path: Path) -> None:
    """Make room for a kubeconfig: whoever waits for the file must not find last time's.

    Raises:
        UsageError: there is a file, and it is not one of ours.
    """
    if not path.exists():
        return
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        found = None
    if not isinstance(found, dict) or found.get("current-context") != "bayplan":
        raise click.UsageError(
            f"--kubeconfig {path}: there is a file that bayplan has not written; name another one"
        )
    path.unlink()
