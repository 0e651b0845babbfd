"""``kubectl get pods``: the table of pods, with the same summary of a pod's state as kube-apiserver makes."""

from __future__ import annotations

from typing import Final

from bayplan.embedded.objects import Object, as_list, as_object, at, number_at, seconds_of, text_at
from bayplan.embedded.tables.cells import (
    AGE,
    NAME,
    NONE,
    Column,
    has_condition,
    human,
    made,
    text,
)


def _is_sidecar(container: object) -> bool:
    return text_at(container, "restartPolicy") == "Always"


def _sidecars(pod: Object) -> set[str]:
    return {
        text_at(one, "name")
        for one in as_list(at(pod, "spec", "initContainers"))
        if _is_sidecar(one)
    }


def _ready(pod: Object) -> str:
    sidecars = _sidecars(pod)
    total = len(as_list(at(pod, "spec", "containers"))) + len(sidecars)
    ready = sum(
        1
        for one in as_list(at(pod, "status", "containerStatuses"))
        if at(one, "ready") is True and at(one, "state", "running") is not None
    )
    ready += sum(
        1
        for one in as_list(at(pod, "status", "initContainerStatuses"))
        if text_at(one, "name") in sidecars and at(one, "ready") is True
    )
    return f"{ready}/{total}"


def _status(pod: Object) -> str:
    phase = text_at(pod, "status", "phase")
    reason = text_at(pod, "status", "reason") or phase
    if any(
        text_at(one, "type") == "PodScheduled" and text_at(one, "reason") == "SchedulingGated"
        for one in as_list(at(pod, "status", "conditions"))
    ):
        reason = "SchedulingGated"
    initializing = _initializing(pod)
    if initializing and not has_condition(pod, "Initialized"):
        reason = initializing
    else:
        reason = _of_containers(pod, initializing or reason)
    if at(pod, "metadata", "deletionTimestamp"):
        if text_at(pod, "status", "reason") == "NodeLost":
            return "Unknown"
        if phase not in ("Succeeded", "Failed"):
            return "Terminating"
    return reason


def _initializing(pod: Object) -> str:
    """What the first init container that is not done does."""
    sidecars = _sidecars(pod)
    for number, one in enumerate(as_list(at(pod, "status", "initContainerStatuses"))):
        ended = at(one, "state", "terminated")
        if isinstance(ended, dict) and number_at(ended, "exitCode") == 0:
            continue
        if text_at(one, "name") in sidecars and at(one, "started") is True:
            continue
        if isinstance(ended, dict):
            return f"Init:{_how_ended(ended)}"
        waiting = text_at(one, "state", "waiting", "reason")
        if waiting and waiting != "PodInitializing":
            return f"Init:{waiting}"
        return f"Init:{number}/{len(as_list(at(pod, 'spec', 'initContainers')))}"
    return ""


def _how_ended(ended: Object) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{number_at(ended, 'exitCode')}"


def _of_containers(pod: Object, reason: str) -> str:
    running, error = False, ""
    for one in reversed(as_list(at(pod, "status", "containerStatuses"))):
        waiting = text_at(one, "state", "waiting", "reason")
        ended = at(one, "state", "terminated")
        if waiting:
            reason = waiting
        elif isinstance(ended, dict):
            reason = _how_ended(ended)
            if number_at(ended, "exitCode"):
                error = reason
        elif at(one, "ready") is True and at(one, "state", "running") is not None:
            running = True
    if reason != "Completed":
        return reason
    if running and has_condition(pod, "Ready"):
        return "Running"
    if error:
        return error
    return "NotReady" if running else reason


def _restarts(pod: Object, now_s: float) -> str:
    sidecars = _sidecars(pod)
    counted = as_list(at(pod, "status", "containerStatuses")) + [
        one
        for one in as_list(at(pod, "status", "initContainerStatuses"))
        if text_at(one, "name") in sidecars
    ]
    count = sum(number_at(one, "restartCount") for one in counted)
    ends = [
        moment
        for one in counted
        if (stamp := text_at(one, "lastState", "terminated", "finishedAt"))
        and (moment := seconds_of(stamp)) is not None
    ]
    return f"{count} ({human(now_s - max(ends))} ago)" if count and ends else str(count)


def _ip(pod: Object) -> str:
    addresses = as_list(at(pod, "status", "podIPs"))
    first = as_object(addresses[0]).get("ip") if addresses else at(pod, "status", "podIP")
    return str(first or NONE)


def _gates(pod: Object) -> str:
    gates = as_list(at(pod, "spec", "readinessGates"))
    if not gates:
        return NONE
    met = sum(has_condition(pod, text_at(gate, "conditionType")) for gate in gates)
    return f"{met}/{len(gates)}"


PODS: Final = (
    NAME,
    made("Ready", _ready),
    made("Status", _status),
    Column("Restarts", _restarts),
    AGE,
    made("IP", _ip, wide=True),
    text("Node", "spec", "nodeName", empty=NONE, priority=1),
    text("Nominated Node", "status", "nominatedNodeName", empty=NONE, priority=1),
    made("Readiness Gates", _gates, wide=True),
)
