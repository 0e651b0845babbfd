"""Plugins of the names that the seeds' configurations use: they have the right points and arguments, and no opinion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan import FilterPlugin, NodeInfo, PodInfo, PostBindPlugin, ScorePlugin


class _Filter(FilterPlugin):
    def filter_node(self, pod: PodInfo, node: NodeInfo) -> None:
        return None


class _Score(ScorePlugin):
    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        return 0


class LowCpuScheduler(_Filter, _Score):
    pass


class CustomPlugin(_Filter, _Score):
    pass


class MyCustomPluginA(_Score):
    pass


class MyCustomPluginB(_Score):
    pass


class ExamplePlugin(_Score, PostBindPlugin):
    async def postbind(self, *_: Any) -> None:
        return None


class CustomFilterPlugin(_Filter):
    pass


class CustomScorePlugin(_Score):
    weight_factor: int = 1
    enable_gpu_scheduling: bool = False


class GPUPriorityPlugin(_Filter, _Score):
    gpu_weight: int = 1


class CostOptimizationPlugin(_Score):
    cost_metrics: Mapping[str, float] = {}
    prefer_spot_instances: bool = False
    max_cost_threshold: float = 0.0


class NetworkLatencyPlugin(_Score):
    max_latency_ms: int = 0
    latency_weight: int = 0
    measurement_interval: str = ""


class NodeAffinityPlugin(_Score):
    pass


class LoadBalancingPlugin(_Score):
    pass
