"""Whether what a scheduler has done holds: nothing over a node's limits, nothing moved, everything placed.

Looks at the API server alone, after a run, with plain arithmetic and none of the scheduler's own code.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import msgspec

from bayplan.bench.recorder import Recorder
from bayplan.client.api import Api
from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.model.quantity import nano_value

Obj = dict[str, Any]


async def audit(api: Api, recorder: Recorder) -> list[str]:
    """What is wrong; empty if nothing is."""
    nodes = await _items(api, "/api/v1/nodes")
    pods = await _items(api, "/api/v1/pods")
    return [f"{key} was bound twice" for key in recorder.moved] + crowded(nodes, pods)


def crowded(nodes: list[Obj], pods: list[Obj]) -> list[str]:
    """Nodes that hold more than they have."""
    used: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for pod in pods:
        if node := pod["spec"].get("nodeName"):
            used[node]["pods"] += nano_value("1")
            for container in pod["spec"]["containers"]:
                requests = container.get("resources", {}).get("requests", {})
                for name, amount in requests.items():
                    used[node][name] += nano_value(amount)
    wrong = []
    has = {node["metadata"]["name"]: node["status"]["allocatable"] for node in nodes}
    for node, amounts in used.items():
        if node not in has:
            wrong.append(f"there is no node {node}, and pods on it")
            continue
        for name, amount in amounts.items():
            if amount > nano_value(has[node].get(name, "0")):
                wrong.append(f"node {node} has too much of {name} on it")
    return wrong


async def _items(api: Api, path: str) -> list[Obj]:
    """All objects, page by page."""
    items: list[Obj] = []
    page = ""
    while True:
        raw = await api.send(Request("GET", f"{path}?limit=2000{page}"), Lane.READ)
        answer = msgspec.json.decode(raw)
        items += answer["items"]
        token = answer["metadata"].get("continue")
        if not token:
            return items
        page = f"&continue={token}"
