"""Asks a source now and then, and keeps the columns true: new values in, old ones out.

A value that the source has not repeated for ``max_age`` (or for less, where a plugin is content with less) is taken
back, so that what is old counts as missing and never as measured. A source that fails is asked again; what it said
before stands until it is too old.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.clock import Clock
    from bayplan.cluster.cluster import Cluster
    from bayplan.providers.source import Readings, Source

_log: Final = get_logger(__name__)

#: For how many seconds a metric's values are good at most; None: no plugin has said.
Keeps = Callable[[str], float | None]


class Times:
    """How often a source is asked, and how long its values are good; seconds."""

    def __init__(self, interval: float, max_age: float, keeps: Keeps = lambda _: None) -> None:
        self.interval = interval
        self._max_age = max_age
        self._keeps = keeps

    def good_for(self, metric: str) -> float:
        """For how long a value of this metric is good."""
        kept = self._keeps(metric)
        return self._max_age if kept is None else min(kept, self._max_age)


class Poller:
    """One source and its values."""

    def __init__(
        self,
        name: str,
        source: Source,
        times: Times,
        cluster: Cluster,
        clock: Clock,
        on_refresh: Callable[[], None],
    ) -> None:
        self.name = name
        self.last_error = ""
        self._source = source
        self._times = times
        self._cluster = cluster
        self._clock = clock
        #: Told when a value has changed or was taken back: rejected pods may fit now.
        self._on_refresh = on_refresh
        #: When each value was last said, by metric and node; monotonic seconds.
        self._said: dict[tuple[str, str], float] = {}
        #: When any value of a metric was last said; that stays when the values are taken back.
        self._heard: dict[str, float] = {}

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            await self.poll()
            await asyncio.sleep(self._times.interval)

    async def poll(self) -> None:
        """Ask once."""
        changed = False
        try:
            readings = await self._source.read()
        except Exception as error:  # noqa: BLE001 - whatever a source does, it costs its own values alone
            self._failed(f"{type(error).__name__}: {error}")
        else:
            if self.last_error:
                _log.info("Provider answers again", provider=self.name)
            self.last_error = ""
            changed = self._take(readings)
        if self._expire() or changed:
            self._on_refresh()

    def _failed(self, error: str) -> None:
        if error != self.last_error:
            _log.warning("Provider cannot be read", provider=self.name, error=error)
        self.last_error = error

    def _take(self, readings: Readings) -> bool:
        """Write what was said; whether any of it is news."""
        now, changed = self._clock.monotonic(), False
        for metric, by_node in readings.items():
            for node, value in by_node.items():
                if math.isfinite(value):
                    changed |= self._cluster.set_data(node, metric, value)
                    self._said[metric, node] = self._heard[metric] = now
        return changed

    def _expire(self) -> bool:
        """Take back what is too old; whether there was any."""
        now = self._clock.monotonic()
        old = [
            (metric, node)
            for (metric, node), said in self._said.items()
            if now - said > self._times.good_for(metric)
        ]
        for metric, node in old:
            del self._said[metric, node]
            self._cluster.set_data(node, metric, math.nan)
        if old:
            metrics = ", ".join(sorted({metric for metric, _ in old}))
            _log.warning(
                "Values are too old and count as missing",
                provider=self.name,
                metrics=metrics,
                values=len(old),
            )
        return bool(old)

    def ages(self) -> dict[str, float]:
        """Seconds since a value of each metric was last said."""
        now = self._clock.monotonic()
        return {metric: now - heard for metric, heard in self._heard.items()}

    def trouble(self) -> str | None:
        """Why its values are missing or soon will be; None while it answers."""
        old = sorted(m for m, age in self.ages().items() if age > self._times.good_for(m))
        parts = [self.last_error] if self.last_error else []
        if old:
            parts.append(f"too old and counted as missing: {', '.join(old)}")
        return "; ".join(parts) or None


def ages_of(pollers: Iterable[Poller]) -> dict[tuple[str, ...], float]:
    """The age of each column, by its newest value, whoever said it; as a gauge pulls it."""
    ages: dict[tuple[str, ...], float] = {}
    for poller in pollers:
        for metric, age in poller.ages().items():
            ages[metric,] = min(ages.get((metric,), math.inf), age)
    return ages
