"""What a running process shows of itself, put together: checks, pages, listeners, and whom to ask who may see them.

Used by ``process``. Everything listens before the first list is read: ``/readyz`` says when scheduling can begin.
"""

from __future__ import annotations

import contextlib
import platform
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from bayplan.app.announcing import own_pod, reachable_address, url_of
from bayplan.client.announcement import Announcement
from bayplan.client.api import Api
from bayplan.client.config import load
from bayplan.errors import ConfigError, Problem
from bayplan.runtime.aside import Aside
from bayplan.serve.certificates import ServingCertificate, self_signed
from bayplan.serve.configz import kube_configuration
from bayplan.serve.debug.pages import DebugPages
from bayplan.serve.gatekeeper import Gatekeeper, find_client_authority
from bayplan.serve.health import PING, Check, Health
from bayplan.serve.pages import Pages
from bayplan.serve.pod_resources import pod_resources
from bayplan.serve.server import Server
from bayplan.serve.zpages import ZPages

if TYPE_CHECKING:
    import random

    from bayplan.app.assembly import Surroundings
    from bayplan.app.options import Serving
    from bayplan.client.informer import Informer
    from bayplan.client.leases import Elector
    from bayplan.framework.config import Configuration
    from bayplan.providers.poller import Poller
    from bayplan.runtime.permissions import Permissions, Right
    from bayplan.runtime.reloading.reloader import Reloader
    from bayplan.runtime.scheduler import Scheduler
    from bayplan.runtime.watchdog import Watchdog

#: What ``/statusz`` lists, as upstream without itself.
_PATHS: Final = ("/configz", "/debug", "/flagz", "/healthz", "/livez", "/metrics", "/readyz")
#: What kube-scheduler allows beyond the lease before it calls itself ill.
_LEASE_GRACE_S: Final = 20.0
#: The release of Kubernetes whose scheduler this one does as.
KUBERNETES_VERSION: Final = "v1.36.4"


class Shown(Protocol):
    """The parts of a process that are shown (``process.Process``)."""

    config: Configuration
    around: Surroundings
    scheduler: Scheduler
    informers: Sequence[Informer[Any]]
    elector: Elector | None
    permissions: Permissions
    reloader: Reloader
    pollers: Sequence[Poller]

    @property
    def synced(self) -> bool: ...
    @property
    def stopping(self) -> bool: ...


@contextlib.asynccontextmanager
async def serving(
    wanted: Serving, shown: Shown, watchdog: Watchdog, rng: random.Random
) -> AsyncIterator[Server]:
    """Serve for as long as the block runs.

    Raises:
        ConfigError: a certificate or a kubeconfig cannot be used.
        ListenError: a port is taken.
    """
    around = shown.around
    _name_build(around)

    def is_leader() -> bool:
        return shown.elector is None or shown.elector.is_leader

    pages = Pages(
        around.metrics,
        _health(shown, watchdog),
        configz=lambda: kube_configuration(shown.config),
        pod_resources=pod_resources(shown.scheduler.board.cluster, shown.scheduler.pods.pending),
        is_leader=is_leader,
        zpages=ZPages(
            around.clock,
            around.clock.now(),
            binary_version=version("bayplan"),
            python_version=platform.python_version(),
            emulation_version=KUBERNETES_VERSION.removeprefix("v").rpartition(".")[0],
            flags=wanted.flags,
            paths=_PATHS if wanted.statusz else None,
        ),
        debug=DebugPages(
            shown.scheduler,
            lambda: shown.config,
            Aside().ask,
            is_leader,
            lambda: shown.reloader.exchange.to_json(),
        ),
        readings=lambda: shown.reloader.to_json(),
    )
    server = Server(pages)
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(server.close)
        if wanted.http_port:
            await server.listen_plainly(wanted.http_bind_address, wanted.http_port)
        if wanted.secure_port:
            announced = await _listen_securely(server, wanted, shown, rng, stack)
            if shown.elector is not None:
                shown.elector.announce = announced
        yield server


