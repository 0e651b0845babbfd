"""Pods that do not mind where they run go where power is cheap; all others do not care."""

from bayplan import NodeInfo, PodInfo, ScorePlugin


class CheapPower(ScorePlugin):
    label: str = "example.com/power-cents"

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        if pod.labels.get("example.com/flexible") != "true":
            return 0
        return max(0, 100 - float(node.labels.get(self.label, "100")))
