"""Pods that ask for a fast disk get one; among those nodes the one with the highest rank is best."""

from bayplan import FilterPlugin, Rejected, ScorePlugin


class FastDisk(FilterPlugin, ScorePlugin):
    """``bayplan extender`` puts this behind the webhook of a stock kube-scheduler."""

    def filter_node(self, pod, node):
        wants_fast = pod.labels.get("disk") == "fast"
        is_fast = node.labels.get("disk") == "fast"
        return Rejected("disk is slow") if wants_fast and not is_fast else None

    def score_node(self, pod, node):
        return int(node.labels.get("rank", "0"))
