"""``kubectl bayplan``: the questions to a running scheduler as a kubectl plugin (console script ``kubectl-bayplan``).

kubectl finds it on the PATH by its name. The flags are kubectl's: -n, --context, --kubeconfig.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from bayplan.cli.queue import queue
from bayplan.cli.running import Which, home_namespace, running_options
from bayplan.cli.story import tell
from bayplan.cli.top import top
from bayplan.errors import BayplanError

#: As kubectl takes them before a name.
_KINDS: Final = ("pod", "pods", "po")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="bayplan")
def main() -> None:
    """Ask the running bayplan scheduler why."""


@click.command(short_help="Say why a pod is where it is, or waits.")
@click.argument("pod", metavar="[pod/]NAME")
@click.option("-n", "--namespace", default="", help="The pod's namespace; else the context's.")
@click.option("--node", default="", help="Why not there, and what would help?")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "wide", "json"]),
    default="table",
    show_default=True,
)
@running_options
def why(*, pod: str, namespace: str, node: str, output: str, **given: Any) -> None:
    """Say why a pod is where it is, or why it waits, what was tried, and what would make it fit."""
    which = Which.of(given)
    try:
        key = key_of(pod, namespace, lambda: home_namespace(which))
    except BayplanError as error:
        raise click.ClickException(str(error)) from error
    tell(which, key, node, output)


def key_of(pod: str, namespace: str, home: Callable[[], str]) -> str:
    """``namespace/name`` of a pod as kubectl users write it; ``home``: the namespace of the context, if that is needed."""
    kind, _, name = pod.partition("/")
    if name and kind in _KINDS:
        pod = name
    return pod if "/" in pod else f"{namespace or home()}/{pod}"


main.add_command(why)
main.add_command(queue)
main.add_command(top)
