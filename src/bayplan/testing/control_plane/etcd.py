"""etcd for one control plane: in a folder, on loopback, gone at the end.

``plane`` starts it first and ends it last. Nothing has to survive a power failure, so it does not wait for the disk.
"""

from __future__ import annotations

import contextlib
import http.client
import json
from base64 import b64encode
from pathlib import Path
from types import TracebackType

from bayplan.clock import Clock
from bayplan.errors import ControlPlaneError
from bayplan.testing.control_plane.binaries import ETCD, Binaries
from bayplan.testing.control_plane.ports import LOOPBACK, Port
from bayplan.testing.control_plane.processes import Process
from bayplan.testing.control_plane.waiting import wait_ready

#: etcd is up in a tenth of that.
START_S = 30.0


class Etcd:
    """One member, without TLS: whoever may listen on this machine's loopback may read test data."""

    def __init__(self, binaries: Binaries, folder: Path, clock: Clock) -> None:
        self._program = binaries.path(ETCD)
        self._folder = folder
        self._clock = clock
        self._open = contextlib.ExitStack()
        self._port = Port()
        self.pid = 0

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self._port}"

    def __enter__(self) -> Etcd:
        with contextlib.ExitStack() as opening:
            opening.callback(self._port.close)
            peers = Port()
            opening.callback(peers.close)
            peer_url = f"http://{LOOPBACK}:{peers}"
            process = Process(
                "etcd",
                [
                    self._program,
                    f"--data-dir={self._folder / 'etcd'}",
                    f"--listen-client-urls={self.url}",
                    f"--advertise-client-urls={self.url}",
                    f"--listen-peer-urls={peer_url}",
                    f"--initial-advertise-peer-urls={peer_url}",
                    f"--initial-cluster=default={peer_url}",
                    "--socket-reuse-port",
                    "--unsafe-no-fsync",
                    "--log-level=warn",
                ],
                self._folder / "logs" / "etcd.log",
            )
            opening.callback(process.stop)
            self.pid = process.pid
            wait_ready(self._healthy, process, START_S, self._clock)
            self._open = opening.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def revision(self) -> int:
        """The revision of the last write, which is the resourceVersion that the API server gave it."""
        answer = self._call("/v3/kv/range", {"key": _key("/")})
        return int(answer["header"]["revision"])

    def compact(self) -> int:
        """Forget every revision but the last; watches from before it answer 410. The revision."""
        revision = self.revision()
        self._call("/v3/kv/compaction", {"revision": revision, "physical": True})
        return revision

    def _healthy(self) -> bool:
        connection = http.client.HTTPConnection(LOOPBACK, self._port.number, timeout=5)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _call(self, path: str, body: dict[str, object]) -> dict[str, dict[str, str]]:
        connection = http.client.HTTPConnection(LOOPBACK, self._port.number, timeout=30)
        try:
            connection.request("POST", path, json.dumps(body))
            response = connection.getresponse()
            raw = response.read()
            if response.status != 200:
                raise ControlPlaneError(f"etcd: POST {path}: {response.status} {raw.decode()}")
            answer: dict[str, dict[str, str]] = json.loads(raw)
            return answer
        finally:
            connection.close()


def _key(text: str) -> str:
    return b64encode(text.encode()).decode()
