"""``bayplan extender``: the plugins of a configuration behind the webhook of a scheduler that is already there.

The same parts as in ``process``, put together for another end: informers feed the columns, and instead of the loop the
extender's server asks the plugins. kube-scheduler runs Kubernetes' own plugins itself, before it asks us, and counts their
scores; so of a profile only the others are served, unless there are no others.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bayplan.app.assembly import Surroundings, assemble
from bayplan.app.options import Options, configure
from bayplan.app.process import informers_of
from bayplan.app.providing import pollers_of
from bayplan.client import resources
from bayplan.client.api import Api
from bayplan.client.config import load
from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.client.retry import IDEMPOTENT
from bayplan.clock import Clock, SystemClock
from bayplan.cycle import bind
from bayplan.cycle.reserve import Placement
from bayplan.errors import BayplanError, ConfigError, Problem, Unreachable
from bayplan.framework.state import CycleState
from bayplan.model.decode import decode_as
from bayplan.model.pod import Pod
from bayplan.plugins import default_plugins
from bayplan.runtime.watchdog import Watchdog
from bayplan.serve.certificates import ServingCertificate
from bayplan.serve.extender.answers import Answers
from bayplan.serve.extender.sent_nodes import SentNodes
from bayplan.serve.extender.server import Bounds, ExtenderServer
from bayplan.serve.health import PING, Check, Health
from bayplan.serve.pages import Pages
from bayplan.telemetry.log import get_logger
from bayplan.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from bayplan.client.api import Sender
    from bayplan.client.informer import Informer
    from bayplan.cycle.desk import Desk
    from bayplan.framework.config import Configuration
    from bayplan.framework.config.resolved import ProfileConfig
    from bayplan.framework.registry import Registry
    from bayplan.providers.poller import Poller
    from bayplan.runtime.scheduler import Scheduler
    from bayplan.serve.extender.wire import BindingArguments

_log: Final = get_logger(__name__)

#: Points of a profile that the webhook has verbs for.
_JUDGING: Final = ("preFilter", "filter", "preScore", "score")
#: And those that it has none for.
_NOT_SERVED: Final = ("preEnqueue", "postFilter", "reserve", "permit", "preBind", "postBind")
_KEPT: Final = ("queueSort", "bind")
#: A plugin that hangs is interrupted so long after the budget: the watchdog is not more exact.
_SLACK_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class ExtenderOptions:
    """The command line of ``bayplan extender``."""

    config: Path | None = None
    host: str = "127.0.0.1"
    port: int = 8888
    cert_file: str = ""
    key_file: str = ""
    client_ca_file: str = ""
    kubeconfig: str = ""
    plugin_dirs: Sequence[Path] = ()
    bounds: Bounds = field(default_factory=Bounds)


def configured(options: ExtenderOptions) -> tuple[Configuration, Registry]:
    """The configuration as far as an extender serves it.

    Raises:
        ConfigError: with everything that is wrong, or where nothing is left to serve.
    """
    config, registry = configure(Options(config=options.config, plugin_dirs=options.plugin_dirs))
    native = frozenset(p.name for p in default_plugins() if registry.get(p.name) is p)
    profiles = tuple(_served(profile, native) for profile in config.profiles)
    if not any(profile.plugins.get(point) for profile in profiles for point in _JUDGING):
        problem = Problem("profiles", "no plugin filters or scores: an extender has nothing to say")
        raise ConfigError([problem], config.source)
    return replace(config, profiles=profiles, extenders=()), registry


def _served(profile: ProfileConfig, native: frozenset[str]) -> ProfileConfig:
    """A profile without what the calling scheduler runs itself and what a webhook cannot serve."""
    own = [name for name in profile.order if name not in native]
    for point in _NOT_SERVED:
        for ref in profile.plugins.get(point, ()):
            if ref.name in own:
                _log.warning("An extender cannot serve this point", plugin=ref.name, point=point)
    left_out = native if own else frozenset[str]()
    plugins = {
        point: tuple(ref for ref in refs if point in _KEPT or ref.name not in left_out)
        for point, refs in profile.plugins.items()
        if point not in _NOT_SERVED
    }
    named = {ref.name for refs in plugins.values() for ref in refs}
    return replace(
        profile, plugins=plugins, order=tuple(name for name in profile.order if name in named)
    )


def find_kubeconfig(options: ExtenderOptions, config: Configuration) -> str | None:
    """The kubeconfig to use, empty for that of the pod we run in; None: there is none, requests are all there is."""
    found = options.kubeconfig or config.client_connection.kubeconfig
    return found or ("" if os.environ.get("KUBERNETES_SERVICE_HOST") else None)


def stanza(options: ExtenderOptions, config: Configuration) -> dict[str, Any]:
    """What to paste into the calling scheduler's configuration."""
    secure = bool(options.cert_file)
    points = {point for profile in config.profiles for point in _JUDGING if profile.plugins[point]}
    filters = bool(points & {"preFilter", "filter"})
    entry: dict[str, Any] = {
        "urlPrefix": f"{'https' if secure else 'http'}://{options.host}:{options.port}"
    }
    if filters:
        entry |= {"filterVerb": "filter", "preemptVerb": "preempt"}
    if "score" in points:
        entry |= {"prioritizeVerb": "prioritize", "weight": 1}
    if any(ref.name != "DefaultBinder" for p in config.profiles for ref in p.plugins["bind"]):
        entry["bindVerb"] = "bind"
    entry["enableHTTPS"] = secure
    if secure:
        tls = {"caFile": f"<what signed {options.cert_file}>"}
        if options.client_ca_file:
            tls |= {
                "certFile": f"<a certificate signed by {options.client_ca_file}>",
                "keyFile": "<its key>",
            }
        entry["tlsConfig"] = tls
    entry |= {
        "httpTimeout": "5s",
        "nodeCacheCapable": find_kubeconfig(options, config) is not None,
        "ignorable": options.bounds.fail_open,
    }
    return {"extenders": [entry]}


