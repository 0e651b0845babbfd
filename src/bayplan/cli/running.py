"""The running scheduler that a command is about: the options that say which, and the way to it.

::

    --server URL ──────────────────────────────────────────────▶ its pages
    the kubeconfig's cluster ─▶ leases ─▶ who leads, and where ─▶ its pages
                                             └── not reachable from here ─▶ kubectl port-forward to its pod ─▶ its pages

Not the API server's proxy: that sends no credentials on, and a scheduler tells nothing to whom it does not know (decision 0031).
Used by ``explain``, ``queue``, ``top`` and ``kubectl_bayplan``.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

import click

from bayplan.clock import SystemClock
from bayplan.errors import Unreachable

if TYPE_CHECKING:
    from bayplan.client.access import ClusterAccess
    from bayplan.client.api import Api
    from bayplan.client.scheduler_finding import Found
    from bayplan.client.scheduler_pages import Place, SchedulerPages

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: Final = (
    click.option(
        "--server",
        default="",
        metavar="URL",
        help="The scheduler's own address, https://HOST:10259; else it is found by its lease.",
    ),
    click.option(
        "--scheduler", "scheduler_name", default="", help="Of several: who serves this name."
    ),
    click.option(
        "--lease-namespace", default="kube-system", show_default=True, help="Where its lease is."
    ),
    click.option("--kubeconfig", default="", metavar="FILE", help="How to reach the cluster."),
    click.option("--context", default="", metavar="NAME", help="The kubeconfig's context."),
    click.option(
        "--certificate-authority",
        "authority",
        type=click.Path(path_type=Path),
        default=None,
        metavar="FILE",
        help="Vouches for --server's certificate; else the cluster's.",
    ),
    click.option(
        "--insecure-skip-tls-verify",
        "insecure",
        is_flag=True,
        help="Believe whoever answers at --server, credentials included.",
    ),
)


def running_options(command: F) -> F:
    """The options, on a click command that takes ``**given``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Which:
    """What the options come to."""

    server: str = ""
    scheduler_name: str = ""
    lease_namespace: str = "kube-system"
    kubeconfig: str = ""
    context: str = ""
    authority: Path | None = None
    insecure: bool = False

    @classmethod
    def of(cls, given: dict[str, Any]) -> Which:
        """Of a command's keywords; what is another's stays there."""
        return cls(**{name: given.pop(name) for name in cls.__dataclass_fields__})

    def kubectl_flags(self) -> list[str]:
        """The same cluster, as kubectl is told of it."""
        flags = [("--kubeconfig", self.kubeconfig), ("--context", self.context)]
        return [f"{name}={value}" for name, value in flags if value]


@asynccontextmanager
async def scheduler_pages(which: Which, pod: str = "") -> AsyncIterator[SchedulerPages]:
    """The way to the scheduler; with ``pod`` (``namespace/name``) to the one that the pod asks for.

    Raises:
        BayplanError: it cannot be found, or not be reached.
    """
    from bayplan.client.config import load
    from bayplan.client.scheduler_pages import SchedulerPages

    access = load(which.kubeconfig or None, which.context)
    async with AsyncExitStack() as stack:
        if which.server:
            place = _named(which)
        else:
            found = await _find(access, which, pod)
            place = await _reachable(found, which, stack)
        yield await stack.enter_async_context(SchedulerPages(access, place, SystemClock()))


def home_namespace(which: Which) -> str:
    """The namespace of the context, as kubectl takes it where none is said."""
    from bayplan.client.config import load

    return load(which.kubeconfig or None, which.context).namespace


def _named(which: Which) -> Place:
    from bayplan.client.scheduler_pages import Place
    from bayplan.client.trust import Pem

    parts = urlsplit(which.server)
    if parts.scheme != "https" or not parts.hostname:
        raise click.ClickException(f"--server {which.server}: write it as https://HOST:10259")
    authority = None
    if which.authority is not None:
        authority = Pem(which.authority, entry="--certificate-authority")
    return Place(which.server.rstrip("/"), authority=authority, insecure=which.insecure)


async def _find(access: ClusterAccess, which: Which, pod: str) -> Found:
    from bayplan.client.api import Api
    from bayplan.client.scheduler_finding import choose, find_schedulers, scheduler_of

    clock = SystemClock()
    api: Api = Api.open(access, clock, random.Random(secrets.randbits(64)))
    try:
        name = which.scheduler_name
        if not name and pod:
            namespace, _, bare = pod.partition("/")
            name = await scheduler_of(api, namespace, bare)
        found = await find_schedulers(api, which.lease_namespace, clock.now())
        return choose(found, name, which.lease_namespace)
    finally:
        await api.close()


async def _reachable(found: Found, which: Which, stack: AsyncExitStack) -> Place:
    """Its own address where that answers, else a port forwarded to it."""
    from bayplan.client.port_forward import forwarded
    from bayplan.client.scheduler_pages import Place, can_connect

    place = Place(found.said.address, fingerprint=found.said.fingerprint)
    if not found.said.pod or await can_connect(place):
        return place
    port = urlsplit(place.url).port or 10259
    try:
        local = await stack.enter_async_context(
            forwarded(found.said.pod, port, which.kubectl_flags())
        )
    except Unreachable as error:
        raise Unreachable(
            f"{place.url} (lease {found.lease}) cannot be reached from here, and {error.message}",
            sent=False,
        ) from error
    # It is known by its fingerprint, wherever the port is.
    return replace(place, url=f"https://127.0.0.1:{local}")
