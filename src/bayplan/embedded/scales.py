"""The ``scale`` subresource: how many replicas, in one form for every workload."""

from __future__ import annotations

from typing import Final

from bayplan.embedded.objects import Object, as_list, as_object, at, number_at, text_at

API_VERSION: Final = "autoscaling/v1"

_METADATA: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(workload: Object) -> Object:
    """What the subresource shows of a workload."""
    meta = workload["metadata"]
    status: Object = {"replicas": number_at(workload, "status", "replicas")}
    selector = selector_text(at(workload, "spec", "selector"))
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": API_VERSION,
        "metadata": {name: meta[name] for name in _METADATA if name in meta},
        "spec": {"replicas": number_at(workload, "spec", "replicas")},
        "status": status,
    }


def with_scale(workload: Object, scale: Object) -> Object:
    """The workload as the subresource asks for it."""
    spec = as_object(workload.get("spec")) | {"replicas": number_at(scale, "spec", "replicas")}
    meta = as_object(workload.get("metadata"))
    meta["resourceVersion"] = text_at(scale, "metadata", "resourceVersion")
    return workload | {"spec": spec, "metadata": meta}


def selector_text(selector: object) -> str:
    """A selector as ``app=web,tier in (a,b)``."""
    if not isinstance(selector, dict):
        return ""
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
    parts = [
        f"{key}={value}" for key, value in sorted(as_object(selector.get("matchLabels")).items())
    ]
    for one in as_list(selector.get("matchExpressions")):
        key, values = text_at(one, "key"), ",".join(as_list(at(one, "values")))
        words = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }
        parts.append(words.get(text_at(one, "operator"), key))
    return ",".join(parts)
