"""The server from outside, over real sockets: pages, refusals, and callers who mean no good."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from bayplan.errors import ConfigError
from bayplan.serve.certificates import ServingCertificate, self_signed
from bayplan.serve.gatekeeper import Gatekeeper
from bayplan.serve.health import Check, Health
from bayplan.serve.pages import Pages
from bayplan.serve.server import ListenError, Server
from bayplan.serve.zpages import ZPages
from bayplan.telemetry import log
from bayplan.telemetry.exposition import PodResource
from bayplan.telemetry.metrics import Metrics
from bayplan.testing.virtual_time import START, VirtualClock, run
from tests.serve.scene import Answer, Reviews, ask, client_certificate, parse

PATHS = ("/metrics", "/configz", "/metrics/resources", "/readyz/sync", "/debug/flags/v", "/nope")


def make_pages(**more: Any) -> Pages:
    metrics = Metrics()
    metrics.queue_incoming("active", "NodeAdd")
    health = Health(readyz=[Check("sync", lambda: "nodes is forbidden: list")])
    return Pages(metrics, health, **{"configz": lambda: {"kind": "K"}, **more})


class Client:
    """Asks one server, trusting its certificate."""

    def __init__(self, port: int, authority: Path | None, reviews: Reviews) -> None:
        self.port = port
        self.reviews = reviews
        self.tls = ssl.create_default_context(cafile=str(authority)) if authority else None

    async def get(self, target: str, *, method: str = "GET", **headers: str) -> Answer:
        return await ask(self.port, target, method=method, tls=self.tls, headers=headers)

    async def as_prom(self, target: str, *, method: str = "GET", body: bytes = b"") -> Answer:
        known = {"Authorization": "Bearer good"}
        return await ask(self.port, target, method=method, tls=self.tls, body=body, headers=known)


@contextlib.asynccontextmanager
async def serving(pages: Pages | None = None) -> AsyncIterator[Client]:
    reviews = Reviews({"good": "prom"}, {("prom", path) for path in PATHS})
    server = Server(pages or make_pages())
    clock = VirtualClock()
    with self_signed(None, "127.0.0.1", START) as files:
        certificate = ServingCertificate(*files)
        keeper = Gatekeeper(reviews, reviews, clock)
        port = await server.listen_securely("127.0.0.1", 0, certificate.context, keeper)
        try:
            yield Client(port, files[0], reviews)
        finally:
            await server.close()


@contextlib.asynccontextmanager
async def serving_plainly() -> AsyncIterator[Client]:
    server = Server(make_pages())
    port = await server.listen_plainly("127.0.0.1", 0)
    try:
        yield Client(port, None, Reviews())
    finally:
        await server.close()


# --- pages -------------------------------------------------------------------------------------------------------------


def test_health_for_all_and_the_rest_for_those_who_may() -> None:
    async def main() -> None:
        async with serving() as client:
            assert (await client.get("/livez")).body == "ok"
            ready = await client.get("/readyz?verbose")
            assert (ready.status, "reason withheld" in ready.body) == (500, True)
            for path in PATHS:
                assert (await client.get(path)).status == 401, path
                assert (await client.get(path, Authorization="Bearer x")).status == 401, path

    run(main())


def test_metrics() -> None:
    async def main() -> None:
        async with serving() as client:
            answer = await client.as_prom("/metrics")
            assert answer.status == 200
            assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
            line = 'scheduler_queue_incoming_pods_total{queue="active",event="NodeAdd"} 1\n'
            assert line in answer.body
            assert "process_resident_memory_bytes" in answer.body

    run(main())


def test_the_configuration() -> None:
    async def main() -> None:
        async with serving() as client:
            assert (await client.as_prom("/configz")).json() == {"componentconfig": {"kind": "K"}}

    run(main())


def test_what_pods_ask_for_is_the_leader_s_to_tell() -> None:
    row = PodResource("ns", "p", "n", "s", "", "cpu", 0.5)

    async def main() -> None:
        leads = [True, False]
        pages = make_pages(
            pod_resources=lambda limits: [] if limits else [row], is_leader=lambda: leads.pop(0)
        )
        async with serving(pages) as client:
            assert "kube_pod_resource_request{" in (await client.as_prom("/metrics/resources")).body
            assert (await client.as_prom("/metrics/resources")).body == ""

    run(main())


def test_one_check_says_why_to_those_who_may_know() -> None:
    async def main() -> None:
        async with serving() as client:
            answer = await client.as_prom("/readyz/sync")
            assert answer.body == "internal server error: nodes is forbidden: list\n"

    run(main())


def test_the_log_s_verbosity_can_be_set() -> None:
    async def main() -> None:
        async with serving() as client:
            answer = await client.as_prom("/debug/flags/v", method="PUT", body=b"4\n")
            assert answer.body == "successfully set klog.logging.verbosity to 4"
            assert log.verbosity() == 4
            answer = await client.as_prom("/debug/flags/v", method="PUT", body=b"-1")
            assert answer.status == 400
            assert (await client.as_prom("/debug/flags/v")).status == 406

    try:
        run(main())
    finally:
        log.set_verbosity(0)


def test_plain_http_shows_health_and_metrics_and_nothing_else() -> None:
    async def main() -> None:
        async with serving_plainly() as client:
            assert (await client.get("/healthz")).status == 200
            assert (await client.get("/metrics")).status == 200
            for path in ("/configz", "/debug/flags/v", "/readyz/sync", "/metrics/resources"):
                assert (await client.get(path)).status == 404, path

    run(main())


# --- refusals ----------------------------------------------------------------------------------------------------------


def test_refusals_are_status_objects() -> None:
    async def main() -> None:
        async with serving() as client:
            answer = await client.get("/metrics")
            assert answer.json() == {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Failure",
                "message": "Unauthorized",
                "reason": "Unauthorized",
                "details": {},
                "code": 401,
            }
            client.reviews.grants.clear()
            answer = await client.as_prom("/metrics")
            assert (answer.status, answer.json()["reason"]) == (403, "Forbidden")

    run(main())


@pytest.mark.parametrize(
    "target", ["/nope", "/healthz/../metrics", "/healthz/%2e%2e/metrics", "//metrics", "/../etc"]
)
def test_paths_lead_nowhere_else(target: str) -> None:
    async def main() -> None:
        async with serving() as client:
            client.reviews.grants |= {("prom", target), ("prom", "/healthz/../metrics")}
            assert (await client.as_prom(target)).status == 404

    run(main())


def test_other_methods_are_not_allowed() -> None:
    async def main() -> None:
        async with serving() as client:
            assert (await client.as_prom("/metrics", method="DELETE")).status == 405
            assert (await client.get("/healthz", method="POST")).status == 405
            assert (await client.get("/healthz", method="HEAD")).body == ""

    run(main())


def test_a_large_body_is_not_read() -> None:
    async def main() -> None:
        async with serving() as client:
            answer = await client.get("/healthz", **{"Content-Length": str(100 << 20)})
            assert (answer.status, answer.json()["reason"]) == (413, "RequestEntityTooLarge")

    run(main())


def test_a_large_body_that_does_not_say_so_is_cut_off() -> None:
    async def main() -> None:
        async with serving() as client:
            reader, writer = await asyncio.open_connection("127.0.0.1", client.port, ssl=client.tls)
            writer.write(
                b"PUT /debug/flags/v HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n"
                b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            with contextlib.suppress(ConnectionError):
                for _ in range(9):
                    writer.write(b"2000\r\n" + b"1" * 0x2000 + b"\r\n")
                    await writer.drain()
            answer = parse(await reader.read())
            writer.close()
            assert answer.status == 413

    run(main())


# --- slow callers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHo"], ids=["silent", "half"])
def test_whoever_does_not_finish_a_request_is_hung_up_on(sent: bytes) -> None:
    async def main() -> float:
        async with serving_plainly() as client:
            loop = asyncio.get_running_loop()
            began = loop.time()
            reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
            writer.write(sent)
            assert await reader.read() == b""
            writer.close()
            return loop.time() - began

    # In virtual time: what is measured is the rule, not the machine.
    assert run(main()) == pytest.approx(30, abs=1)


def test_there_is_an_end_to_connections() -> None:
    async def main() -> None:
        async with serving_plainly() as client:
            held = [await asyncio.open_connection("127.0.0.1", client.port) for _ in range(256)]
            reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
            for _, each in (*held, (reader, writer)):
                each.close()

    run(main())


def test_an_address_that_is_taken_is_named() -> None:
    async def main() -> None:
        async with serving_plainly() as client:
            with pytest.raises(ListenError, match=rf"cannot listen on 127.0.0.1:{client.port}: "):
                await Server(make_pages()).listen_plainly("127.0.0.1", client.port)

    run(main())


# --- certificates ------------------------------------------------------------------------------------------------------


@pytest.fixture
def two_pairs(tmp_path: Path) -> Iterator[tuple[tuple[Path, Path], tuple[Path, Path]]]:
    with (
        self_signed(tmp_path / "a", "127.0.0.1", START) as first,
        self_signed(tmp_path / "b", "127.0.0.1", START + 60) as second,
    ):
        yield first, second


def test_a_new_certificate_is_shown_to_new_connections(
    two_pairs: tuple[tuple[Path, Path], tuple[Path, Path]],
) -> None:
    first, second = two_pairs

    async def main() -> None:
        server = Server(make_pages())
        certificate = ServingCertificate(*first)
        keeper = Gatekeeper(None, None, VirtualClock())
        port = await server.listen_securely("127.0.0.1", 0, certificate.context, keeper)
        old, new = (Client(port, pair[0], Reviews()) for pair in (first, second))
        new.tls = ssl.create_default_context(cadata=second[0].read_text())
        old.tls = ssl.create_default_context(cadata=first[0].read_text())
        assert (await old.get("/healthz")).status == 200
        first[1].write_text("half a key")
        assert (await old.get("/healthz")).status == 200
        first[0].write_bytes(second[0].read_bytes())
        first[1].write_bytes(second[1].read_bytes())
        assert (await new.get("/healthz")).status == 200
        with pytest.raises(ssl.SSLError):
            await old.get("/healthz")
        await server.close()

    run(main())


def test_a_client_s_certificate_is_its_name(tmp_path: Path) -> None:
    authority, shown = client_certificate(tmp_path, "alice", "ops")

    async def main() -> None:
        reviews = Reviews(grants={("alice", "/metrics")})
        server = Server(make_pages())
        with self_signed(None, "127.0.0.1", START) as files:
            certificate = ServingCertificate(*files, client_authority=authority.read_text())
            keeper = Gatekeeper(reviews, reviews, VirtualClock())
            port = await server.listen_securely("127.0.0.1", 0, certificate.context, keeper)
            client = Client(port, files[0], reviews)
            assert client.tls is not None
            assert (await client.get("/metrics")).status == 401
            client.tls.load_cert_chain(*shown)
            assert (await client.get("/metrics")).status == 200
            assert (await client.get("/configz")).status == 403
        await server.close()

    run(main())


def test_a_certificate_of_a_stranger_ends_the_handshake(tmp_path: Path) -> None:
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    authority, _ = client_certificate(tmp_path / "ours", "alice", "ops")
    _, strange = client_certificate(tmp_path / "theirs", "mallory", "system:masters")

    async def main() -> None:
        server = Server(make_pages())
        with self_signed(None, "127.0.0.1", START) as files:
            certificate = ServingCertificate(*files, client_authority=authority.read_text())
            keeper = Gatekeeper(None, None, VirtualClock())
            port = await server.listen_securely("127.0.0.1", 0, certificate.context, keeper)
            client = Client(port, files[0], Reviews())
            assert client.tls is not None
            client.tls.load_cert_chain(*strange)
            try:
                with pytest.raises((ssl.SSLError, ConnectionError)):
                    await client.get("/metrics")
            finally:
                await server.close()

    run(main())


def test_files_that_are_no_certificate_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot serve TLS with .*a\.crt"):
        ServingCertificate(tmp_path / "a.crt", tmp_path / "a.key")


def test_our_own_certificate_is_kept_where_it_may_be(tmp_path: Path) -> None:
    with self_signed(tmp_path / "certs", "10.0.0.1", START) as files:
        first = files[0].read_bytes()
    with self_signed(tmp_path / "certs", "10.0.0.1", START) as files:
        assert files[0].read_bytes() == first
        assert files[1].stat().st_mode & 0o777 == 0o600
    with self_signed(None, "0.0.0.0", START) as files:
        kept = files[0]
    assert not kept.exists()


# --- asking why --------------------------------------------------------------------------------------------------------


class Story:
    """Debug pages that know one path (``serve.debug.pages.DebugPages``)."""

    async def page(self, path: str, query: Any) -> Iterator[bytes] | None:
        if path != "/debug/decisions/default/web":
            return None
        return iter([b'{"node":', f'"{query.get("node", "")}"}}'.encode()])


def test_why_is_told_to_those_who_may_ask_that_path() -> None:
    async def main() -> None:
        pages: Any = make_pages(debug=Story())
        async with serving(pages) as client:
            path = "/debug/decisions/default/web"
            assert (await client.as_prom(path)).status == 403
            client.reviews.grants.add(("prom", f"{path}/"))
            client.reviews.grants.add(("prom", "/debug/decisions/default/web2"))
            assert (await client.as_prom("/debug/decisions/default/web2")).status == 404
            assert (await client.get(path)).status == 401

    run(main())


def test_a_story_is_sent_with_what_was_asked_for() -> None:
    async def main() -> None:
        pages: Any = make_pages(debug=Story())
        async with serving(pages) as client:
            path = "/debug/decisions/default/web"
            client.reviews.grants.add(("prom", path))
            answer = await client.as_prom(f"{path}?node=n1")
            assert (answer.status, answer.json()) == (200, {"node": "n1"})
            assert answer.headers["content-type"] == "application/json"

    run(main())


def test_zpages_choose_by_what_the_caller_takes() -> None:
    async def main() -> None:
        zpages = ZPages(
            VirtualClock(),
            START,
            binary_version="1",
            python_version="3",
            emulation_version="1.36",
            flags={"v": "2"},
        )
        async with serving(make_pages(zpages=zpages)) as client:
            client.reviews.grants |= {("prom", "/flagz"), ("prom", "/statusz")}
            text = await client.as_prom("/flagz")
            assert text.headers["content-type"] == "text/plain; charset=utf-8"
            assert (await client.as_prom("/statusz")).status == 404
            assert (await client.get("/flagz")).status == 401

    run(main())


def test_over_plain_http_nobody_is_told_anything() -> None:
    async def main() -> None:
        async with serving_plainly() as client:
            for path in ("/debug/decisions", "/debug/queue", "/flagz", "/statusz"):
                assert (await client.get(path)).status == 404

    run(main())
