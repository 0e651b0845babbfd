"""Puts cases together: a suite for each concern, and a mixture of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bench.odd import configs, neighbours, pods, selectors, storage
from bench.odd.clusters import a_cluster, names_of
from bench.odd.evictions import SORTED_STABLY, nominate, perhaps_preempting, preemption, tell_apart
from bench.odd.luck import Luck, Thing
from bench.odd.wear import wear

#: Share of the cases in which some fields are missing.
WORN: Final = 0.2


def make_case(
    seed: int, number: int, suites: tuple[str, ...] = (), *, apart: bool = False
) -> Thing:
    """The case of this number; the same one each time. With ``apart`` no two pods that may be evicted are equals."""
    luck = Luck(f"{seed}/{number}")
    suite = luck.one(suites or tuple(name for name in SUITES if name != "limits"))
    case = {"id": f"{suite}-odd{seed}-{number}", "suite": suite, **SUITES[suite](luck)}
    if case.get("preempt"):
        tell_apart(case["pods"], 0 if apart else SORTED_STABLY)
    if luck.chance(WORN):
        wear(luck, case)
    return {field: value for field, value in case.items() if value != []} | {"nodes": case["nodes"]}


def _resources(luck: Luck) -> Thing:
    case = a_cluster(luck, odd=luck.one((0.0, 0.1, 0.3)))
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
    luck.maybe(case, "config", 0.3, lambda: configs.config(luck, names_of(case)))
    if luck.chance(0.2):
        nominate(luck, case, 0.2)
    return case


def _limits(luck: Luck) -> Thing:
    luck.extreme = True
    return _resources(luck)


def _taints(luck: Luck) -> Thing:
    case = a_cluster(luck, most_pods=5, tainted=0.8)
    if luck.chance(0.9):
        pods.add_tolerations(luck, case["pod"])
    return case


def _node_affinity(luck: Luck) -> Thing:
    case = a_cluster(luck, most_pods=5)
    spec = case["pod"]["spec"]
    luck.maybe(
        spec,
        "affinity",
        0.85,
        lambda: {"nodeAffinity": selectors.node_affinity(luck, names_of(case))},
    )
    luck.maybe(spec, "nodeSelector", 0.25, lambda: selectors.node_selector(luck))
    luck.maybe(spec, "nodeName", 0.05, lambda: luck.one(names_of(case)))
    if luck.chance(0.25):
        case["config"] = configs.config(luck, names_of(case))
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
    case = a_cluster(luck, tainted=luck.one((0.0, 0.4)))
    pod = case["pod"]
    neighbours.add_spread(luck, pod)
    if luck.chance(0.02):
        wrong = selectors.wrong_label_selector(luck)
        pod["spec"]["topologySpreadConstraints"][0]["labelSelector"] = wrong
    if luck.chance(0.4):
        pod["spec"]["affinity"] = {"nodeAffinity": selectors.node_affinity(luck, names_of(case))}
    luck.maybe(pod["spec"], "nodeSelector", 0.1, lambda: selectors.node_selector(luck))
    if luck.chance(0.3):
        pods.add_tolerations(luck, pod)
    if luck.chance(0.3):
        nominate(luck, case, 0.3)
    return perhaps_preempting(luck, case)


def _default_spread(luck: Luck) -> Thing:
    case = a_cluster(luck)
    neighbours.add_workloads(luck, case)
    if luck.chance(0.1):
        neighbours.add_spread(luck, case["pod"])
    luck.maybe(case, "config", 0.3, lambda: configs.config(luck, names_of(case)))
    return case


def _inter_pod(luck: Luck) -> Thing:
    case = a_cluster(luck)
    for pod in case["pods"]:
        if luck.chance(0.3):
            neighbours.add_affinity(luck, pod)
    if luck.chance(0.85):
        neighbours.add_affinity(luck, case["pod"])
    if luck.chance(0.02):
        neighbours.spoil_affinity(luck, case["pod"])
    luck.maybe(case, "config", 0.25, lambda: configs.config(luck, names_of(case)))
    if luck.chance(0.15):
        nominate(luck, case, 0.2)
    return perhaps_preempting(luck, case)


def _ports(luck: Luck) -> Thing:
    case = a_cluster(luck, most_nodes=5, most_pods=12)
    for pod in (*case["pods"], case["pod"]):
        if luck.chance(0.3):
            pods.add_init_containers(luck, pod, 0.0)
        if luck.chance(0.8):
            pods.add_ports(luck, pod)
    if luck.chance(0.2):
        nominate(luck, case, 0.3)
    return perhaps_preempting(luck, case)


def _images(luck: Luck) -> Thing:
    case = a_cluster(luck, most_pods=4, images=0.9)
    if luck.chance(0.4):
        pods.add_init_containers(luck, case["pod"], 0.0)
    pods.add_images(luck, case["pod"])
    return case


def _volumes(luck: Luck) -> Thing:
    case = a_cluster(luck, most_pods=10)
    storage.add_storage(case, luck)
    luck.maybe(case, "config", 0.1, lambda: configs.without(luck, configs.VOLUME_PLUGINS))
    return perhaps_preempting(luck, case)


def _configured(luck: Luck) -> Thing:
    case = luck.one((_resources, _spread, _default_spread, _inter_pod, _images, _node_affinity))(
        luck
    )
    case["config"] = configs.config(luck, names_of(case))
    return case


def _mixed(luck: Luck) -> Thing:
    case = a_cluster(luck, most_pods=20, tainted=0.3, images=0.4)
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
            luck, names_of(case)
        )
    if luck.chance(0.3):
        neighbours.add_workloads(luck, case)
    if luck.chance(0.3):
        storage.add_storage(case, luck, 0.2)
    if luck.chance(0.2):
        nominate(luck, case, 0.15)
    return perhaps_preempting(luck, case)


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
    "preemption": preemption,
    "configured": _configured,
    "mixed": _mixed,
}
