"""A cluster with pods in it, and a pod to place: what every suite starts from."""

from __future__ import annotations

from bench.odd import configs, nodes, pods
from bench.odd.luck import Luck, Thing, thing


def a_cluster(
    luck: Luck,
    *,
    most_nodes: int = 10,
    most_pods: int = 25,
    odd: float = 0.03,
    tainted: float = 0.15,
    images: float = 0.0,
) -> Thing:
    """A case without anything special in it."""
    names = nodes.names(luck, most_nodes)
    case: Thing = {
        "nodes": [
            nodes.node(luck, name, tainted=tainted, images=images, odd=odd) for name in names
        ],
        "namespaces": _namespaces(luck),
        "pods": [],
    }
    for i in range(luck.randint(0, most_pods * (1 + len(names) // 30)) if names else 0):
        on = luck.one(names) if luck.chance(0.98) else "gone"
        case["pods"].append(pods.pod(luck, f"e{i:02}", on=on, odd=odd))
    case["pod"] = pods.pod(luck, "incoming", odd=odd)
    luck.maybe(case, "config", 0.15, lambda: configs.config(luck, names))
    return case


def names_of(case: Thing) -> list[str]:
    """The names of the nodes."""
    return [node["metadata"]["name"] for node in case["nodes"]] or ["n00"]


_TEAMS = {"default": "", "dev": "a", "prod": "b", "empty": "a"}


def _namespaces(luck: Luck) -> list[Thing]:
    made = []
    for name, team in _TEAMS.items():
        labels = {"kubernetes.io/metadata.name": name} | ({"team": team} if team else {})
        if luck.chance(0.95):
            made.append(thing("Namespace", name, metadata={"labels": labels}))
    return made
