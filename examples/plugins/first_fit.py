"""A fully custom scheduler: the first node, by name, with enough CPU and memory free."""

from bayplan import ClusterView, PodInfo, Rejected


class FirstFit:
    def schedule(self, pod: PodInfo, view: ClusterView) -> str | Rejected:
        cpu, memory = pod.requests.get("cpu", 0), pod.requests.get("memory", 0)
        fitting = [n.name for n in view.nodes_with("cpu", cpu) if n.free["memory"] >= memory]
        return min(fitting) if fitting else Rejected("no node has the CPU and memory free")
