"""The least that a filter and a score can be: every node passes, and all are worth the same."""

from bayplan import FilterPlugin, NodeInfo, PodInfo, ScorePlugin


class CustomPlugin(FilterPlugin, ScorePlugin):
    def filter_node(self, pod: PodInfo, node: NodeInfo) -> None:
        return None

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        return 100
