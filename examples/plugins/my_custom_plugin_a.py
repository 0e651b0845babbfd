"""Rather a node of the pod's own team: the label ``team`` of both."""

from bayplan import NodeInfo, PodInfo, ScorePlugin


class MyCustomPluginA(ScorePlugin):
    label: str = "team"

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        team = pod.labels.get(self.label)
        return 100 if team and node.labels.get(self.label) == team else 0
