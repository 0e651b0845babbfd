"""A decision as a case: a file that ``bayplan evaluate`` replays and a bug report can carry.

Called by ``explain --save``. Objects are written as the scheduler has read them, so what does not matter to a decision
(commands, environments, secrets mounted, statuses of containers) stays at home.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from bayplan.framework.config import own
from bayplan.model.meta import KubeObject
from bayplan.model.pod import Pod
from bayplan.model.pod_group import GroupKey, group_of
from bayplan.sim.cases import LISTS
from bayplan.sim.situation import Situation

_DEFAULT: Final = "default-scheduler"
_FIELDS: Final = {kind: field for field, kind in LISTS.items()}
#: kubectl's copy of the whole manifest, with all that was left out above.
_COPIES: Final = ("kubectl.kubernetes.io/last-applied-configuration",)


def case_of(
    situation: Situation, config: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """The case that asks for the decision on this pod; ``config``: the documents of a configuration, if there is one.

    The profile that decides has to be the first one of the configuration.
    """
    case: dict[str, Any] = {"id": f"explain-{situation.pod.key}", "suite": "explain"}
    if config:
        case["config"] = config
    group = group_of(situation.pod)
    lists: dict[str, list[Any]] = {name: [] for name in LISTS}
    for obj in situation.objects:
        if isinstance(obj, Pod) and not (_counts(obj) or _is_sibling(obj, group)):
            continue
        lists[_FIELDS[type(obj)]].append(as_json(obj))
    case |= {name: found for name, found in lists.items() if found or name in {"nodes", "pods"}}
    case["pod"] = as_json(situation.pod)
    case["preempt"] = True
    # Pods with a promised node are known in full, not just by name as in a conformance case.
    case["queued"] = True
    return case


def _counts(pod: Pod) -> bool:
    """Whether a pod takes or is promised a node."""
    if pod.is_finished:
        return False
    return bool(pod.spec.node_name or pod.status.nominated_node_name)


def _is_sibling(pod: Pod, group: GroupKey | None) -> bool:
    """Whether a pod is decided together with the one that the case is about."""
    return group is not None and not pod.is_finished and group_of(pod) == group


def as_json(obj: KubeObject) -> dict[str, Any]:
    """An object with the fields that bayplan knows."""
    built: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(obj))
    annotations = built.get("metadata", {}).get("annotations", {})
    for name in _COPIES:
        annotations.pop(name, None)
    return {"apiVersion": type(obj).api_versions[0], **built}


def config_documents(
    documents: Sequence[Mapping[str, Any]], scheduler_name: str, plugin_dirs: Sequence[Path] = ()
) -> list[Mapping[str, Any]]:
    """A configuration's documents for a case: the profile that decides first, plugin directories in full.

    Nothing, where there is neither a configuration nor a plugin directory.
    """
    found: list[Mapping[str, Any]] = []
    dirs = [str(directory.resolve()) for directory in plugin_dirs]
    for document in documents:
        if document.get("kind") == own.KIND:
            dirs += map(str, document.get("pluginDirs") or ())
            found.append({k: v for k, v in document.items() if k != "pluginDirs"})
        else:
            found.append(_first(document, scheduler_name))
    if dirs:
        mine = next((d for d in found if d.get("kind") == own.KIND), None)
        with_dirs = {
            **(mine or {"apiVersion": own.VERSION, "kind": own.KIND}),
            "pluginDirs": list(dict.fromkeys(dirs)),
        }
        found = [*(d for d in found if d is not mine), with_dirs]
    return found


def _first(document: Mapping[str, Any], scheduler_name: str) -> Mapping[str, Any]:
    profiles = document.get("profiles")
    if not isinstance(profiles, list):
        return document
    ordered = sorted(profiles, key=lambda p: (p.get("schedulerName") or _DEFAULT) != scheduler_name)
    return {**document, "profiles": ordered}
