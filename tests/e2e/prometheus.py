"""A real Prometheus, and something for it to scrape: figures about nodes that a test sets."""

from __future__ import annotations

import contextlib
import http.client
import shutil
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from bayplan.testing.control_plane import wait_ready
from bayplan.testing.control_plane.ports import Port
from tests.e2e.stage import Stage

_START_S = 60.0


def program(stage: Stage) -> str:
    """Where Prometheus is; skips the test where it is not."""
    found = shutil.which("prometheus")
    if found is None and stage.plane.binaries.has("prometheus"):
        found = str(stage.plane.binaries.path("prometheus"))
    if found is None:
        pytest.skip("no prometheus: run `make prometheus`, or put one into PATH")
    return found


class Exporter:
    """``node_load{node="n1"} 0.9`` on a loopback port, which is kept while nobody answers there."""

    def __init__(self, port: Port) -> None:
        self._port = port
        self._server: ThreadingHTTPServer | None = None
        self.load: Mapping[str, float] = {}

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port.number}"

    def start(self) -> None:
        """Answer from now on."""
        exporter = self

        class Pages(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                lines = [
                    f'node_load{{node="{node}"}} {load}\n' for node, load in exporter.load.items()
                ]
                body = "".join(lines).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - its name
                """Nobody reads it."""

        class Server(ThreadingHTTPServer):
            allow_reuse_port = True
            daemon_threads = True

        self._server = Server(("127.0.0.1", self._port.number), Pages)
        threading.Thread(target=self._server.serve_forever, name="exporter", daemon=True).start()

    def stop(self) -> None:
        """Answer nobody."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


def start_prometheus(stage: Stage, exporter: Exporter) -> str:
    """Have it scrape the exporter each second; its URL."""
    binary = program(stage)
    folder = stage.plane.folder / "prometheus"
    folder.mkdir()
    config = folder / "prometheus.yml"
    scraped = {"job_name": "nodes", "static_configs": [{"targets": [exporter.address]}]}
    config.write_text(
        yaml.safe_dump({"global": {"scrape_interval": "1s"}, "scrape_configs": [scraped]}),
        encoding="utf-8",
    )
    with contextlib.closing(Port()) as free:
        number = free.number  # it binds without SO_REUSEPORT, so the port cannot be held for it
    process = stage.plane.start(
        "prometheus",
        [
            Path(binary),
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{number}",
        ],
    )
    wait_ready(lambda: _is_ready(number), process, _START_S)
    return f"http://127.0.0.1:{number}"


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/-/ready")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
