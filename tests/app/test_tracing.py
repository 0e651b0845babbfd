"""The TracingConfiguration, and spans that arrive at a collector."""

from __future__ import annotations

import asyncio
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from bayplan.app.tracing import Tracing, open_tracer, read_tracing
from bayplan.clock import SystemClock
from bayplan.errors import ConfigError
from bayplan.runtime.chronicle import Chronicle

HEAD = "apiVersion: apiserver.config.k8s.io/v1beta1\nkind: TracingConfiguration\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "tracing.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("collector:4318", "http://collector:4318/v1/traces"),
        ("https://collector", "https://collector/v1/traces"),
        ("http://collector:4318/custom", "http://collector:4318/custom"),
    ],
)
def test_where_spans_go(tmp_path: Path, endpoint: str, url: str) -> None:
    text = f"{HEAD}endpoint: {endpoint}\nsamplingRatePerMillion: 10000\n"
    found = read_tracing(written(tmp_path, text))
    assert (found.url, found.sampling_rate_per_million) == (url, 10_000)


def test_what_is_left_out_has_a_default(tmp_path: Path) -> None:
    assert read_tracing(written(tmp_path, HEAD)).url == Tracing().url


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        pytest.param("", "it has to hold one TracingConfiguration", id="empty"),
        pytest.param(HEAD + "samplingRatePerMillion: 2000000\n", "between 0 and", id="a rate"),
        pytest.param(HEAD + "endpoint: 'ftp://x'\n", "neither host:port nor", id="an endpoint"),
        pytest.param(HEAD + "endpoint: 'x:port'\n", "neither host:port nor", id="a port"),
        pytest.param(HEAD + "sampling: 1\n", "sampling", id="an unknown field"),
        pytest.param("kind: Pod\napiVersion: v1\n", 'no kind "Pod"', id="another kind"),
        pytest.param(HEAD + "endpoint: [", "yaml", id="no YAML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, wrong: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError, match=wrong) as refused:
        read_tracing(path)
    assert str(path) in str(refused.value)


def test_without_a_file_there_is_no_tracer() -> None:
    assert open_tracer(None, SystemClock()) is None


def test_spans_arrive_at_a_collector(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="pip install bayplan[otel]")
    bodies: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            bodies.append((self.path, self.rfile.read(length)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    thread = Thread(target=server.serve_forever)
    thread.start()
    text = f"{HEAD}endpoint: 127.0.0.1:{server.server_port}\nsamplingRatePerMillion: 1000000\n"

    async def main() -> None:
        tracer = open_tracer(written(tmp_path, text), SystemClock())
        assert tracer is not None
        chronicle = Chronicle(SystemClock())
        tracer.observe(chronicle)
        assert len(chronicle.observers) == 1
        tracer._tracer.start_span("Schedule pod").end()
        await tracer.close()

    try:
        asyncio.run(main())
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    ((path, body),) = bodies
    assert path == "/v1/traces"
    assert b"Schedule pod" in body
