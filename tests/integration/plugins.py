"""Plugins that do to a pod what its annotations say; configured by ``tests.integration.plugins:Name``."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from bayplan import CycleState, FilterPlugin, NodeInfo, PodInfo, Reads, Rejected, ScorePlugin
from bayplan.framework.plugin import PermitPlugin

#: How a profile asks for one of them.
PLACE = "tests.integration.plugins"


class Held(PermitPlugin):
    """Holds a pod back for as many seconds as its annotation ``hold`` says."""

    def permit(self, pod: PodInfo, node: str, state: CycleState) -> Rejected | float | None:
        return float(pod.annotations["hold"]) if "hold" in pod.annotations else None


class Odd(FilterPlugin, ScorePlugin):
    """Does what a test says to the pods that are labelled ``odd``."""

    reads = Reads.LABELS
    cache = False
    does: ClassVar[Callable[[], float]] = float

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        return None

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        return type(self).does() if "odd" in pod.labels else 0.0


def profile(*names: str, scheduler: str = "default-scheduler") -> dict[str, object]:
    """A configuration with the default plugins and these."""
    enabled = [{"name": f"{PLACE}:{name}"} for name in names]
    plugins = {"multiPoint": {"enabled": enabled}}
    return {"profiles": [{"schedulerName": scheduler, "plugins": plugins}]}
