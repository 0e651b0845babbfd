"""However news of pods and nodes arrive (repeated, late, with our own assumptions in between), the end is what the API has.

A history is drawn as the API server would write it: a pod is made, bound, changed, deleted and made again under its name.
News of it are delivered with repetitions and with old ones after new ones; the cluster must come to the same as one that
was only shown the end. Counts are recounted after every event.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.audit import check
from bayplan.cluster.cluster import Cluster
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.testing import make_node, make_pod

NAMES, NODES = "abc", ["n0", "n1", "n2"]


@dataclass
class Api:
    """What the API server has, and everything it ever said."""

    version: int = 0
    pods: dict[str, Pod] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    #: Every state of a pod by name, the last one of a deleted pod among them.
    said: dict[str, list[Pod]] = field(default_factory=dict)

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


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("make"), st.sampled_from(NAMES), st.sampled_from(["", *NODES])),
        st.tuples(st.just("bind"), st.sampled_from(NAMES), st.sampled_from(NODES)),
        st.tuples(st.just("change"), st.sampled_from(NAMES), st.sampled_from(["x", "y"])),
        st.tuples(st.just("die"), st.sampled_from(NAMES), st.booleans()),
        st.tuples(st.just("delete"), st.sampled_from(NAMES), st.booleans()),
        st.tuples(st.just("old news"), st.sampled_from(NAMES), st.integers(0, 9)),
        st.tuples(st.just("assume"), st.sampled_from(NAMES), st.sampled_from(NODES)),
        st.tuples(st.just("forget"), st.sampled_from(NAMES), st.none()),
        st.tuples(st.just("node"), st.sampled_from(NODES), st.integers(1, 3)),
        st.tuples(st.just("no node"), st.sampled_from(NODES), st.none()),
    ),
    max_size=30,
)


def step(api: Api, cluster: Cluster, kind: str, name: str, what: Any) -> None:
    if kind == "node":
        api.nodes[name] = make_node(name).zone(f"z{what}").capacity(cpu=str(what)).build()
        cluster.put(api.nodes[name])
    elif kind == "no node":
        if name in api.nodes:
            cluster.remove(api.nodes.pop(name))
    else:
        step_of_pod(api, cluster, kind, name, what)


def step_of_pod(api: Api, cluster: Cluster, kind: str, name: str, what: Any) -> None:
    pod = api.pods.get(name)
    match kind:
        case "make" if pod is None:
            cluster.put(api.write(name, nominated=what))
        case "bind" if pod is not None and not pod.spec.node_name:
            cluster.put(api.write(name, node=what))
        case "change" if pod is not None:
            cluster.put(api.write(name, label=what))
        case "die" if pod is not None and pod.spec.node_name:
            cluster.put(api.write(name, dying=True, finished=what))
        case "delete" if pod is not None:
            gone = api.pods.pop(name)
            cluster.remove(gone)
            if what:
                cluster.remove(gone)
        case "old news" if name in api.said:
            said = api.said[name]
            cluster.put(said[-1 - what % len(said)])
        case "assume" if pod is not None and not pod.spec.node_name:
            info = cluster.info(pod)
            if info.key not in cluster.pods.row_of:
                cluster.assume(info, what)
        case "forget" if pod is not None:
            cluster.forget(cluster.info(pod))


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


@given(STEPS)
def test_the_end_is_what_the_api_has(steps: list[tuple[str, str, Any]]) -> None:
    api, cluster = Api(), Cluster()
    for kind, name, what in steps:
        step(api, cluster, kind, name, what)
        check(cluster)
    # What is still being bound comes to nothing, and the last news of every pod are heard once more.
    for pod in api.pods.values():
        cluster.forget(cluster.info(pod))
        cluster.put(pod)
    check(cluster)
    fresh = Cluster()
    for obj in (*api.nodes.values(), *api.pods.values()):
        fresh.put(obj)
    assert shown(cluster) == shown(fresh)
