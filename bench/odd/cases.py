"""Puts cases together: a suite for each concern, and a mixture of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from bench.odd import configs, neighbours, nodes, pods, selectors, storage
from bench.odd.luck import Luck, Thing


def make_case(seed: int, number: int, suites: tuple[str, ...] = ()) -> Thing:
    """The case of this number; the same one each time."""
    luck = Luck(f"{seed}/{number}")
    suite = luck.one(suites or tuple(name for name in SUITES if name != "limits"))
    case = {"id": f"{suite}-odd{seed}-{number}", "suite": suite, **SUITES[suite](luck)}
    if case.get("preempt"):
        _tell_apart(case["pods"])
    return {field: value for field, value in case.items() if value != []} | {"nodes": case["nodes"]}


def _tell_apart(placed: list[Thing]) -> None:
    """Give pods different start times on nodes with more than Go's sort keeps in order among equals."""
    crowds = Counter(pod["spec"].get("nodeName") for pod in placed)
    for i, pod in enumerate(placed):
        if crowds[pod["spec"].get("nodeName")] > _SORTED_STABLY and "startTime" in pod["status"]:
            pod["status"]["startTime"] = (
                f"{pod['status']['startTime'][:14]}{i // 60:02}:{i % 60:02}Z"
            )


#: Up to so many, Go's sort.Slice is an insertion sort.
_SORTED_STABLY: Final = 12


def _cluster(
    luck: Luck,
    *,
    most_nodes: int = 10,
    most_pods: int = 25,
    odd: float = 0.03,
    tainted: float = 0.15,
    images: float = 0.0,
) -> Thing:
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


def _namespaces(luck: Luck) -> list[Thing]:
    made = []
    for name, team in (("default", ""), ("dev", "a"), ("prod", "b"), ("empty", "a")):
        labels = {"kubernetes.io/metadata.name": name} | ({"team": team} if team else {})
        if luck.chance(0.95):
            made.append(
                {
                    "apiVersion": "v1",
                    "kind": "Namespace",
                    "metadata": {"name": name, "labels": labels},
                }
            )
    return made


def _names(case: Thing) -> list[str]:
    return [node["metadata"]["name"] for node in case["nodes"]] or ["n00"]


def _nominate(luck: Luck, case: Thing, share: float) -> None:
    """Make some of the pods nominated ones."""
    for pod in case["pods"]:
        if luck.chance(share):
            pod["status"] = {"phase": "Pending", "nominatedNodeName": pod["spec"].pop("nodeName")}
    luck.maybe(case, "queued", 0.7, lambda: True)


def _resources(luck: Luck) -> Thing:
    case = _cluster(luck, odd=luck.one((0.0, 0.1, 0.3)))
    for pod in (*case["pods"], case["pod"]):
        odd = luck.one((0.0, 0.1, 0.3))
        if luck.chance(0.4):
            pods.add_init_containers(luck, pod, odd)
        if luck.chance(0.3):
            pods.add_pod_level(luck, pod, odd)
        if luck.chance(0.2):
            pods.add_resize(luck, pod, odd)
        if luck.chance(0.1):
            pod["spec"]["containers"][0]["resources"] = {}
    luck.maybe(case, "config", 0.3, lambda: configs.config(luck, _names(case)))
    if luck.chance(0.2):
        _nominate(luck, case, 0.2)
    return case


def _limits(luck: Luck) -> Thing:
    luck.extreme = True
    return _resources(luck)


def _taints(luck: Luck) -> Thing:
    case = _cluster(luck, most_pods=5, tainted=0.8)
    if luck.chance(0.9):
        pods.add_tolerations(luck, case["pod"])
    return case


