"""Room that has to be made: who may be evicted, budgets, nodes promised to other pods."""

from __future__ import annotations

from collections import Counter
from typing import Final

from bench.odd import neighbours, pods, selectors
from bench.odd.clusters import a_cluster, names_of
from bench.odd.luck import Luck, Thing, thing

#: Up to so many, Go's sort.Slice is an insertion sort, which keeps equals in order.
SORTED_STABLY: Final = 12


def preemption(luck: Luck) -> Thing:
    """Nodes with hardly any room, and a pod that matters more than some of those on them."""
    case = a_cluster(luck, most_nodes=luck.one((2, 4, 12)), most_pods=20, odd=0.0, tainted=0.05)
    for node in case["nodes"]:
        node["status"]["allocatable"] |= {
            "cpu": luck.one(("2", "4", "3")),
            "pods": luck.one(("110", "10", "4", "3")),
        }
    for i in range(luck.randint(0, 3 * len(case["nodes"]))):
        case["pods"].append(pods.pod(luck, f"f{i:02}", on=luck.one(names_of(case)), odd=0.0))
    alike = luck.chance(0.3)  # so that several nodes cost the same
    for pod in case["pods"]:
        _make_evictable(luck, pod)
        if alike:
            pod["spec"]["priority"] = luck.one((0, 0, 0, 10))
            pod["status"]["startTime"] = luck.one(("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"))
    if luck.chance(0.4):
        nominate(luck, case, 0.15)
    _make_important(luck, case)
    case["poddisruptionbudgets"] = luck.times(lambda: _budget(luck, case), 3)
    case["preempt"] = True
    return case


def _make_evictable(luck: Luck, pod: Thing) -> None:
    pod["spec"]["priority"] = luck.one((0, 0, 5, 10, 100, 1000, -10))
    if luck.chance(0.3):
        pods.add_ports(luck, pod)
    if luck.chance(0.1):
        neighbours.add_affinity(luck, pod, required=0.9)
    if pod["metadata"].get("deletionTimestamp") and luck.chance(0.4):
        reason = luck.one(("PreemptionByScheduler", "EvictionByEvictionAPI"))
        condition = {"type": "DisruptionTarget", "status": "True", "reason": reason}
        pod["status"]["conditions"] = [condition]


def _make_important(luck: Luck, case: Thing) -> None:
    pod = case["pod"]
    spec = pod["spec"]
    spec["priority"] = luck.one((5, 100, 500, 1000, 1000, 2000))
    luck.maybe(spec, "preemptionPolicy", 0.1, lambda: luck.one(("Never", "PreemptLowerPriority")))
    asked = {"cpu": luck.one(("1", "2", "1500m", "1900m")), "memory": "64Mi"}
    spec["containers"][0]["resources"] = {"requests": asked}
    luck.maybe(pod["status"], "nominatedNodeName", 0.1, lambda: luck.one((*names_of(case), "gone")))
    for share, add in (
        (0.3, pods.add_ports),
        (0.2, neighbours.add_affinity),
        (0.2, neighbours.add_spread),
        (0.2, pods.add_tolerations),
    ):
        if luck.chance(share):
            add(luck, pod)


def _budget(luck: Luck, case: Thing) -> Thing:
    status: Thing = {
        "disruptionsAllowed": luck.one((0, 0, 1, 2)),
        "currentHealthy": 1,
        "desiredHealthy": 1,
        "expectedPods": 1,
    }
    names = [pod["metadata"]["name"] for pod in case["pods"]]
    if names and luck.chance(0.3):
        status["disruptedPods"] = dict.fromkeys(luck.some(names, 3, 1), "2026-01-01T00:00:00Z")
    spec: Thing = {"minAvailable": luck.one((1, "50%"))}
    selector = selectors.label_selector(luck)
    if luck.chance(0.03):
        selector = selectors.wrong_label_selector(luck)
    if selector is not None:
        spec["selector"] = selector
    name, space = f"pdb{luck.randrange(10**6)}", luck.one(("default", *selectors.NAMESPACES))
    return thing("PodDisruptionBudget", name, space, spec=spec, status=status)


def perhaps_preempting(luck: Luck, case: Thing) -> Thing:
    """The case as it is, or one in which the pod may evict others."""
    if luck.chance(0.3):
        case["preempt"] = True
        case["pod"]["spec"]["priority"] = 500
        case["poddisruptionbudgets"] = luck.times(lambda: _budget(luck, case), 2)
    return case


def nominate(luck: Luck, case: Thing, share: float) -> None:
    """Make some of the pods nominated ones."""
    for pod in case["pods"]:
        if luck.chance(share):
            pod["status"] = {"phase": "Pending", "nominatedNodeName": pod["spec"].pop("nodeName")}
    luck.maybe(case, "queued", 0.7, lambda: True)


def tell_apart(placed: list[Thing], crowd: int) -> None:
    """Give pods different start times on nodes with more than so many."""
    crowds = Counter(pod["spec"].get("nodeName") for pod in placed)
    for i, pod in enumerate(placed):
        if crowds[pod["spec"].get("nodeName")] > crowd and "startTime" in pod["status"]:
            pod["status"]["startTime"] = (
                f"{pod['status']['startTime'][:14]}{i // 60:02}:{i % 60:02}Z"
            )
