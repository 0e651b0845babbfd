"""Reload under load: a plugin changes a hundred times while thousands of pods are placed, on a real API server.

``python -m bench.reload --pods 5000 --reloads 100``. Each version of the plugin sends pods to nodes of its own, and says so if it
ever meets parts of another version; every tenth version cannot even be read. Afterwards each pod is looked at: it is bound, and to a
node of the version that was in force in the generation which its binding names. One JSON line without reloads, one with them, and
a verdict; the exit status is 1 where a pod was lost or decided by half a version.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import yaml

from bayplan.testing import make_node, make_pod
from bayplan.testing.control_plane import ControlPlane, Process, wait_until
from bayplan.testing.control_plane.api import Api
from bayplan.testing.control_plane.ports import Port
from bayplan.testing.control_plane.users import ADMINISTRATORS
from bench.churn import Scheduler, bayplan, total

NODES: Final = 200
#: Groups of nodes; a version prefers one of them.
SLOTS: Final = 10
#: Every so manieth version is a file that is no Python.
BROKEN_EVERY: Final = 10
_GENERATION: Final = "bayplan.io/generation"
_READ: Final = re.compile(r'Configuration (taken over|refused)[^\n]*?generation"?[=:]"?(\d+)')
_LATENCY: Final = "bayplan.io/schedulerLatency"

PLUGIN: Final = """\
import asyncio

from bayplan import PreBindPlugin, ReservePlugin, ScorePlugin, StateKey

from . import _version

VERSION = {version}
if _version.VERSION != VERSION:
    raise ImportError("half of one version, half of another")
RESERVED = StateKey[int]("reserved by")


class Slot(ScorePlugin, ReservePlugin, PreBindPlugin):
    def score_node(self, pod, node):
        self.check(_version.VERSION)
        return 100 if node.labels["slot"] == str(VERSION % {slots}) else 0

    def reserve(self, pod, node, state):
        state[RESERVED] = VERSION
        return None

    async def prebind(self, pod, node, state):
        if pod.name.endswith("0"):
            await asyncio.sleep(0.2)  # long enough for another version to come
        self.check(state[RESERVED])
        return None

    def unreserve(self, pod, node, state):
        self.check(state.get(RESERVED) or VERSION)

    def check(self, version):
        if version != VERSION:
            raise RuntimeError(f"version {{version}} in version {{VERSION}}")
"""


class Files:
    """The plugin's two files and the configuration."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plugins = folder / "plugins"
        self.plugins.mkdir(parents=True)
        self.write(0)
        self.config = folder / "scheduler.yaml"
        enabled = {"multiPoint": {"enabled": [{"name": "Slot", "weight": 100}]}}
        documents: list[dict[str, Any]] = [
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "leaderElection": {"leaderElect": False},
                "profiles": [{"schedulerName": "default-scheduler", "plugins": enabled}],
            },
            {
                "apiVersion": "bayplan.io/v1alpha1",
                "kind": "BayplanConfiguration",
                "pluginDirs": ["plugins"],
                "reload": {"watch": False},
            },
        ]
        self.config.write_text(yaml.safe_dump_all(documents), encoding="utf-8")

    def write(self, version: int, *, broken: bool = False) -> None:
        """Put a version there, one file after the other."""
        text = "class Slot(:\n" if broken else PLUGIN.format(version=version, slots=SLOTS)
        for name, content in (("_version.py", f"VERSION = {version}\n"), ("slot.py", text)):
            fresh = self.folder / "fresh"
            fresh.write_text(content, encoding="utf-8")
            fresh.replace(self.plugins / name)


class Feeder:
    """Creates pods at a steady rate in a thread of its own."""

    def __init__(self, api: Api, pods: int, rate: float) -> None:
        self._api = api
        self._pods = pods
        self._rate = rate
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Feeder:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()

    def _run(self) -> None:
        began = time.monotonic()
        for number in range(self._pods):
            late = began + number / self._rate - time.monotonic()
            if late > 0:
                time.sleep(late)
            made = make_pod(f"p{number}").image("none").label("app", f"a{number % 20}")
            self._api.create(made.requests(cpu=f"{number % 7 + 1}m", memory="1Mi").manifest)


def change(scheduler: Scheduler, files: Files, reloads: int, seconds: float) -> dict[int, int]:
    """Bring version after version, evenly over the time; which version each generation has."""
    versions = {1: 0}
    pause = seconds / (reloads + 1)
    for version in range(1, reloads + 1):
        began = time.monotonic()
        files.write(version, broken=version % BROKEN_EVERY == 0)
        scheduler.process.send(signal.SIGHUP)
        wait_until(lambda n=version: len(readings(scheduler)) >= n, "reading", 60)  # type: ignore[misc]
        what, generation = readings(scheduler)[version - 1]
        if what == "taken over":
            versions[generation] = version
        time.sleep(max(began + pause - time.monotonic(), 0))
    return versions


