"""Whether what came of a run can be true, whatever the test looked at.

No node over its allocatable in any resource, each pod bound once, none lost, and in every scheduler that still runs nothing
assumed any more and no column that differs from a recount. Amounts are added up by other means than bayplan's.
"""

from __future__ import annotations

import re
import signal
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from bayplan.errors import TimedOut
from bayplan.testing.control_plane import Api, Event, Obj, wait_until
from tests.e2e.subjects import Running

Amounts = defaultdict[str, Fraction]

_SUFFIXES = {"m": Fraction(1, 1000), "": Fraction(1)} | {
    letter + binary: Fraction(base**power)
    for binary, base in (("", 1000), ("i", 1024))
    for power, letter in enumerate("kMGTPE" if not binary else "KMGTPE", start=1)
}


def amount(text: str | int) -> Fraction:
    """``250m``, ``1Gi``, ``2``."""
    found = re.fullmatch(r"([0-9.]+)([A-Za-z]*)", str(text))
    assert found, f"not a quantity: {text}"
    return Fraction(found[1]) * _SUFFIXES[found[2]]


def requests_of(pod: Obj) -> Amounts:
    """What a pod takes of its node: its containers together, or the greediest of those that run before; and overhead."""
    spec = pod["spec"]
    total: Amounts = defaultdict(Fraction)
    for container in spec["containers"]:
        _add(total, _requests(container))
    beside: Amounts = defaultdict(Fraction)
    peak: Amounts = defaultdict(Fraction)
    for container in spec.get("initContainers", []):
        stays = container.get("restartPolicy") == "Always"
        now = defaultdict(Fraction, beside)
        _add(now, _requests(container))
        for resource, wanted in now.items():
            peak[resource] = max(peak[resource], wanted)
        if stays:
            beside = now
    _add(total, beside)
    for resource, wanted in peak.items():
        total[resource] = max(total[resource], wanted)
    _add(total, {name: amount(text) for name, text in spec.get("overhead", {}).items()})
    _add(total, {"pods": Fraction(1)})
    return total


def _requests(container: Obj) -> dict[str, Fraction]:
    requests = container.get("resources", {}).get("requests", {})
    return {resource: amount(text) for resource, text in requests.items()}


def _add(total: Amounts, more: Mapping[str, Fraction]) -> None:
    for resource, wanted in more.items():
        total[resource] += wanted


def audit(
    api: Api,
    history: Sequence[Event],
    running: Sequence[Running],
    may_wait: Iterable[str] = (),
    *,
    rivals: bool = False,
) -> list[str]:
    """All that is wrong, in a line each.

    Where ``rivals`` want the same pods without a lease, each says so when it finds a pod where it wanted it.
    """
    pods = api.items("/api/v1/pods")
    wrong = [
        *overfull(api.items("/api/v1/nodes"), pods),
        *bound_twice(history),
        *([] if rivals else told_twice(api.items("/apis/events.k8s.io/v1/events"))),
        *lost(pods, set(may_wait)),
    ]
    for scheduler in running:
        wrong += unsettled(scheduler)
    return wrong


def overfull(nodes: Sequence[Obj], pods: Sequence[Obj]) -> list[str]:
    used: dict[str, Amounts] = defaultdict(lambda: defaultdict(Fraction))
    for pod in pods:
        if pod["status"].get("phase") not in {"Succeeded", "Failed"}:
            _add(used[pod["spec"].get("nodeName", "")], requests_of(pod))
    return [
        f"node {name} has {allocatable.get(resource, 0)} of {resource}, its pods ask for {float(wanted)}"
        for name, allocatable in (
            (node["metadata"]["name"], node["status"].get("allocatable", {})) for node in nodes
        )
        for resource, wanted in used[name].items()
        if wanted > amount(allocatable.get(resource, 0))
    ]


def bound_twice(history: Sequence[Event]) -> list[str]:
    """A pod's node is set once and never changes; looks at everything that was seen, not at the end alone."""
    nodes: dict[str, dict[str, None]] = defaultdict(dict)
    names = {}
    for event in history:
        node = event.object["spec"].get("nodeName", "")
        uid = event.object["metadata"]["uid"]
        names[uid] = event.key
        if node or nodes[uid]:
            nodes[uid][node] = None
    return [
        f"pod {names[uid]} was bound to {' then to '.join(seen)}"
        for uid, seen in nodes.items()
        if len(seen) > 1
    ]


def told_twice(events: Sequence[Obj]) -> list[str]:
    said: Counter[tuple[str, str]] = Counter()
    for event in events:
        if event.get("reason") == "Scheduled":
            regarding = event["regarding"]
            said[regarding.get("uid", ""), f"{regarding['namespace']}/{regarding['name']}"] += 1
    return [
        f"pod {pod} was said to be scheduled {n} times" for (_, pod), n in said.items() if n > 1
    ]


def lost(pods: Sequence[Obj], may_wait: set[str]) -> list[str]:
    waiting = {
        f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        for pod in pods
        if not pod["spec"].get("nodeName")
    }
    missing = sorted(waiting - may_wait)
    return [f"{len(missing)} pods were never bound: {', '.join(missing[:10])}"] if missing else []


def unsettled(scheduler: Running) -> list[str]:
    """What a scheduler still believes after everything has come to rest, and does not agree with."""
    assumed = 'scheduler_cache_size{type="assumed_pods"}'
    try:
        wait_until(lambda: scheduler.metric(assumed) == 0, "end of assumptions")
        if scheduler.subject == "bayplan":
            return compared(scheduler)
    except TimedOut as late:
        return [f"{scheduler.name}: {late}"]
    return []


def compared(scheduler: Running) -> list[str]:
    """What it finds when it compares its columns with a fresh list and with a recount, which SIGUSR2 tells it to."""
    before = len(scheduler.log())
    scheduler.process.send(signal.SIGUSR2)
    wait_until(
        lambda: re.search(r"Dump of scheduling queue", scheduler.log()[before:]),
        "comparison in the log",
    )
    said = scheduler.log()[before:]
    if "Columns and API server agree" in said:
        return []
    return [
        f"{scheduler.name}: {line}" for line in said.splitlines() if "Cache mismatch" in line
    ] or [f"{scheduler.name}: no comparison: {said[:500]}"]
