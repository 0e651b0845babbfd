"""Admission: ResourceQuota. What a namespace has used is counted, and what would exceed its quota is refused.

Fed with every change of a shelf by the store. As long as no namespace has a quota nothing is counted at all.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bayplan.embedded import refusals
from bayplan.embedded.entries import Change, Entry
from bayplan.embedded.objects import Object, as_list, as_object, at, section, text_at
from bayplan.embedded.rules.quantities import nano, written

if TYPE_CHECKING:
    from bayplan.embedded.kinds import Kind
    from bayplan.embedded.shelves import Shelves

SHELF: Final = "resourcequotas"

_ONE: Final = 10**9

#: Resources whose objects may be counted under their bare name, not as ``count/x`` alone.
_BARE: Final = frozenset(
    {
        "pods",
        "services",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "replicationcontrollers",
        "resourcequotas",
    }
)
#: Of a pod's requests these have a name without ``requests.`` too.
_PLAIN: Final = frozenset({"cpu", "memory", "ephemeral-storage"})

Usage = dict[str, int]


class Quotas:
    """The quotas of all namespaces and what is used of them."""

    def __init__(self, shelves: Shelves) -> None:
        self._shelves = shelves
        self._followed: set[str] = set()
        #: Usage by quota key and object: what each object takes of each quota.
        self._taken: dict[str, dict[str, Usage]] = {}
        shelves[SHELF].listen(self._on_quota)
        self.resume()

    def resume(self) -> None:
        """Count for the quotas that are there already."""
        for entry in list(self._shelves[SHELF].entries.values()):
            self._begin(entry)

    def admit(self, kind: Kind, obj: Object, namespace: str) -> None:
        """Refuse a new object that its namespace has no room for.

        Raises:
            RequestRefused: 403.
        """
        if not self._taken:
            return
        for entry in self._of(namespace):
            quota = entry.decode()
            hard = as_object(at(quota, "spec", "hard"))
            if kind.shelf == "pods" and _in_scope(obj, quota):
                self._check_named(kind, obj, quota)
            takes = _usage(kind.shelf, obj, quota)
            used = self._used(entry.key)
            over = [
                name
                for name in sorted(hard)
                if name in takes and used.get(name, 0) + takes[name] > nano(hard[name])
            ]
            if over:
                why = (
                    f"exceeded quota: {entry.name}, requested: {_listed(over, takes)}, "
                    f"used: {_listed(over, used)}, "
                    f"limited: {','.join(f'{name}={hard[name]}' for name in over)}"
                )
                name = text_at(obj, "metadata", "name")
                raise refusals.forbidden(kind.plural, kind.group, name, why)

    def _check_named(self, kind: Kind, obj: Object, quota: Object) -> None:
        """A pod must say how much it takes of what is limited."""
        missing: dict[str, list[str]] = {}
        for limited in as_object(at(quota, "spec", "hard")):
            side, _, resource = limited.rpartition(".")
            if resource not in ("cpu", "memory") or side not in ("", "requests", "limits"):
                continue
            for container in as_list(at(obj, "spec", "containers")):
                if at(container, "resources", side or "requests", resource) is None:
                    missing.setdefault(limited, []).append(text_at(container, "name"))
        if missing:
            listed = "; ".join(
                f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing)
            )
            why = f"failed quota: {text_at(quota, 'metadata', 'name')}: must specify {listed}"
            raise refusals.forbidden(kind.plural, kind.group, text_at(obj, "metadata", "name"), why)

    def _of(self, namespace: str) -> list[Entry]:
        entries = self._shelves[SHELF].entries
        found = [entries.get(key) for key in sorted(self._taken)]
        return [entry for entry in found if entry is not None and entry.namespace == namespace]

    def _used(self, quota_key: str) -> Usage:
        total: Usage = {}
        for usage in self._taken[quota_key].values():
            for name, amount in usage.items():
                total[name] = total.get(name, 0) + amount
        return total

    # Following

    def _on_quota(self, change: Change) -> None:
        if change.entry.key not in self._shelves[SHELF].entries:
            self._taken.pop(change.entry.key, None)
        elif change.previous is None:
            self._begin(change.entry)
        else:
            before, now = change.previous.decode(), change.entry.decode()
            if before.get("spec") != now.get("spec"):
                self._begin(change.entry)

    def _begin(self, entry: Entry) -> None:
        quota = entry.decode()
        taken: dict[str, Usage] = {}
        for shelf in _shelves_of(quota):
            if shelf not in self._followed:
                self._followed.add(shelf)
                self._shelves[shelf].listen(partial(self._on_change, shelf))
            for one in self._shelves[shelf].entries.values():
                if one.namespace == entry.namespace:
                    self._take(taken, shelf, one, quota)
        self._taken[entry.key] = taken
        self._write(entry)

    def _on_change(self, shelf: str, change: Change) -> None:
        if not self._taken:
            return
        entry = change.entry
        gone = entry.key not in self._shelves[shelf].entries
        for quota in self._of(entry.namespace):
            taken = self._taken[quota.key]
            before = taken.get(f"{shelf}/{entry.key}")
            if gone:
                taken.pop(f"{shelf}/{entry.key}", None)
            else:
                self._take(taken, shelf, entry, quota.decode())
            if taken.get(f"{shelf}/{entry.key}") != before:
                self._write(quota)

    def _take(self, taken: dict[str, Usage], shelf: str, entry: Entry, quota: Object) -> None:
        usage = _usage(shelf, entry.decode(), quota)
        if usage:
            taken[f"{shelf}/{entry.key}"] = usage
        else:
            taken.pop(f"{shelf}/{entry.key}", None)

    def _write(self, entry: Entry) -> None:
        quota = entry.decode()
        hard = as_object(at(quota, "spec", "hard"))
        used = self._used(entry.key)
        status = {
            "hard": hard,
            "used": {name: written(name, used.get(name, 0)) for name in sorted(hard)},
        }
        if quota.get("status") != status:
            section(quota, "status").clear()
            quota["status"] = status
            self._shelves.put(SHELF, quota)


def _listed(names: list[str], usage: Usage) -> str:
    return ",".join(f"{name}={written(name, usage.get(name, 0))}" for name in names)


def _shelves_of(quota: Object) -> set[str]:
    """The shelves whose objects a quota counts."""
    found = set()
    for name in as_object(at(quota, "spec", "hard")):
        if name.startswith("count/"):
            found.add(name.removeprefix("count/"))
        elif name in _BARE:
            found.add(name)
        elif name == "requests.storage" or "storageclass.storage.k8s.io" in name:
            found.add("persistentvolumeclaims")
        else:
            found.add("pods")
    return found


def _usage(shelf: str, obj: Object, quota: Object) -> Usage:
    """What an object takes of a quota, of the resources that it limits."""
    if shelf == "pods" and not _in_scope(obj, quota):
        return {}
    takes: Usage = {f"count/{shelf}": _ONE}
    if shelf in _BARE and (shelf != "pods" or not _is_over(obj)):
        takes[shelf] = _ONE
    if shelf == "pods" and not _is_over(obj):
        takes |= _pod_usage(obj)
    if shelf == "persistentvolumeclaims":
        size = nano(at(obj, "spec", "resources", "requests", "storage"))
        takes["requests.storage"] = size
        storage_class = text_at(obj, "spec", "storageClassName")
        if storage_class:
            prefix = f"{storage_class}.storageclass.storage.k8s.io"
            takes[f"{prefix}/requests.storage"] = size
            takes[f"{prefix}/persistentvolumeclaims"] = _ONE
    limited = as_object(at(quota, "spec", "hard"))
    return {name: amount for name, amount in takes.items() if name in limited}


def _is_over(pod: Object) -> bool:
    return text_at(pod, "status", "phase") in ("Succeeded", "Failed")


def _pod_usage(pod: Object) -> Usage:
    found: Usage = {}
    for side in ("requests", "limits"):
        for name, amount in _total(as_object(pod.get("spec")), side).items():
            found[f"{side}.{name}"] = amount
            if side == "requests" and (name in _PLAIN or name.startswith("hugepages-")):
                found[name] = amount
    return found


def _total(spec: Object, side: str) -> Usage:
    """The sum over containers, or what one init container needs if that is more; plus overhead."""
    total: Usage = {}
    for container in as_list(spec.get("containers")):
        for name, amount in as_object(at(container, "resources", side)).items():
            total[name] = total.get(name, 0) + nano(amount)
    for container in as_list(spec.get("initContainers")):
        for name, amount in as_object(at(container, "resources", side)).items():
            total[name] = max(total.get(name, 0), nano(amount))
    for name, amount in as_object(spec.get("overhead")).items():
        total[name] = total.get(name, 0) + nano(amount)
    return total


def _in_scope(pod: Object, quota: Object) -> bool:
    spec = as_object(quota.get("spec"))
    wanted: list[tuple[str, str, list[Any]]] = [
        (scope, "Exists", []) for scope in as_list(spec.get("scopes"))
    ]
    for one in as_list(at(spec, "scopeSelector", "matchExpressions")):
        values = as_list(at(one, "values"))
        wanted.append((text_at(one, "scopeName"), text_at(one, "operator"), values))
    return all(_scope_holds(pod, scope, operator, values) for scope, operator, values in wanted)


def _scope_holds(pod: Object, scope: str, operator: str, values: list[str]) -> bool:
    ends = at(pod, "spec", "activeDeadlineSeconds") is not None
    best_effort = text_at(pod, "status", "qosClass") == "BestEffort"
    match scope:
        case "Terminating":
            return ends
        case "NotTerminating":
            return not ends
        case "BestEffort":
            return best_effort
        case "NotBestEffort":
            return not best_effort
        case "PriorityClass":
            name = text_at(pod, "spec", "priorityClassName")
            holds = {"In": name in values, "NotIn": name not in values, "Exists": bool(name)}
            return holds.get(operator, not name)
        case _:
            return True
