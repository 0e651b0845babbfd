"""However news of pods and nodes arrive (repeated, late, with our own assumptions in between), the end is what the API has.

A history is drawn as the API server would write it: a pod is made, bound, changed, deleted and made again under its name.
News of it are delivered with repetitions and with old ones after new ones; the cluster must come to the same as one that
was only shown the end. Counts are recounted after every event.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.cluster.audit import check
from bayplan.cluster.cluster import Cluster
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.testing import make_node, make_pod

NAMES, NODES = "ab", ["n0", "n1", "n2"]


@dataclass
class Api:
    """What the API server has, and everything it ever said."""

    version: int = 0
    pods: dict[str, Pod] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    #: Every state of a pod by name, the last one of a deleted pod among them.
    said: dict[str, list[Pod]] = field(default_factory=dict)
    #: Pods that were ever assumed.
    assumed: set[str] = field(default_factory=set)

    def write(self, name: str, **change: Any) -> Pod:
        """A new state of a pod; without one of that name it is made, with a uid of its own."""
        self.version += 1
        old = self.pods.get(name)
        uid = old.metadata.uid if old is not None else f"uid-{name}-{self.version}"
        builder = make_pod(name).uid(uid).version(str(self.version)).requests(cpu="1")
        node = change.get("node") or (old.spec.node_name if old is not None else "")
        if node:
            builder.on(node)
        if change.get("nominated") and not node:
            builder.nominated(change["nominated"])
        if change.get("label"):
            builder.label("app", change["label"])
        if change.get("dying"):
            builder.terminating()
        if change.get("finished"):
            builder.manifest["status"]["phase"] = "Succeeded"
        pod = self.pods[name] = builder.build()
        self.said.setdefault(name, []).append(pod)
        return pod


KINDS = ["make", "bind", "change", "die", "delete", "assume", "forget", "node", "no node"]
KINDS += ["old news", "old news", "change", "old deletion"]

#: What happens, to which pod or node, and a number that settles the rest. Nothing happens where it cannot.
STEPS = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.integers(0, 3).map(lambda n: n // 3),
        st.integers(0, 11),
    ),
    min_size=10,
    max_size=40,
)


def step(api: Api, cluster: Cluster, kind: str, which: int, number: int) -> None:
    name = NODES[which]
    if kind == "node":
        api.nodes[name] = make_node(name).zone(f"z{number % 3}").capacity(cpu=str(number)).build()
        cluster.put(api.nodes[name])
    elif kind == "no node":
        if name in api.nodes:
            cluster.remove(api.nodes.pop(name))
    elif kind in {"assume", "forget"}:
        step_of_ours(api, cluster, kind, NAMES[which], number)
    else:
        step_of_pod(api, cluster, kind, NAMES[which], number)


def step_of_pod(api: Api, cluster: Cluster, kind: str, name: str, number: int) -> None:
    pod, node = api.pods.get(name), NODES[number % len(NODES)]
    match kind:
        case "make" if pod is None:
            cluster.put(api.write(name, nominated=node if number > 5 else ""))
        case "bind" if pod is not None and not pod.spec.node_name:
            cluster.put(api.write(name, node=node))
        case "change" if pod is not None:
            cluster.put(api.write(name, label=f"app-{number}"))
        case "die" if pod is not None and pod.spec.node_name:
            cluster.put(api.write(name, dying=True, finished=number > 5))
        case "delete" if pod is not None:
            gone = api.pods.pop(name)
            cluster.remove(gone)
            if number > 5:
                cluster.remove(gone)
        case "old news" if name in api.said:
            said = api.said[name]
            cluster.put(said[-1 - number % len(said)])
        case "old deletion" if name in api.said:
            before = api.said[name][0]
            if pod is None or pod.metadata.uid != before.metadata.uid:
                cluster.remove(before)


def step_of_ours(api: Api, cluster: Cluster, kind: str, name: str, number: int) -> None:
    """What the scheduler itself does."""
    pod = api.pods.get(name)
    if pod is None:
        return
    info = cluster.info(pod)
    if kind == "forget":
        cluster.forget(info)
    elif not pod.spec.node_name and info.key not in cluster.pods.row_of:
        cluster.assume(info, NODES[number % len(NODES)])
        api.assumed.add(name)


def shown(cluster: Cluster) -> Any:
    """Everything there is, by name."""
    nodes = cluster.view.nodes
    return {
        "nodes": {
            nodes.name(i): (
                bool(nodes.alive[i]),
                nodes.node(i).zone,
                int(nodes.allocatable("cpu")[i]),
                int(nodes.requested("cpu")[i]),
                sorted(
                    (p.name, p.uid, p.labels.get("app"), p.terminating) for p in nodes.pods_on(i)
                ),
            )
            for i in range(len(nodes))
            if nodes.name(i)
        },
        "promised": sorted((pod.uid, node) for pod, node in cluster.nominations.all()),
    }


@settings(max_examples=300)
@given(STEPS)
def test_the_end_is_what_the_api_has(steps: list[tuple[str, int, int]]) -> None:
    api, cluster = Api(), Cluster()
    for kind, which, number in steps:
        step(api, cluster, kind, which, number)
        check(cluster)
    # What is still being bound comes to nothing, and whoever gives it up looks at the pod once more.
    for name in api.assumed & api.pods.keys():
        cluster.forget(cluster.info(api.pods[name]))
        cluster.put(api.pods[name])
    check(cluster)
    fresh = Cluster()
    for obj in (*api.nodes.values(), *api.pods.values()):
        fresh.put(obj)
    assert shown(cluster) == shown(fresh)
