"""The page on metrics, from the catalog."""

from __future__ import annotations

from typing import Final

from bayplan.telemetry import catalog
from bayplan.telemetry.instruments import Spec

_HEAD: Final = """# Metrics reference

*Made from the code by `make docs`; do not edit.*

`scheduler_*`, `rest_client_*` and `leader_election_*` are kube-scheduler's, with its labels and buckets, so that dashboards and alerts go on working;
`bayplan_*` are ours.

| metric | type | labels | stability | |
|---|---|---|---|---|
"""


def metrics_page() -> str:
    """The page."""
    specs = sorted(
        {spec.name: spec for spec in vars(catalog).values() if isinstance(spec, Spec)}.values(),
        key=lambda spec: spec.name,
    )
    rows = [
        f"| `{spec.name}` | {spec.kind} | {', '.join(spec.labels)} | {(spec.level or 'ours').lower()} | {spec.help} |"
        for spec in specs
    ]
    return _HEAD + "\n".join(rows) + "\n"
