"""Our extender beside one in Go that does nothing: ``python -m bench.extender [rounds]``.

Requests per second of the filter verb, with 5,000 names and with 1,000 nodes written out, over one connection that is kept, as
kube-scheduler does it. The two are asked in turn, so that what else the machine does meets both. Ours judges with a plugin
written in Python, which turns half of the nodes down; the other lets everything pass. JSON lines on stdout, the last of them the ratios.
"""

from __future__ import annotations

import contextlib
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / ".kube" / "bin" / "reference-extender"
EXAMPLE = ROOT / "examples" / "extender"
#: How long each of the two is asked in a round.
TURN_S = 2.0
START_S = 30.0


def node(number: int) -> dict[str, Any]:
    """A node as large as those of real clusters are: some ten kilobytes."""
    images = [
        {
            "names": [f"registry.local/team/{number % 7}/image-{i}@sha256:{i:064x}"],
            "sizeBytes": i << 20,
        }
        for i in range(1, 50)
    ]
    conditions = [
        {"type": kind, "status": "False", "reason": f"Kubelet{kind}", "message": "kubelet says so"}
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    return {
        "metadata": {
            "name": f"node-{number:05}",
            "uid": f"{number:032x}",
            "labels": {"disk": "fast" if number % 2 else "slow", "rank": str(number % 100)},
            "annotations": {f"example.com/note-{i}": "x" * 40 for i in range(10)},
        },
        "spec": {"podCIDR": "10.0.0.0/24"},
        "status": {
            "allocatable": {"cpu": "32", "memory": "128Gi", "pods": "110"},
            "capacity": {"cpu": "32", "memory": "128Gi", "pods": "110"},
            "conditions": conditions,
            "images": images,
        },
    }


def pod(number: int) -> dict[str, Any]:
    """Every pod has a name of its own; otherwise they are alike, and half of the nodes will not do."""
    return {
        "metadata": {
            "name": f"pod-{number}",
            "namespace": "default",
            "uid": f"uid-{number}",
            "labels": {"disk": "fast"},
        },
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [{"name": "c", "image": "none"}],
        },
    }


def requests(kind: str) -> list[bytes]:
    """A few requests that differ in their pods, whole with their heads."""
    nodes = [node(number) for number in range(5000 if kind == "names" else 1000)]
    names = [each["metadata"]["name"] for each in nodes] if kind == "names" else None
    listed = None if names is not None else {"metadata": {}, "items": nodes}
    found = []
    for number in range(8):
        body = json.dumps(
            {"Pod": pod(number), "Nodes": listed, "NodeNames": names}, separators=(",", ":")
        ).encode()
        head = b"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        found.append(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    return found


class Connection:
    """One connection that is kept."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=START_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb", buffering=1 << 20)

    def ask(self, request: bytes) -> bytes:
        """The body of the answer."""
        self._socket.sendall(request)
        status = self._file.readline()
        assert b" 200 " in status, status
        length, chunked = 0, False
        while (line := self._file.readline().strip().lower()) != b"":
            if line.startswith(b"content-length:"):
                length = int(line.split(b":")[1])
            chunked |= line == b"transfer-encoding: chunked"
        if not chunked:
            whole: bytes = self._file.read(length)
            return whole
        body = bytearray()
        while size := int(self._file.readline(), 16):
            body += self._file.read(size)
            self._file.readline()
        self._file.readline()
        return bytes(body)


def rate(connection: Connection, asked: list[bytes]) -> float:
    """Requests per second."""
    count, began = 0, time.perf_counter()
    while (passed := time.perf_counter() - began) < TURN_S:
        connection.ask(asked[count % len(asked)])
        count += 1
    return count / passed


@contextlib.contextmanager
def started(words: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A program that is ended at the end."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def ours() -> Iterator[int]:
    """Our extender, with the example's plugin; its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    words = [sys.executable, "-m", "bayplan", "extender", f"--bind=127.0.0.1:{port}"]
    words += [f"--config={EXAMPLE / 'config.yaml'}", f"--plugin-dir={EXAMPLE}"]
    with started(words):
        until = time.perf_counter() + START_S
        while time.perf_counter() < until:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        yield port


def main() -> None:
    """Measure, and print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    subprocess.run([ROOT / "tools" / "extender" / "build"], check=True)
    ratios = {}
    with ours() as port, started([str(REFERENCE)]) as reference:
        assert reference.stdout is not None
        theirs = int(reference.stdout.readline())
        # Nodes first: from them our extender learns what the names stand for.
        for kind in ("nodes", "names"):
            asked = requests(kind)
            sides = {"bayplan": Connection(port), "go": Connection(theirs)}
            passed = json.loads(sides["bayplan"].ask(asked[0]))
            assert not passed["Error"], passed["Error"]
            rates: dict[str, list[float]] = {side: [] for side in sides}
            for _ in range(rounds):
                for side, connection in sides.items():
                    rates[side].append(rate(connection, asked))
            for side, found in rates.items():
                line = {
                    "filter": kind,
                    "side": side,
                    "requests_per_s": round(statistics.median(found), 1),
                }
                print(json.dumps(line), flush=True)
            pairs = [a / b for a, b in zip(rates["bayplan"], rates["go"], strict=True)]
            ratios[kind] = round(statistics.median(pairs), 2)
    print(json.dumps({"bayplan_over_go": ratios}))


if __name__ == "__main__":
    main()