async def _listen_securely(
    server: Server,
    wanted: Serving,
    shown: Shown,
    rng: random.Random,
    stack: contextlib.AsyncExitStack,
) -> Callable[[], Mapping[str, str]]:
    """Listen; what the lease is to say of it."""
    around = shown.around
    senders = []
    for kubeconfig in (wanted.authentication_kubeconfig, wanted.authorization_kubeconfig):
        if not kubeconfig:
            senders.append(around.api)
            continue
        api = Api.open(load(kubeconfig), around.clock, rng, observer=around.metrics)
        stack.push_async_callback(api.close)
        senders.append(api)
    authentication, authorization = senders
    authority = ""
    if wanted.client_ca_file:
        authority = _read_authority(wanted.client_ca_file)
    elif not wanted.authentication_skip_lookup:
        authority = await find_client_authority(authentication)
    if wanted.cert_file or wanted.key_file:
        files = (Path(wanted.cert_file), Path(wanted.key_file))
    else:
        directory = Path(wanted.cert_dir) if wanted.cert_dir else None
        files = stack.enter_context(self_signed(directory, wanted.bind_address, around.clock.now()))
    gatekeeper = Gatekeeper(
        authentication, authorization, around.clock, always_allow_paths=wanted.always_allow_paths
    )
    certificate = ServingCertificate(*files, client_authority=authority)
    port = await server.listen_securely(
        wanted.bind_address, wanted.secure_port, certificate.context, gatekeeper
    )
    address = url_of(reachable_address(wanted.bind_address), port)
    pod = own_pod()

    def announced() -> Mapping[str, str]:
        profiles = tuple(profile.scheduler_name for profile in shown.config.profiles)
        return Announcement(address, certificate.fingerprint, profiles, pod).annotations()

    return announced


def _read_authority(file: str) -> str:
    try:
        return Path(file).read_text(encoding="ascii")
    except (OSError, ValueError) as error:
        problem = Problem("", f"--client-ca-file {file}: {error}")
        raise ConfigError([problem]) from error


def _health(shown: Shown, watchdog: Watchdog) -> Health:
    elector = shown.elector
    turning = Check("event-loop", lambda: watchdog.stuck)
    lease = []
    if elector is not None:
        lease = [Check("leaderElection", lambda: _overdue(elector))]
    return Health(
        healthz=[*lease, turning],
        livez=[PING, turning],
        readyz=[
            *lease,
            Check("shutdown", lambda: "process is shutting down" if shown.stopping else None),
            Check("sched-handler-sync", lambda: _not_listed(shown)),
            # One for each right, since the names of checks are public and what fails is not.
            *(_allowed(shown.permissions, right) for right in shown.permissions.rights),
            # What a policy does without data its ``missing`` says; scheduling itself goes on.
            *(
                Check(f"data:{poller.name}", poller.trouble, counts=False)
                for poller in shown.pollers
            ),
        ],
    )


def _overdue(elector: Elector) -> str | None:
    if elector.overdue_s() <= _LEASE_GRACE_S:
        return None
    return f"failed election to renew leadership on lease: {elector.last_error}"


def _allowed(permissions: Permissions, right: Right) -> Check:
    def probe() -> str | None:
        return f"may not {right}" if permissions.lacks(right) else None

    return Check(f"rbac:{str(right).replace(' ', ':')}", probe)


def _not_listed(shown: Shown) -> str | None:
    """What is not known yet, and why: a verb that is missing in the role, for one."""
    if shown.synced:
        return None
    waits = [
        f"{each.name} ({each.last_error or 'not listed yet'})"
        for each in shown.informers
        if not each.synced
    ]
    return "; ".join(["handlers are not fully synchronized", *waits])


def _name_build(around: Surroundings) -> None:
    labels = (version("bayplan"), platform.python_version(), KUBERNETES_VERSION)
    around.metrics.build_info.pull = lambda: {labels: 1}
