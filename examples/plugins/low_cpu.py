"""Only nodes whose measured CPU is below the threshold; the idler the better."""

from bayplan import FilterPlugin, NodeInfo, PodInfo, Rejected, ScorePlugin


class LowCpuScheduler(FilterPlugin, ScorePlugin):
    threshold: float = 0.8

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        return Rejected("cpu usage too high") if node.usage.cpu > self.threshold else None

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        return 100 * (1 - node.usage.cpu)