def _node_affinity(luck: Luck) -> Thing:
    case = _cluster(luck, most_pods=5)
    spec = case["pod"]["spec"]
    luck.maybe(
        spec,
        "affinity",
        0.85,
        lambda: {"nodeAffinity": selectors.node_affinity(luck, _names(case))},
    )
    luck.maybe(spec, "nodeSelector", 0.25, lambda: selectors.node_selector(luck))
    luck.maybe(spec, "nodeName", 0.05, lambda: luck.one(_names(case)))
    if luck.chance(0.25):
        case["config"] = configs.config(luck, _names(case))
    if luck.chance(0.1):  # what a node has to know
        spec["hostNetwork"], spec["hostUsers"] = True, luck.chance(0.3)
    if luck.chance(0.1):
        rule = {
            "action": luck.one(("RestartAllContainers", "Restart")),
            "exitCodes": {"operator": "In", "values": [1]},
        }
        spec["containers"][0]["restartPolicyRules"] = [rule]
    return case


def _spread(luck: Luck) -> Thing:
    case = _cluster(luck, tainted=luck.one((0.0, 0.4)))
    pod = case["pod"]
    neighbours.add_spread(luck, pod)
    if luck.chance(0.02):
        wrong = selectors.wrong_label_selector(luck)
        pod["spec"]["topologySpreadConstraints"][0]["labelSelector"] = wrong
    if luck.chance(0.4):
        pod["spec"]["affinity"] = {"nodeAffinity": selectors.node_affinity(luck, _names(case))}
    luck.maybe(pod["spec"], "nodeSelector", 0.1, lambda: selectors.node_selector(luck))
    if luck.chance(0.3):
        pods.add_tolerations(luck, pod)
    if luck.chance(0.15):
        _nominate(luck, case, 0.2)
    return _perhaps_preempting(luck, case)


def _default_spread(luck: Luck) -> Thing:
    case = _cluster(luck)
    neighbours.add_workloads(luck, case)
    if luck.chance(0.1):
        neighbours.add_spread(luck, case["pod"])
    luck.maybe(case, "config", 0.3, lambda: configs.config(luck, _names(case)))
    return case


def _inter_pod(luck: Luck) -> Thing:
    case = _cluster(luck)
    for pod in case["pods"]:
        if luck.chance(0.3):
            neighbours.add_affinity(luck, pod)
    if luck.chance(0.85):
        neighbours.add_affinity(luck, case["pod"])
    if luck.chance(0.02):
        neighbours.spoil_affinity(luck, case["pod"])
    luck.maybe(case, "config", 0.25, lambda: configs.config(luck, _names(case)))
    if luck.chance(0.15):
        _nominate(luck, case, 0.2)
    return _perhaps_preempting(luck, case)


def _ports(luck: Luck) -> Thing:
    case = _cluster(luck, most_nodes=5, most_pods=12)
    for pod in (*case["pods"], case["pod"]):
        if luck.chance(0.3):
            pods.add_init_containers(luck, pod, 0.0)
        if luck.chance(0.8):
            pods.add_ports(luck, pod)
    if luck.chance(0.2):
        _nominate(luck, case, 0.3)
    return _perhaps_preempting(luck, case)


def _images(luck: Luck) -> Thing:
    case = _cluster(luck, most_pods=4, images=0.9)
    if luck.chance(0.4):
        pods.add_init_containers(luck, case["pod"], 0.0)
    pods.add_images(luck, case["pod"])
    return case


def _volumes(luck: Luck) -> Thing:
    case = _cluster(luck, most_pods=10)
    storage.add_storage(case, luck)
    luck.maybe(case, "config", 0.1, lambda: configs.without(luck, configs.VOLUME_PLUGINS))
    return _perhaps_preempting(luck, case)