def readings(scheduler: Scheduler) -> list[tuple[str, int]]:
    """What came of each reading, and its number; from the log, since asking would cost the scheduler more than reading does."""
    text = scheduler.process.log.read_text(encoding="utf-8", errors="replace")
    return [(what, int(number)) for what, number in _READ.findall(text)]


@contextmanager
def scheduling(folder: Path, kubeconfig: Path) -> Iterator[tuple[Scheduler, Files]]:
    """``bayplan run`` with the plugin."""
    files = Files(folder)
    port = Port()
    number = port.number
    port.close()
    flags = [f"--config={files.config}", f"--kubeconfig={kubeconfig}", "--secure-port=0"]
    words = bayplan("run", *flags, f"--http-port={number}", "-v=0")
    process = Process("bayplan", words, folder / "scheduler.log")
    scheduler = Scheduler(process, number)
    try:
        wait_until(lambda: _answers(scheduler), "scheduler", 60)
        yield scheduler, files
    finally:
        process.stop()


def _answers(scheduler: Scheduler) -> bool:
    try:
        return scheduler.is_ready()
    except OSError:
        return False


def judge(pods: list[dict[str, Any]], nodes: dict[str, int], versions: dict[int, int]) -> Any:
    """Pods without a node, and pods that are not where their generation's version sends them."""
    lost, wrong = [], []
    for pod in pods:
        name, node = pod["metadata"]["name"], pod["spec"].get("nodeName")
        if not node:
            lost.append(name)
            continue
        generation = int(pod["metadata"]["annotations"][_GENERATION])
        if generation not in versions or versions[generation] % SLOTS != nodes[node]:
            wrong.append(f"{name}: generation {generation} on {node}")
    return lost, wrong


def run(folder: Path, api: Api, kubeconfig: Path, wanted: argparse.Namespace) -> dict[str, Any]:
    """One run on a cluster that is empty yet; ``wanted``: pods, reloads, rate."""
    slots = {}
    for number in range(NODES):
        slots[f"n{number}"] = number % SLOTS
        node = (
            make_node(f"n{number}")
            .capacity(cpu="64", pods="500")
            .label("slot", str(number % SLOTS))
        )
        api.create(node.manifest)
    with scheduling(folder, kubeconfig) as (scheduler, files):
        with Feeder(api, wanted.pods, wanted.rate):
            versions = change(scheduler, files, wanted.reloads, wanted.pods / wanted.rate)
        path = "/api/v1/namespaces/default/pods"
        wait_until(lambda: all(p["spec"].get("nodeName") for p in api.items(path)), "bound", 120)
        pods, metrics = api.items(path), scheduler.metrics()
        lost, wrong = judge(pods, slots, versions)
        seconds = [float(p["metadata"]["annotations"][_LATENCY].rstrip("s")) for p in pods]
        outcomes = {
            outcome: int(metrics.get(f'bayplan_reloads_total{{outcome="{outcome}"}}', 0))
            for outcome in ("applied", "refused", "rolled_back")
        }
        used = {p["metadata"]["annotations"][_GENERATION] for p in pods}
        return {
            "reloads": wanted.reloads,
            **outcomes,
            "pods": len(pods),
            "lost": lost[:5],
            "wrong": wrong[:5],
            "errors": int(total(metrics, "scheduler_schedule_attempts_total", 'result="error"')),
            "generations_with_pods": len(used),
            "p50_ms": round(float(np.percentile(seconds, 50)) * 1000, 2),
            "p99_ms": round(float(np.percentile(seconds, 99)) * 1000, 2),
            "max_ms": round(max(seconds) * 1000, 2),
            # Stretches of 50 ms and more in which the event loop answered nobody.
            "stalls": int(metrics.get("bayplan_event_loop_stall_seconds_count", 0)),
            "stalls_s": round(metrics.get("bayplan_event_loop_stall_seconds_sum", 0.0), 2),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--reloads", type=int, default=100)
    parser.add_argument("--rate", type=float, default=100.0, help="pods per second")
    wanted = parser.parse_args()
    lines = []
    for reloads in (0, wanted.reloads):
        with tempfile.TemporaryDirectory(prefix="reload-") as name:
            folder = Path(name)
            with ControlPlane(folder) as plane:
                kubeconfig = plane.user("bayplan", [ADMINISTRATORS]).kubeconfig
                asked = argparse.Namespace(**{**vars(wanted), "reloads": reloads})
                lines.append(run(folder / "run", plane.admin, kubeconfig, asked))
        print(json.dumps(lines[-1]), flush=True)
    calm, busy = lines
    bad = busy["lost"] or busy["wrong"] or busy["errors"] or busy["rolled_back"]
    verdict = {
        "correct": not bad,
        "p99_factor": round(busy["p99_ms"] / calm["p99_ms"], 2),
    }
    print(json.dumps(verdict), flush=True)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
