"""A whole kube-scheduler with our extender, beside one with an extender in Go that does nothing: ``python -m bench.extended``.

On a real API server (``make kube``), with nodes by name (``nodeCacheCapable: true``). Two stock schedulers stand ready, each with
its extender; they are given pods in turn, and it is timed how long until the last of them is bound. JSON lines on stdout, the last of
them the ratio. Arguments: nodes, pods per turn, rounds.
"""

from __future__ import annotations

import contextlib
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from bayplan.testing import make_node, make_pod
from bayplan.testing.control_plane import ControlPlane, History
from bench.extender import EXAMPLE, REFERENCE, ROOT, START_S, started


def scheduler(plane: ControlPlane, name: str, port: int) -> None:
    """A stock scheduler of this name, with an extender at this port."""
    entry = {
        "urlPrefix": f"http://127.0.0.1:{port}",
        "filterVerb": "filter",
        "nodeCacheCapable": True,
        "weight": 1,
    }
    profiles = [{"schedulerName": name}]
    plane.start_scheduler({"profiles": profiles, "extenders": [entry]}, name=name)


def our_extender(plane: ControlPlane) -> int:
    """Ours, with its own cache; its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    login = plane.user("extender", ["system:masters"]).kubeconfig
    plane.start(
        "extender",
        [
            *(sys.executable, "-m", "bayplan", "extender", f"--bind=127.0.0.1:{port}"),
            *(f"--config={EXAMPLE / 'config.yaml'}", f"--plugin-dir={EXAMPLE}"),
            f"--kubeconfig={login}",
        ],
    )
    until = time.perf_counter() + START_S
    while time.perf_counter() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return port
        threading.Event().wait(0.1)
    raise SystemExit("our extender does not come up")


def turn(plane: ControlPlane, pods: History, name: str, number: int, count: int) -> float:
    """Pods per second."""
    made = [
        make_pod(f"{name}-{number}-{i}").image("none").scheduler(name).requests(cpu="1m").manifest
        for i in range(count)
    ]
    keys = [f"default/{each['metadata']['name']}" for each in made]
    began = time.perf_counter()
    plane.admin.create_all(made)

    def bound(objects: dict[str, Any]) -> bool:
        return all(key in objects and objects[key]["spec"].get("nodeName") for key in keys)

    pods.wait(bound, "bound pods", 300.0)
    passed = time.perf_counter() - began
    for each in made:
        plane.admin.delete(each, grace_s=0)
    return count / passed


def main() -> None:
    """Measure, and print."""
    nodes, count, rounds = (*map(int, sys.argv[1:4]), *(1000, 300, 5)[len(sys.argv) - 1 :])
    subprocess.run([ROOT / "tools" / "extender" / "build"], check=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        ControlPlane(Path(folder)) as plane,
        History(plane.admin, "/api/v1/pods") as pods,
        started([str(REFERENCE)]) as reference,
    ):
        assert reference.stdout is not None
        scheduler(plane, "with-go", int(reference.stdout.readline()))
        plane.admin.create_all(
            make_node(f"node-{i:05}").capacity(cpu="64", memory="256Gi", pods="1000").manifest
            for i in range(nodes)
        )
        scheduler(plane, "with-bayplan", our_extender(plane))
        rates: dict[str, list[float]] = {"with-bayplan": [], "with-go": []}
        for number in range(rounds + 1):
            for name, found in rates.items():
                rate = turn(plane, pods, name, number, count)
                if number:  # the first is for warming up
                    found.append(rate)
        for name, found in rates.items():
            print(json.dumps({"scheduler": name, "pods_per_s": round(statistics.median(found), 1)}))
        pairs = [a / b for a, b in zip(rates["with-bayplan"], rates["with-go"], strict=True)]
        print(json.dumps({"bayplan_over_go": round(statistics.median(pairs), 2)}))


if __name__ == "__main__":
    main()