def _preemption(luck: Luck) -> Thing:
    case = _cluster(luck, most_nodes=4, most_pods=20, odd=0.0, tainted=0.05)
    for node in case["nodes"]:
        node["status"]["allocatable"] |= {
            "cpu": luck.one(("2", "4", "3")),
            "pods": luck.one(("110", "10", "4", "3")),
        }
    for pod in case["pods"]:
        pod["spec"]["priority"] = luck.one((0, 0, 5, 10, 100, 1000, -10))
        if luck.chance(0.3):
            pods.add_ports(luck, pod)
        if luck.chance(0.1):
            neighbours.add_affinity(luck, pod, required=0.9)
        if pod["metadata"].get("deletionTimestamp") and luck.chance(0.4):
            reason = luck.one(("PreemptionByScheduler", "EvictionByEvictionAPI"))
            pod["status"]["conditions"] = [
                {"type": "DisruptionTarget", "status": "True", "reason": reason}
            ]
    if luck.chance(0.4):
        _nominate(luck, case, 0.15)
    pod = case["pod"]
    pod["spec"]["priority"] = luck.one((5, 100, 500, 1000, 1000, 2000))
    luck.maybe(
        pod["spec"], "preemptionPolicy", 0.1, lambda: luck.one(("Never", "PreemptLowerPriority"))
    )
    pod["spec"]["containers"][0]["resources"] = {
        "requests": {"cpu": luck.one(("1", "2", "1500m")), "memory": "64Mi"}
    }
    luck.maybe(pod["status"], "nominatedNodeName", 0.1, lambda: luck.one((*_names(case), "gone")))
    for share, add in (
        (0.3, pods.add_ports),
        (0.2, neighbours.add_affinity),
        (0.2, neighbours.add_spread),
        (0.2, pods.add_tolerations),
    ):
        if luck.chance(share):
            add(luck, pod)
    case["poddisruptionbudgets"] = luck.times(lambda: _budget(luck, case), 3)
    case["preempt"] = True
    return case


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
    meta = {
        "name": f"pdb{luck.randrange(10**6)}",
        "namespace": luck.one(("default", "default", *selectors.NAMESPACES)),
    }
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": meta,
        "spec": spec,
        "status": status,
    }


def _perhaps_preempting(luck: Luck, case: Thing) -> Thing:
    if luck.chance(0.3):
        case["preempt"] = True
        case["pod"]["spec"]["priority"] = 500
        case["poddisruptionbudgets"] = luck.times(lambda: _budget(luck, case), 2)
    return case


def _configured(luck: Luck) -> Thing:
    case = luck.one((_resources, _spread, _default_spread, _inter_pod, _images, _node_affinity))(
        luck
    )
    case["config"] = configs.config(luck, _names(case))
    return case


def _mixed(luck: Luck) -> Thing:
    case = _cluster(luck, most_pods=20, tainted=0.3, images=0.4)
    for pod in (*case["pods"], case["pod"]):
        new = pod is case["pod"]
        for share, add in (
            (0.2, lambda luck, pod: pods.add_init_containers(luck, pod, 0.02)), (0.1, lambda luck, pod: pods.add_pod_level(luck, pod, 0.02)),
            (0.1, lambda luck, pod: pods.add_resize(luck, pod, 0.02)), (0.15, pods.add_ports), (0.25, neighbours.add_affinity),
            (0.3 if new else 0.0, neighbours.add_spread), (0.6 if new else 0.0, pods.add_tolerations), (0.3, pods.add_images),
        ):  # fmt: skip
            if luck.chance(share):
                add(luck, pod)
    if luck.chance(0.3):
        case["pod"]["spec"].setdefault("affinity", {})["nodeAffinity"] = selectors.node_affinity(
            luck, _names(case)
        )
    if luck.chance(0.3):
        neighbours.add_workloads(luck, case)
    if luck.chance(0.3):
        storage.add_storage(case, luck, 0.2)
    if luck.chance(0.2):
        _nominate(luck, case, 0.15)
    return _perhaps_preempting(luck, case)


SUITES: Final[dict[str, Callable[[Luck], Thing]]] = {
    "resources": _resources,
    #: Only when asked for: bayplan differs there on purpose.
    "limits": _limits,
    "taints": _taints,
    "nodeaffinity": _node_affinity,
    "spread": _spread,
    "defaultspread": _default_spread,
    "interpod": _inter_pod,
    "ports": _ports,
    "images": _images,
    "volumes": _volumes,
    "preemption": _preemption,
    "configured": _configured,
    "mixed": _mixed,
}
