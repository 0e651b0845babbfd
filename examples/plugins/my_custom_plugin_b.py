"""Rather a node with few pods."""

from bayplan import NodeInfo, PodInfo, ScorePlugin


class MyCustomPluginB(ScorePlugin):
    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        return 100 * (1 - node.pod_count / max(node.max_pods, 1))
