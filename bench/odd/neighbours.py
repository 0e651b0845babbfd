"""What pods want of other pods: spreading, affinity and anti-affinity; and the workloads that they belong to."""

from __future__ import annotations

from bench.odd.luck import Luck, Thing
from bench.odd.selectors import (
    HOST,
    NAMESPACES,
    POD_LABELS,
    REGION,
    ZONE,
    label_selector,
    namespace_selector,
    wrong_label_selector,
)

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_KEYS = (ZONE, ZONE, HOST, HOST, REGION, "rack", "odd", "absent")
_LABEL_KEYS = (*POD_LABELS, "absent")


def term(luck: Luck) -> Thing:
    """A pod affinity term."""
    made: Thing = {"topologyKey": luck.one(_KEYS[:-2]) if luck.chance(0.95) else luck.one(_KEYS)}
    selector = label_selector(luck)
    if selector is not None:
        made["labelSelector"] = selector
    luck.maybe(made, "namespaces", 0.25, lambda: luck.some((*NAMESPACES, "nowhere"), 2, 1))
    luck.maybe(made, "namespaceSelector", 0.25, lambda: namespace_selector(luck))
    if "labelSelector" in made:
        luck.maybe(made, "matchLabelKeys", 0.08, lambda: luck.some(_LABEL_KEYS, 2, 1))
        luck.maybe(made, "mismatchLabelKeys", 0.08, lambda: luck.some(_LABEL_KEYS, 2, 1))
    return made


def _weighted(luck: Luck) -> Thing:
    return {"weight": luck.one((1, 5, 33, 100, 100)), "podAffinityTerm": term(luck)}


def pod_affinity(luck: Luck, required: float, preferred: float) -> Thing:
    """Affinity or anti-affinity."""
    made: Thing = {}
    luck.maybe(made, _REQUIRED, required, lambda: luck.times(lambda: term(luck), 2, 1))
    luck.maybe(made, _PREFERRED, preferred, lambda: luck.times(lambda: _weighted(luck), 3, 1))
    return made


def add_affinity(luck: Luck, made: Thing, required: float = 0.5, preferred: float = 0.5) -> None:
    """Inter-pod affinity and anti-affinity for a pod."""
    affinity = made["spec"].setdefault("affinity", {})
    luck.maybe(affinity, "podAffinity", 0.6, lambda: pod_affinity(luck, required, preferred))
    luck.maybe(affinity, "podAntiAffinity", 0.6, lambda: pod_affinity(luck, required, preferred))
    if luck.chance(0.3):  # one that the pod itself matches: the first of its kind
        own = made["metadata"].get("labels") or {}
        if own:
            key = luck.one(sorted(own))
            near = {
                "topologyKey": luck.one((ZONE, HOST)),
                "labelSelector": {"matchLabels": {key: own[key]}},
            }
            affinity.setdefault(luck.one(("podAffinity", "podAntiAffinity")), {}).setdefault(
                _REQUIRED, []
            ).append(near)


def spoil_affinity(luck: Luck, made: Thing) -> None:
    """A term that the API server refuses."""
    wrong = term(luck) | {
        luck.one(("labelSelector", "namespaceSelector")): wrong_label_selector(luck)
    }
    affinity = made["spec"].setdefault("affinity", {})
    terms = affinity.setdefault(luck.one(("podAffinity", "podAntiAffinity")), {})
    if luck.chance(0.5):
        terms.setdefault(_REQUIRED, []).append(wrong)
    else:
        terms.setdefault(_PREFERRED, []).append({"weight": 5, "podAffinityTerm": wrong})


def spread(luck: Luck, made: Thing) -> Thing:
    """A topology spread constraint; its selector mostly selects the pod itself."""
    constraint: Thing = {
        "maxSkew": luck.one((1, 1, 2, 3, 5)) if luck.chance(0.97) else luck.one((2147483647, 100)),
        "topologyKey": luck.one(_KEYS[:-2]) if luck.chance(0.95) else luck.one(_KEYS),
        "whenUnsatisfiable": luck.one(("DoNotSchedule", "ScheduleAnyway")),
    }
    own = made["metadata"].get("labels") or {}
    selector: Thing | None = label_selector(luck)
    if own and luck.chance(0.6):
        key = luck.one(sorted(own))
        selector = {"matchLabels": {key: own[key]}}
    if selector is not None:
        constraint["labelSelector"] = selector
    luck.maybe(constraint, "minDomains", 0.2, lambda: luck.one((1, 2, 3, 4, 10)))
    luck.maybe(constraint, "nodeAffinityPolicy", 0.3, lambda: luck.one(("Honor", "Ignore")))
    luck.maybe(constraint, "nodeTaintsPolicy", 0.3, lambda: luck.one(("Honor", "Ignore")))
    luck.maybe(constraint, "matchLabelKeys", 0.2, lambda: luck.some(_LABEL_KEYS, 2, 1))
    return constraint


def add_spread(luck: Luck, made: Thing) -> None:
    """Spread constraints; of one kind a key may come once only."""
    seen = {}
    for constraint in luck.times(lambda: spread(luck, made), 3, 1):
        seen[constraint["topologyKey"], constraint["whenUnsatisfiable"]] = constraint
    made["spec"]["topologySpreadConstraints"] = list(seen.values())


def add_workloads(luck: Luck, case: Thing) -> None:
    """Services and controllers that select pods, and the owner of the pod to place."""
    meta = case["pod"]["metadata"]
    space = meta["namespace"]
    case["services"] = luck.times(lambda: _service(luck, space), 3)
    owner, kind, version = luck.one(
        (("replicasets", "ReplicaSet", "apps/v1"), ("statefulsets", "StatefulSet", "apps/v1"),
         ("replicationcontrollers", "ReplicationController", "v1"), ("", "Job", "batch/v1"))
    )  # fmt: skip
    name = f"owner{luck.randrange(3)}"
    if owner and luck.chance(0.85):
        selector = label_selector(luck)
        if owner == "replicationcontrollers":
            selector = (selector or {}).get("matchLabels")
        elif selector is not None and not selector and luck.chance(0.5):
            selector = {"matchLabels": {"app": "web"}}
        spec: Thing = {} if selector is None else {"selector": selector}
        if owner != "replicationcontrollers":
            spec |= {"template": {"metadata": {}, "spec": {"containers": []}}}
        if owner == "statefulsets":
            spec |= {"serviceName": "s"}
        case[owner] = [
            {
                "apiVersion": version,
                "kind": kind,
                "metadata": {"name": name, "namespace": space},
                "spec": spec,
            }
        ]
    if luck.chance(0.7):
        reference = {"apiVersion": version, "kind": kind, "name": name, "uid": "uid-owner"}
        luck.maybe(reference, "controller", 0.85, lambda: luck.chance(0.95))
        meta["ownerReferences"] = [reference]


def _service(luck: Luck, space: str) -> Thing:
    spec: Thing = {}
    if luck.chance(0.9):
        keys = luck.some(tuple(POD_LABELS), 2)
        spec["selector"] = {key: luck.one(POD_LABELS[key]) for key in keys}
    meta = {
        "name": f"svc{luck.randrange(10**6)}",
        "namespace": space if luck.chance(0.8) else luck.one(NAMESPACES),
    }
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}
