"""A pod's status as a kubelet writes it when containers start and when they are done. Pure; used by ``pods``."""

from __future__ import annotations

from typing import Any, Final

from bayplan.embedded.binding import set_condition
from bayplan.embedded.objects import Object, as_list, at, section, timestamp

_RUNNING: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")


def run(pod: Object, address: str, host: str, now_s: float) -> None:
    """All containers are up and ready."""
    status, stamp = section(pod, "status"), timestamp(now_s)
    status |= {"phase": "Running", "startTime": stamp}
    if host:
        status |= {"hostIP": host, "hostIPs": [{"ip": host}]}
    if address:
        status |= {"podIP": address, "podIPs": [{"ip": address}]}
    for name in _RUNNING:
        set_condition(status, {"type": name, "status": "True"}, now_s)
    status["containerStatuses"] = [
        _container(one, {"running": {"startedAt": stamp}}, up=True)
        for one in as_list(at(pod, "spec", "containers"))
    ]
    initial = as_list(at(pod, "spec", "initContainers"))
    if initial:
        status["initContainerStatuses"] = [
            _container(one, _ended(stamp, stamp), up=False) for one in initial
        ]


def finish(pod: Object, now_s: float) -> None:
    """All containers are done, and well."""
    status, stamp = section(pod, "status"), timestamp(now_s)
    started = str(status.get("startTime", stamp))
    status["phase"] = "Succeeded"
    for name in ("Ready", "ContainersReady"):
        set_condition(status, {"type": name, "status": "False", "reason": "PodCompleted"}, now_s)
    status["containerStatuses"] = [
        _container(one, _ended(started, stamp), up=False)
        for one in as_list(at(pod, "spec", "containers"))
    ]


def _ended(started: str, finished: str) -> Object:
    return {
        "terminated": {
            "exitCode": 0,
            "reason": "Completed",
            "startedAt": started,
            "finishedAt": finished,
        }
    }


def _container(spec: dict[str, Any], state: Object, *, up: bool) -> Object:
    image = spec.get("image", "")
    return {
        "name": spec.get("name", ""),
        "image": image,
        "imageID": image,
        "ready": up,
        "started": up,
        "restartCount": 0,
        "state": state,
        "lastState": {},
    }
