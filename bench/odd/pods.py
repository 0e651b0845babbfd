"""Pods: containers, what they ask for, tolerations, ports, and how far they are."""

from __future__ import annotations

from bench.odd import amounts
from bench.odd.luck import Luck, Thing
from bench.odd.nodes import EFFECTS, IMAGES, TAINT_KEYS, TAINT_VALUES
from bench.odd.selectors import NAMESPACES, labels

_PRIORITIES = (0, 0, 5, 10, 100, 1000, -10, 2_000_000_000, 2147483647, -2147483648)


def pod(luck: Luck, name: str, *, on: str = "", odd: float = 0.03, namespace: str = "") -> Thing:
    """A pod with one or more containers, on a node or pending."""
    spec: Thing = {"schedulerName": "default-scheduler", "containers": []}
    spec["containers"] = luck.times(lambda: container(luck, odd), 3 if luck.chance(0.3) else 1, 1)
    status: Thing = {"phase": "Pending"}
    if on:
        spec["nodeName"] = on
        status["phase"] = luck.one(("Running", "Running", "Running", "Pending", "Unknown"))
        luck.maybe(status, "startTime", 0.97, lambda: a_time(luck))
    meta = {
        "name": name,
        "namespace": namespace or luck.one(("default", "default", *NAMESPACES)),
        "uid": f"uid-{name}",
        "labels": labels(luck),
        "creationTimestamp": a_time(luck),
    }
    if not meta["labels"] and luck.chance(0.5):
        del meta["labels"]
    luck.maybe(spec, "priority", 0.4, lambda: luck.one(_PRIORITIES))
    if on and luck.chance(0.07):
        terminate(luck, meta)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}


def terminate(luck: Luck, meta: Thing) -> None:
    """Make a pod one that is being deleted."""
    meta["deletionTimestamp"] = a_time(luck)
    meta["deletionGracePeriodSeconds"] = 30
    meta["finalizers"] = ["example.com/held"]


def a_time(luck: Luck) -> str:
    """A time of a month's hours, so that two pods now and then share one."""
    return f"2026-01-{luck.randint(1, 28):02}T{luck.randrange(24):02}:00:00Z"


def container(luck: Luck, odd: float, extended: float = 0.1) -> Thing:
    """A container."""
    resources: Thing = {}
    if luck.chance(0.8):
        resources["requests"] = amounts.requests(luck, odd, extended)
    if luck.chance(0.15):
        resources["limits"] = amounts.requests(luck, odd, extended)
    return {
        "name": f"c{luck.randrange(10**9)}",
        "image": "registry.example.com/app:1",
        "resources": resources,
    }


def add_init_containers(luck: Luck, made: Thing, odd: float) -> None:
    """Init containers, some of them sidecars."""
    containers = luck.times(lambda: container(luck, odd), 4, 1)
    for each in containers:
        luck.maybe(each, "restartPolicy", 0.4, lambda: luck.one(("Always", "Always", "OnFailure")))
    made["spec"]["initContainers"] = containers


def add_pod_level(luck: Luck, made: Thing, odd: float) -> None:
    """Resources of the pod as a whole, overhead."""
    if luck.chance(0.7):
        resources = {"requests": amounts.requests(luck, odd, 0.2)}
        if luck.chance(0.3):
            resources = {"limits": resources["requests"]}
        if luck.chance(0.1):
            resources = luck.one(({}, {"requests": {}}))
        made["spec"]["resources"] = resources
    luck.maybe(made["spec"], "overhead", 0.4, lambda: amounts.requests(luck, odd, 0.2))
    if "overhead" in made["spec"]:
        # Quantities like 1.5Gi share memory there: kube-scheduler adds the overhead to the spec itself, time and again.
        asked = made["spec"].get("resources", {}).get("requests", {})
        for name in [name for name, amount in asked.items() if "." in str(amount)]:
            asked[name] = "1536Mi"


def add_resize(luck: Luck, made: Thing, odd: float) -> None:
    """A resize on its way: what was allocated and what is real differ from what is asked for."""
    spec, status = made["spec"], made["status"]
    for field, statuses in (
        ("containers", "containerStatuses"),
        ("initContainers", "initContainerStatuses"),
    ):
        for each in spec.get(field, ()):
            if luck.chance(0.75):
                said: Thing = {
                    "name": each["name"] if luck.chance(0.95) else "other",
                    "image": "",
                    "imageID": "",
                    "ready": True,
                    "restartCount": 0,
                }
                luck.maybe(
                    said, "allocatedResources", 0.7, lambda: amounts.requests(luck, odd, 0.1)
                )
                luck.maybe(
                    said, "resources", 0.7, lambda: {"requests": amounts.requests(luck, odd, 0.1)}
                )
                status.setdefault(statuses, []).append(said)
    luck.maybe(status, "allocatedResources", 0.3, lambda: amounts.requests(luck, odd, 0))
    luck.maybe(status, "resources", 0.3, lambda: {"requests": amounts.requests(luck, odd, 0)})
    if luck.chance(0.5):
        kind, reason = luck.one(
            (
                ("PodResizePending", "Infeasible"),
                ("PodResizePending", "Deferred"),
                ("PodResizeInProgress", ""),
            )
        )
        condition = {"type": kind, "status": luck.one(("True", "True", "False"))}
        status["conditions"] = [condition | ({"reason": reason} if reason else {})]


def toleration(luck: Luck) -> Thing:
    """A toleration; Lt and Gt are alpha."""
    made: Thing = {}
    luck.maybe(made, "key", 0.85, lambda: luck.one(TAINT_KEYS))
    luck.maybe(
        made,
        "operator",
        0.75,
        lambda: luck.one(("Exists", "Exists", "Equal", "Equal", "", "Lt", "Gt")),
    )
    luck.maybe(made, "value", 0.5, lambda: luck.one(TAINT_VALUES))
    luck.maybe(made, "effect", 0.6, lambda: luck.one((*EFFECTS, "")))
    luck.maybe(made, "tolerationSeconds", 0.1, lambda: luck.one((0, -1, 300)))
    return made


def add_tolerations(luck: Luck, made: Thing, most: int = 4) -> None:
    """Tolerations."""
    made["spec"]["tolerations"] = luck.times(lambda: toleration(luck), most, 1)


def add_images(luck: Luck, made: Thing) -> None:
    """Images that nodes may have already, also as volumes."""
    spec = made["spec"]
    for each in (*spec["containers"], *spec.get("initContainers", ())):
        each["image"] = luck.one(IMAGES)
    if luck.chance(0.2):
        for reference in luck.some(IMAGES, 2, 1):
            volume = {"name": f"i{luck.randrange(99)}", "image": {"reference": reference}}
            spec.setdefault("volumes", []).append(volume)


def add_ports(luck: Luck, made: Thing) -> None:
    """Host ports; those of ordinary init containers do not count."""
    spec = made["spec"]
    for each in (*spec["containers"], *spec.get("initContainers", ())):
        each["ports"] = luck.times(lambda: _port(luck), 3)
    luck.maybe(spec, "hostNetwork", 0.1, lambda: True)


def _port(luck: Luck) -> Thing:
    made: Thing = {"containerPort": 80}
    luck.maybe(made, "hostPort", 0.85, lambda: luck.one((80, 80, 8080, 0)))
    luck.maybe(made, "protocol", 0.7, lambda: luck.one(("TCP", "TCP", "UDP", "SCTP", "")))
    luck.maybe(
        made, "hostIP", 0.5, lambda: luck.one(("0.0.0.0", "127.0.0.1", "10.0.0.1", "", "::", "::1"))
    )
    return made
