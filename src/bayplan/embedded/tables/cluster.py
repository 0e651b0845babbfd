"""``kubectl get`` for nodes, namespaces, events, services and what governs a cluster."""

from __future__ import annotations

from typing import Final

from bayplan.embedded.objects import Object, as_list, as_object, at, number_at, text_at
from bayplan.embedded.tables.cells import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    Column,
    flag,
    has_condition,
    joined,
    made,
    number,
    pairs,
    since,
    text,
)

_ROLE: Final = "node-role.kubernetes.io/"


def _node_status(node: Object) -> str:
    if not any(
        text_at(one, "type") == "Ready" for one in as_list(at(node, "status", "conditions"))
    ):
        status = ["Unknown"]
    else:
        status = ["Ready" if has_condition(node, "Ready") else "NotReady"]
    if at(node, "spec", "unschedulable") is True:
        status.append("SchedulingDisabled")
    return ",".join(status)


def _roles(node: Object) -> str:
    labels = as_object(at(node, "metadata", "labels"))
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE)}
    return joined(sorted(role for role in roles | {labels.get("kubernetes.io/role", "")} if role))


def _address(node: Object, kind: str) -> str:
    for one in as_list(at(node, "status", "addresses")):
        if text_at(one, "type") == kind:
            return text_at(one, "address")
    return NONE


def _kernel(node: Object) -> str:
    found = text_at(node, "status", "nodeInfo", "kernelVersion") or UNKNOWN
    architecture = text_at(node, "status", "nodeInfo", "architecture")
    return f"{found} ({architecture})" if architecture else found


NODES: Final = (
    NAME,
    made("Status", _node_status),
    made("Roles", _roles),
    AGE,
    text("Version", "status", "nodeInfo", "kubeletVersion"),
    made("Internal-IP", lambda obj: _address(obj, "InternalIP"), wide=True),
    made("External-IP", lambda obj: _address(obj, "ExternalIP"), wide=True),
    text("OS-Image", "status", "nodeInfo", "osImage", empty=UNKNOWN, priority=1),
    made("Kernel-Version", _kernel, wide=True),
    text(
        "Container-Runtime",
        "status",
        "nodeInfo",
        "containerRuntimeVersion",
        empty=UNKNOWN,
        priority=1,
    ),
)


def _first_seen(event: Object, now_s: float) -> str:
    return since(event.get("firstTimestamp") or event.get("eventTime"), now_s)


def _last_seen(event: Object, now_s: float) -> str:
    last = at(event, "series", "lastObservedTime") or event.get("lastTimestamp")
    return since(last, now_s) if last else _first_seen(event, now_s)


def _subject(event: Object) -> str:
    kind = text_at(event, "involvedObject", "kind").lower()
    name = text_at(event, "involvedObject", "name")
    return f"{kind}/{name}" if name else kind


def _source(event: Object) -> str:
    who = text_at(event, "source", "component") or text_at(event, "reportingComponent")
    where = text_at(event, "source", "host") or text_at(event, "reportingInstance")
    return f"{who}, {where}" if where else who


def _count(event: Object) -> int:
    return number_at(event, "series", "count") or number_at(event, "count") or 1


EVENTS: Final = (
    Column("Last Seen", _last_seen),
    text("Type", "type"),
    text("Reason", "reason"),
    made("Object", _subject),
    text("Subobject", "involvedObject", "fieldPath", priority=1),
    made("Source", _source, wide=True),
    made("Message", lambda obj: text_at(obj, "message").strip()),
    Column("First Seen", _first_seen, priority=1),
    made("Count", _count, wide=True),
    text("Name", "metadata", "name", priority=1),
)

NAMESPACES: Final = (NAME, text("Status", "status", "phase"), AGE)


def _ports(service: Object) -> str:
    parts = []
    for one in as_list(at(service, "spec", "ports")):
        port, protocol = at(one, "port"), text_at(one, "protocol")
        node_port = at(one, "nodePort")
        parts.append(f"{port}:{node_port}/{protocol}" if node_port else f"{port}/{protocol}")
    return joined(parts)


def _external(service: Object) -> str:
    if text_at(service, "spec", "type") == "ExternalName":
        return text_at(service, "spec", "externalName")
    found = as_list(at(service, "spec", "externalIPs"))
    if text_at(service, "spec", "type") == "LoadBalancer" and not found:
        return "<pending>"
    return joined(found)


SERVICES: Final = (
    NAME,
    text("Type", "spec", "type"),
    text("Cluster-IP", "spec", "clusterIP", empty=NONE),
    made("External-IP", _external),
    made("Port(s)", _ports),
    AGE,
    made("Selector", lambda obj: pairs(at(obj, "spec", "selector")), wide=True),
)

BUDGETS: Final = (
    NAME,
    text("Min Available", "spec", "minAvailable", empty="N/A"),
    text("Max Unavailable", "spec", "maxUnavailable", empty="N/A"),
    number("Allowed Disruptions", "status", "disruptionsAllowed"),
    AGE,
)
PRIORITY_CLASSES: Final = (
    NAME,
    number("Value", "value"),
    flag("Global-Default", "globalDefault"),
    AGE,
    text("PreemptionPolicy", "preemptionPolicy"),
)
LEASES: Final = (NAME, text("Holder", "spec", "holderIdentity"), AGE)


def _quota_side(quota: Object, *, limits: bool) -> str:
    used = as_object(at(quota, "status", "used"))
    return ", ".join(
        f"{name}: {used.get(name, 0)}/{hard}"
        for name, hard in sorted(as_object(at(quota, "status", "hard")).items())
        if name.startswith("limits.") is limits
    )


QUOTAS: Final = (
    NAME,
    made("Request", lambda obj: _quota_side(obj, limits=False)),
    made("Limit", lambda obj: _quota_side(obj, limits=True)),
    AGE,
)
CONFIG_MAPS: Final = (
    NAME,
    made("Data", lambda obj: len(as_object(obj.get("data")))),
    AGE,
)
SECRETS: Final = (
    NAME,
    text("Type", "type"),
    made("Data", lambda obj: len(as_object(obj.get("data")))),
    AGE,
)
RUNTIME_CLASSES: Final = (NAME, text("Handler", "handler"), AGE)


def _claim_state(claim: Object) -> str:
    gone = at(claim, "metadata", "deletionTimestamp")
    states = ["deleted"] if gone else []
    if at(claim, "status", "allocation") is None:
        states += [] if gone else ["pending"]
    else:
        states.append("allocated")
        if at(claim, "status", "reservedFor"):
            states.append("reserved")
    return ",".join(states)


RESOURCE_CLAIMS: Final = (NAME, made("State", _claim_state), AGE)
RESOURCE_SLICES: Final = (
    NAME,
    text("Node", "spec", "nodeName"),
    text("Driver", "spec", "driver"),
    text("Pool", "spec", "pool", "name"),
    AGE,
)
