"""``providers`` of the BayplanConfiguration: where outside data about nodes come from.

Read by ``app``, which builds the ``bayplan.providers`` that these describe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Final

from bayplan.framework.config.fields import invalid, required
from bayplan.framework.config.section import Section

METRICS_SERVER: Final = "metricsServer"
NUMA_TOPOLOGY: Final = "numaTopology"
PROMETHEUS: Final = "prometheus"
NODE_LABELS: Final = "nodeLabels"
STATIC: Final = "static"
CSV: Final = "csv"

#: By type: the one field that a provider of it cannot do without.
_NEEDS: Final = {
    METRICS_SERVER: "",
    NUMA_TOPOLOGY: "",
    PROMETHEUS: "queries",
    NODE_LABELS: "keys",
    STATIC: "values",
    CSV: "file",
}


class Provider(Section, frozen=True, kw_only=True):
    """One source of data about nodes."""

    name: str = ""
    type: str = ""
    #: How often it is asked.
    interval: timedelta = timedelta(seconds=30)
    #: A value that has not been seen for so long counts as missing.
    max_age: timedelta = timedelta(minutes=5)
    #: prometheus: where it answers, ``/api/v1/query`` left out.
    url: str = ""
    #: prometheus: metric, and the PromQL that gives one sample per node.
    queries: Mapping[str, str] = {}
    #: prometheus: the sample's label that names the node.
    node_label: str = "node"
    #: nodeLabels: metric, and the label or annotation of the node that holds the number.
    keys: Mapping[str, str] = {}
    #: static: node, metric and number; the node ``*`` stands for all that are not named.
    values: Mapping[str, Mapping[str, float]] = {}
    #: csv: a table whose first column is ``node`` and whose others are metrics; read anew at each interval.
    file: str = ""

    def check(self) -> Iterator[tuple[str, str]]:
        if not self.name:
            yield "name", required()
        if self.type not in _NEEDS:
            yield "type", invalid(self.type, f"use one of {', '.join(_NEEDS)}")
            return
        needed = _NEEDS[self.type]
        if needed and not getattr(self, needed):
            yield needed, required()
        if self.type == PROMETHEUS and not self.url.startswith(("http://", "https://")):
            yield "url", invalid(self.url, "must begin with http:// or https://")
        if self.interval < timedelta(seconds=1):
            yield "interval", invalid(str(self.interval), "must be at least 1s")
        if self.max_age < self.interval:
            yield "maxAge", invalid(str(self.max_age), "must not be shorter than the interval")