async def serve_extender(options: ExtenderOptions, clock: Clock | None = None) -> int:
    """Serve until told to stop; the exit status.

    Raises:
        BayplanError: it cannot start.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with extending(options, clock or SystemClock()):
        await stop.wait()
    return 0


@asynccontextmanager
async def extending(options: ExtenderOptions, clock: Clock) -> AsyncIterator[int]:
    """An extender that serves as long as the block runs; its port. Raises as ``serve_extender``."""
    config, registry = configured(options)
    rng = random.Random(secrets.randbits(64))
    metrics = Metrics()
    async with AsyncExitStack() as stack:
        kubeconfig = find_kubeconfig(options, config)
        api: Api | None = None
        if kubeconfig is not None:
            api = Api.open(load(kubeconfig), clock, rng, observer=metrics)
            stack.push_async_callback(api.close)
        else:
            _log.warning(
                "No kubeconfig: plugins see what requests hold, no pods and no usage; "
                "set nodeCacheCapable: false, so that they hold nodes"
            )
        around = Surroundings(
            api=api or _NoCluster(),
            clock=clock,
            metrics=metrics,
            hostname=socket.gethostname(),
            seed=rng.getrandbits(63),
        )
        scheduler = assemble(config, registry, around)
        informers = informers_of(scheduler, api, around, rng) if api is not None else []
        budget_s = options.bounds.budget_s + _SLACK_S
        watchdog = Watchdog(clock, budget_s=budget_s, on_interrupt=metrics.plugin_interrupted)
        stack.enter_context(watchdog)
        server = _server(scheduler, informers, watchdog, around, options.bounds)
        tasks = [asyncio.create_task(informer.run()) for informer in informers]
        # What plugins know from outside, ``node.usage`` above all.
        pollers = pollers_of(config, scheduler, around)
        tasks.append(asyncio.create_task(_provide(pollers, informers)))
        stack.push_async_callback(_end, tasks)
        stack.push_async_callback(server.close)
        tls, wants_certificate = _tls(options)
        yield await server.listen(
            options.host, options.port, tls, wants_certificate=wants_certificate
        )


def _server(
    scheduler: Scheduler,
    informers: Sequence[Informer[Any]],
    watchdog: Watchdog,
    around: Surroundings,
    bounds: Bounds,
) -> ExtenderServer:
    def not_listed() -> str | None:
        waits = [informer.name for informer in informers if not informer.synced]
        return f"not listed yet: {', '.join(waits)}" if waits else None

    turning = Check("event-loop", lambda: watchdog.stuck)
    checks = Health(
        healthz=[turning],
        livez=[PING, turning],
        readyz=[turning, Check("sched-handler-sync", not_listed)],
    )
    cluster = scheduler.board.cluster
    desks = {name: counter.desk for name, counter in scheduler.counters.items()}
    nodes = SentNodes(cluster, own_cache=bool(informers))
    answers = Answers(cluster, desks, nodes)
    binder = _Binder(around.api, scheduler, answers)
    server = ExtenderServer(
        answers, binder.bind, Pages(around.metrics, checks), around.clock, bounds
    )
    server.not_ready = not_listed
    return server


async def _provide(pollers: Sequence[Poller], informers: Sequence[Informer[Any]]) -> None:
    """Once all is listed what is measured has rows to go to, and the collector need not look at what is there again."""
    while not all(informer.synced for informer in informers):  # noqa: ASYNC110 - informers tell nobody
        await asyncio.sleep(0.05)
    if informers:
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 50, 100)
    async with asyncio.TaskGroup() as polling:
        for poller in pollers:
            polling.create_task(poller.run())


async def _end(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _tls(options: ExtenderOptions) -> tuple[Any, bool]:
    if not options.cert_file and not options.key_file:
        if options.client_ca_file:
            problem = Problem("", "--client-ca needs --tls-cert and --tls-key")
            raise ConfigError([problem])
        return None, False
    authority = ""
    if options.client_ca_file:
        try:
            authority = Path(options.client_ca_file).read_text(encoding="ascii")
        except (OSError, ValueError) as error:
            problem = Problem("", f"--client-ca {options.client_ca_file}: {error}")
            raise ConfigError([problem]) from error
    files = Path(options.cert_file), Path(options.key_file)
    return ServingCertificate(*files, client_authority=authority).context, bool(authority)


class _NoCluster:
    """Stands for the API server where there is none."""

    async def send(self, request: Request, lane: Lane, *, timeout_s: float | None = None) -> bytes:
        raise Unreachable(f"{request.method} {request.path}: --kubeconfig was not given")


class _Binder:
    """Binds with the Bind plugins of the pod's profile."""

    def __init__(self, api: Sender, scheduler: Scheduler, answers: Answers) -> None:
        self._api = api
        self._cluster = scheduler.board.cluster
        self._answers = answers

    async def bind(self, wanted: BindingArguments) -> str:
        """What is wrong; empty once the pod is bound."""
        try:
            return await self._bind(wanted)
        except BayplanError as error:
            return str(error)

    async def _bind(self, wanted: BindingArguments) -> str:
        path = resources.PODS.path(wanted.pod_name, wanted.pod_namespace)
        text = await self._api.send(Request("GET", path, retry=IDEMPOTENT), Lane.BIND)
        pod = self._cluster.info(decode_as(Pod, msgspec.json.decode(text)))
        if wanted.pod_uid and pod.uid != wanted.pod_uid:
            return f"pod {pod.key} is another one by now: its UID is {pod.uid}"
        desk: Desk = self._answers.desk_of(pod)
        placement = Placement(pod, wanted.node, desk.profile, CycleState())
        rejected = await bind.bind(placement)
        return "" if rejected is None else rejected.message


def points(config: Configuration) -> Iterator[str]:
    """What is served, a line for each profile."""
    for profile in config.profiles:
        served = ", ".join(
            f"{point}: {' '.join(ref.name for ref in profile.plugins[point])}"
            for point in _JUDGING
            if profile.plugins.get(point)
        )
        yield f"{profile.scheduler_name}: {served}"
