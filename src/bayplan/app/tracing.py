"""Tracing as Kubernetes' components are told of it: a TracingConfiguration, and an exporter that it names.

The file is kube-apiserver's (``--tracing-config-file``; kube-scheduler has no tracing of its own)::

    apiVersion: apiserver.config.k8s.io/v1beta1
    kind: TracingConfiguration
    endpoint: otel-collector.monitoring:4318
    samplingRatePerMillion: 10000

The endpoint takes OTLP over HTTP. Used by ``process``; the SDK is the extra ``bayplan[otel]``, imported only where a file is given.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from bayplan.errors import ConfigError, Problem
from bayplan.framework.config.document import read_documents
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.client.api import Sender
    from bayplan.clock import Clock
    from bayplan.runtime.chronicle import Chronicle

_log: Final = get_logger(__name__)

KIND: Final = "TracingConfiguration"
VERSIONS: Final = tuple(f"apiserver.config.k8s.io/{each}" for each in ("v1", "v1beta1", "v1alpha1"))
_MILLION: Final = 1_000_000
_GRPC_PORT: Final = 4317
_SEND_S: Final = 5.0


class Tracing(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The file."""

    api_version: str = ""
    kind: str = ""
    #: ``host:port`` or a URL.
    endpoint: str = "localhost:4318"
    #: Of a million attempts, and of a million calls outside attempts, so many are traced.
    sampling_rate_per_million: int = 0

    @property
    def url(self) -> str:
        """Where spans are sent."""
        url = self.endpoint if "://" in self.endpoint else f"http://{self.endpoint}"
        return url if urlsplit(url).path.strip("/") else f"{url.rstrip('/')}/v1/traces"


def read_tracing(path: Path) -> Tracing:
    """The configuration in a file.

    Raises:
        ConfigError: with what is wrong.
    """
    source = f"--tracing-config-file {path}"
    try:
        documents, problems = read_documents(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError([Problem("", str(error))], source) from error
    if problems or len(documents) != 1:
        raise ConfigError(problems or [Problem("", f"it has to hold one {KIND}")], source)
    try:
        found = msgspec.convert(documents[0].value, Tracing)
    except msgspec.ValidationError as error:
        raise ConfigError([Problem("", str(error))], source) from error
    problems = list(_problems(found))
    if problems:
        raise ConfigError(problems, source)
    return found


def _problems(found: Tracing) -> Iterator[Problem]:
    if found.kind != KIND or found.api_version not in VERSIONS:
        said = f'no kind "{found.kind}" is registered for version "{found.api_version}"'
        yield Problem("kind", f"{said}; use {KIND} of {VERSIONS[1]}")
    if not 0 <= found.sampling_rate_per_million <= _MILLION:
        rate = found.sampling_rate_per_million
        yield Problem("samplingRatePerMillion", f"{rate} is not between 0 and {_MILLION}")
    parts = urlsplit(found.url)
    try:
        usable = parts.scheme in ("http", "https") and bool(parts.hostname and parts.port != 0)
    except ValueError:
        usable = False
    if not usable:
        yield Problem(
            "endpoint", f"{found.endpoint!r} is neither host:port nor an http or https URL"
        )


class Tracer:
    """A tracer at work: what it is put around, and how it ends."""

    def __init__(self, provider: Any, clock: Clock) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("bayplan", version("bayplan"))
        self._clock = clock

    def around(self, api: Sender) -> Sender:
        """The same, with a span for each request."""
        from bayplan.runtime.tracing import TracedSender

        return TracedSender(api, self._tracer)

    def observe(self, chronicle: Chronicle) -> None:
        """Make a span of each attempt."""
        from bayplan.runtime.tracing import AttemptSpans

        chronicle.observers.append(AttemptSpans(self._tracer, self._clock))

    async def close(self) -> None:
        """Send the rest; a collector that does not answer is not waited for long."""
        await asyncio.get_running_loop().run_in_executor(None, self._provider.shutdown)


def open_tracer(path: Path | None, clock: Clock) -> Tracer | None:
    """A tracer; None: no file, no tracing.

    Raises:
        ConfigError: the file is wrong, or the extra is not installed.
    """
    if path is None:
        return None
    wanted = read_tracing(path)
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        said = f"tracing needs the extra: pip install bayplan[otel] ({error})"
        raise ConfigError([Problem("", said)], f"--tracing-config-file {path}") from error
    if urlsplit(wanted.url).port == _GRPC_PORT:
        _log.warning(
            "Port 4317 is usually OTLP's over gRPC; spans are sent over HTTP, whose port is usually 4318",
            endpoint=wanted.endpoint,
        )
    provider = provider_of(wanted)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(wanted.url, timeout=_SEND_S)))
    _log.info("Tracing", endpoint=wanted.url, perMillion=wanted.sampling_rate_per_million)
    return Tracer(provider, clock)


def provider_of(wanted: Tracing) -> Any:
    """A provider of tracers that samples as the file says, and sends to nobody yet."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

    named = {"service.name": "bayplan", "service.version": version("bayplan")}
    return TracerProvider(
        resource=Resource.create(named),
        sampler=ParentBased(TraceIdRatioBased(wanted.sampling_rate_per_million / _MILLION)),
        shutdown_on_exit=False,
    )
