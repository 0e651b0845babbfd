"""The pages that are served beside health: metrics, the configuration, the log's verbosity.

Read from ``telemetry`` and from functions that ``app`` passes in; used by ``serve.server``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from bayplan.serve.health import Health
from bayplan.telemetry import log
from bayplan.telemetry.exposition import (
    ListPodResources,
    render,
    render_pod_resources,
    render_process,
)

if TYPE_CHECKING:
    from bayplan.serve.debug.pages import DebugPages
    from bayplan.serve.zpages import ZPages
    from bayplan.telemetry.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Pages:
    """What there is to see."""

    metrics: Metrics
    health: Health = field(default_factory=Health)
    #: The configuration as ``/configz`` shows it: a KubeSchedulerConfiguration.
    configz: Callable[[], dict[str, Any]] | None = None
    #: Which reading of the configuration that is, and what came of the others; None: nothing is said of it.
    readings: Callable[[], dict[str, Any]] | None = None
    #: What pods ask for, while this instance leads; None: ``/metrics/resources`` is not served.
    pod_resources: ListPodResources | None = None
    is_leader: Callable[[], bool] = lambda: True
    #: What is told of decisions and of the queue; None: nothing.
    debug: DebugPages | None = None
    #: ``/flagz`` and ``/statusz``; None: neither.
    zpages: ZPages | None = None

    def metrics_text(self) -> Iterator[bytes]:
        """``/metrics``, piece by piece."""
        yield from render(self.metrics.instruments)
        yield render_process()

    def resources_text(self) -> Iterator[bytes]:
        """``/metrics/resources``, piece by piece; nothing on an instance that stands by."""
        if self.pod_resources is not None and self.is_leader():
            yield from render_pod_resources(self.pod_resources)

    def configz_text(self) -> bytes:
        """``/configz``."""
        shown = self.configz() if self.configz is not None else {}
        page = {"componentconfig": shown}
        if self.readings is not None:
            page["bayplan"] = self.readings()
        return msgspec.json.encode(page)


def set_verbosity(text: str) -> tuple[int, str]:
    """``PUT /debug/flags/v``: status and text, as Kubernetes words them."""
    wanted = text.strip()
    # Digits alone: int() also takes signs, underscores and other scripts' digits.
    if not (wanted.isascii() and wanted.isdecimal() and len(wanted) < 4):
        return 400, f"failed to set klog.logging.verbosity {wanted[:40]!r}: not a small number"
    log.set_verbosity(int(wanted))
    return 200, f"successfully set klog.logging.verbosity to {wanted}"
