"""What is measured: each a process of its own, started against one API server. Used by ``trial``.

``stock``: kube-scheduler as it comes, but for the limit of its client. ``list``: the same without default spread constraints,
so that its batching can work. ``ours``: ``bayplan run``. ``ceiling``: no scheduler, a client that makes the same writes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import yaml

from bayplan.bench import gangs
from bayplan.bench.workload import Workload
from bayplan.testing.control_plane import ControlPlane, Process
from bayplan.testing.control_plane.users import ADMINISTRATORS

Start = Callable[[ControlPlane, Workload], Process]

#: Ten times what the API server takes here: a client's limit is not what is measured.
_FAST: Final = {"qps": 10_000, "burst": 10_000}
_NO_DEFAULT_SPREAD: Final = {
    "name": "PodTopologySpread",
    "args": {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "PodTopologySpreadArgs",
        "defaultingType": "List",
        "defaultConstraints": [],
    },
}


def start_stock(plane: ControlPlane, workload: Workload) -> Process:
    """kube-scheduler."""
    return _kube_scheduler(plane, workload, {})


def start_list(plane: ControlPlane, workload: Workload) -> Process:
    """kube-scheduler, able to batch."""
    profile = {"schedulerName": "default-scheduler", "pluginConfig": [_NO_DEFAULT_SPREAD]}
    return _kube_scheduler(plane, workload, {"profiles": [profile]})


def start_ours(plane: ControlPlane, _: Workload) -> Process:
    """Bayplan."""
    return ours(plane, [sys.executable, "-m", "bayplan"])


def ours(plane: ControlPlane, command: list[str]) -> Process:
    """Bayplan, started by a command of its own."""
    config = plane.folder / "bayplan.yaml"
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
    }
    config.write_text(yaml.safe_dump(document), encoding="utf-8")
    login = plane.user("bayplan", [ADMINISTRATORS]).kubeconfig
    flags = [f"--config={config}", f"--kubeconfig={login}", "--secure-port=0"]
    return plane.start("bayplan", [*command, "run", *flags])


def start_ceiling(plane: ControlPlane, workload: Workload) -> Process:
    """The client that only writes."""
    login = plane.user("ceiling", [ADMINISTRATORS]).kubeconfig
    module = [sys.executable, "-m", "bayplan.bench.ceiling"]
    arguments: list[str | Path] = [login, workload.namespace, str(workload.victims)]
    return plane.start("ceiling", [*module, *arguments])


def _kube_scheduler(plane: ControlPlane, workload: Workload, config: dict[str, Any]) -> Process:
    login = plane.user("kube-scheduler", [ADMINISTRATORS]).kubeconfig
    client = {"kubeconfig": str(login), **_FAST}
    flags = gangs.SCHEDULER_FLAGS if workload.gang_size else ()
    document = {"clientConnection": client, **config}
    return plane.start_scheduler(document, kubeconfig=login, flags=flags)


SUBJECTS: Final[dict[str, Start]] = {
    "stock": start_stock,
    "list": start_list,
    "ours": start_ours,
    "ceiling": start_ceiling,
}
