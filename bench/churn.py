"""Churn: pods come and go, nodes flap, and a scheduler's memory is to stay flat and its columns right.

``python -m bench.churn --minutes 10``; with ``--api real`` on a real kube-apiserver instead of the embedded one. One JSON line per
minute: the scheduler's memory, what was bound and what waits, and what a comparison of its columns with the API server found
(SIGUSR2), in the midst of it all. The last line is the verdict; the exit status is 1 where it is a bad one.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import re
import signal
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from bayplan.errors import ApiError, NotFound, Unreachable
from bayplan.testing import NodeBuilder, make_node, make_pod
from bayplan.testing.control_plane import ControlPlane, Process, wait_until
from bayplan.testing.control_plane.api import Api, Login
from bayplan.testing.control_plane.ports import Port
from bayplan.testing.control_plane.users import ADMINISTRATORS

PODS_PER_S = 50
#: A pod lives so long; with the rate that makes a thousand at a time.
LIFE_S = 20.0
#: Every so often a node is deleted, and comes back a little later.
FLAP_S = 2.0
AWAY_S = 1.0
#: Caches of a fixed size and the allocator's reserves fill up first: minutes that do not count.
WARM_UP_MINUTES = 3
#: Flat is what grows by less, by the median of the slopes between all minutes: 1 MB is what a minute's 3,000 pods would leave
#: behind at 350 bytes each.
FLAT_MB_PER_MINUTE = 1.0

NODES = 100


def node(number: int) -> NodeBuilder:
    return make_node(f"n{number}").zone(f"z{number % 3}").capacity(cpu="8")


def pod(number: int) -> dict[str, Any]:
    """Of many shapes, each with labels of its own; a few fit nowhere, and most are no trouble."""
    made = make_pod(f"p{number}").image("none").label("app", f"a{number % 50}")
    made.label("unique", f"u{number}").requests(cpu=f"{number % 97 + 1}m", memory="1Mi")
    match number % 10:
        case 0:
            made.spread(5, "topology.kubernetes.io/zone", {"app": f"a{number % 50}"})
        case 1:
            alone = {"unique": f"u{number}"} if number % 50 == 1 else {"app": f"a{number % 50}"}
            made.affinity(alone, "kubernetes.io/hostname", anti=True)
        case 2 if number % 50 == 2:
            made.node_selector({"example.com/nowhere": "yes"})
    return made.manifest


class Churn:
    """Creates and deletes pods and nodes in threads of its own."""

    def __init__(self, api: Api, rate: float) -> None:
        self._api = api
        self._rate = rate
        self._alive: deque[tuple[float, dict[str, Any]]] = deque()
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=work) for work in (self._pods, self._nodes)]
        self.created = 0
        self.flaps = 0
        self.refused = 0

    def __enter__(self) -> Churn:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _pods(self) -> None:
        begun = time.monotonic()
        while not self._ended.is_set():
            now = time.monotonic()
            while self._alive and self._alive[0][0] < now - LIFE_S:
                self._try("DELETE", self._alive.popleft()[1])
            due = int((now - begun) * self._rate) - self.created
            for _ in range(min(due, 10)):
                made = pod(self.created)
                self.created += 1
                self._try("POST", made)
                self._alive.append((now, made))
            self._ended.wait(1 / self._rate)

    def _nodes(self) -> None:
        while not self._ended.wait(FLAP_S):
            flapping = node(self.flaps * 7 % NODES).manifest
            self._try("DELETE", flapping)
            self._ended.wait(AWAY_S)
            self._try("POST", flapping)
            self.flaps += 1

    def _try(self, verb: str, obj: dict[str, Any]) -> None:
        try:
            if verb == "POST":
                self._api.create(obj)
            else:
                self._api.delete(obj, grace_s=0)
        except NotFound:
            pass
        except (ApiError, Unreachable):
            self.refused += 1


class Scheduler:
    """``bayplan run`` as a process."""

    def __init__(self, process: Process, port: int) -> None:
        self.process = process
        self._port = port
        self._read = 0

    def memory_mb(self) -> float:
        """What it has in memory, as Linux counts it."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(found[1]) / 1024 if found else 0.0

    def metrics(self) -> dict[str, float]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=30) as page:
            lines = page.read().decode().splitlines()
        samples = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        return {name: float(value) for name, value in samples}

    def is_ready(self) -> bool:
        """Whether it decides. Raises ``OSError``."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/readyz", timeout=5) as page:
            return bool(page.status == 200)

    def compare(self) -> list[str]:
        """What it finds when it compares its columns with the API server."""
        self._read = self.process.log.stat().st_size
        self.process.send(signal.SIGUSR2)
        wait_until(lambda: "Dump of scheduling queue" in self._said(), "comparison in the log", 120)
        said = self._said()
        wrong = [line for line in said.splitlines() if "Cache mismatch" in line]
        agreed = "Columns and API server agree" in said
        return wrong if wrong or agreed else ["no comparison: " + said[:300]]

    def _said(self) -> str:
        with self.process.log.open("rb") as log:
            log.seek(self._read)
            return log.read().decode(errors="replace")


@contextlib.contextmanager
def embedded(folder: Path) -> Iterator[tuple[Api, Path]]:
    """``bayplan cluster`` as a process, whose agents run the pods."""
    kubeconfig = folder / "kubeconfig"
    words = ["cluster", "--nodes=0", "--port=0", "--tls", "--token=x", f"--kubeconfig={kubeconfig}"]
    process = Process("cluster", bayplan(*words), folder / "cluster.log")
    try:
        wait_until(kubeconfig.exists, "embedded cluster", 60)
        config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        authority = folder / "authority.pem"
        authority.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
        with Api(cluster["server"], authority.read_bytes(), Login(token=user["token"])) as api:
            yield api, kubeconfig
    finally:
        process.stop()


@contextlib.contextmanager
def real(folder: Path) -> Iterator[tuple[Api, Path]]:
    """Etcd and a kube-apiserver, without kubelets."""
    with ControlPlane(folder) as plane:
        yield plane.admin, plane.user("bayplan", [ADMINISTRATORS]).kubeconfig


def bayplan(*words: str) -> list[str]:
    return [sys.executable, "-m", "bayplan", *words]


@contextlib.contextmanager
def scheduling(folder: Path, kubeconfig: Path) -> Iterator[Scheduler]:
    with contextlib.closing(Port()) as free:
        port = free.number
    config = folder / "scheduler.yaml"
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
    }
    config.write_text(yaml.safe_dump(document), encoding="utf-8")
    flags = [f"--config={config}", f"--kubeconfig={kubeconfig}", "--secure-port=0"]
    words = bayplan("run", *flags, f"--http-port={port}", "-v=0")
    process = Process("bayplan", words, folder / "scheduler.log")
    try:
        wait_until(lambda: _ready(port), "scheduler", 60)
        yield Scheduler(process, port)
    finally:
        process.stop()


def _ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as page:
            return bool(page.status == 200)
    except OSError:
        return False


def total(metrics: dict[str, float], name: str, label: str = "") -> float:
    """All samples of a metric with this label together."""
    return sum(n for key, n in metrics.items() if key.startswith(name + "{") and label in key)


def slope(values: list[float]) -> float:
    """Growth per step, by the median of the slopes between all pairs: one outlier does not decide."""
    pairs = [
        (values[j] - values[i]) / (j - i)
        for i in range(len(values))
        for j in range(i + 1, len(values))
    ]
    return statistics.median(pairs) if pairs else 0.0


def measure(scheduler: Scheduler, churn: Churn, minutes: int) -> tuple[list[float], int]:
    """A line per minute; memory by minute, and how many differences there were."""
    memory, differences = [], 0
    begun = time.monotonic()
    for minute in range(1, minutes + 1):
        time.sleep(max(begun + 60 * minute - time.monotonic(), 0))
        found, metrics = scheduler.compare(), scheduler.metrics()
        memory.append(scheduler.memory_mb())
        differences += len(found)
        line: dict[str, Any] = {
            "minute": minute,
            "rss_mb": round(memory[-1], 1),
            "created": churn.created,
            "bound": int(total(metrics, "scheduler_schedule_attempts_total", 'result="scheduled"')),
            "pending": int(total(metrics, "scheduler_pending_pods")),
            "pods": int(metrics['scheduler_cache_size{type="pods"}']),
            "flaps": churn.flaps,
            "differences": len(found),
        }
        if found:
            line["first"] = found[0][:400]
        print(json.dumps(line), flush=True)
    return memory, differences


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=int, default=10)
    parser.add_argument("--rate", type=float, default=PODS_PER_S, help="pods per second")
    parser.add_argument("--api", choices=["embedded", "real"], default="embedded")
    wanted = parser.parse_args()
    place = real if wanted.api == "real" else embedded
    with (
        tempfile.TemporaryDirectory(prefix="churn-") as name,
        place(Path(name)) as (api, kubeconfig),
    ):
        for number in range(NODES):
            api.create(node(number).manifest)
        with (
            scheduling(Path(name), kubeconfig) as scheduler,
            Churn(api, wanted.rate) as churn,
        ):
            memory, differences = measure(scheduler, churn, wanted.minutes)
    growth = slope(memory[WARM_UP_MINUTES:])
    verdict = {
        "mb_per_minute": round(growth, 3),
        "memory": "flat" if growth < FLAT_MB_PER_MINUTE else "grows",
        "audit": "clean" if not differences else f"{differences} differences",
        "refused": churn.refused,
    }
    print(json.dumps(verdict), flush=True)
    sys.exit(verdict["memory"] != "flat" or differences > 0)


if __name__ == "__main__":
    main()
