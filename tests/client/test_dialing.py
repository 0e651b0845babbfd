"""TLS, certificates that are replaced, proxies: with real certificates and both ends in one loop."""

from __future__ import annotations

import asyncio
import base64
import gc
import random
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bayplan.client.access import ClusterAccess, Proxy
from bayplan.client.api import Api
from bayplan.client.connection import Connection
from bayplan.client.credentials import Fixed
from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.client.trust import Pem, PemPair, Trust
from bayplan.clock import SystemClock
from bayplan.errors import CredentialsError, Unreachable
from bayplan.telemetry.redaction import Secret
from bayplan.testing.control_plane.certificates import Authority
from bayplan.testing.virtual_time import VirtualClock, run, settle
from tests.client.scripted import Answer, Received, Scripted, Wire, always, refusal, reply

READ = Request("GET", "/x")


@pytest.fixture(scope="module")
def authority() -> Authority:
    # OpenSSL looks at the machine's clock.
    return Authority("tests", SystemClock())


def at_server(
    authority: Authority, folder: Path, *hosts: str, asks: bool = False
) -> ssl.SSLContext:
    """What a server needs; ``asks``: for the client's certificate."""
    folder.mkdir(exist_ok=True)
    authority.server(hosts or ("127.0.0.1",)).write(folder / "server.crt", folder / "server.key")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    if asks:
        context.load_verify_locations(cadata=authority.pem.decode())
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def trusting(authority: Authority, **more: object) -> Trust:
    return Trust(authority=Pem(data=authority.pem, entry="the authority"), **more)  # type: ignore[arg-type]


def scene(
    play: Callable[[Api, Scripted], Awaitable[None]],
    context: ssl.SSLContext | None,
    access: Callable[[Scripted], ClusterAccess],
    answer: Answer | None = None,
) -> None:
    """Run a scene in virtual time."""
    clock = VirtualClock()

    async def whole() -> None:
        async with Scripted(answer or always(reply(200, b"ok")), context) as server:
            api = Api.open(access(server), clock, random.Random(1))
            try:
                await play(api, server)
            finally:
                await api.close()
                await settle()

    run(whole(), clock)


async def works(api: Api, server: Scripted) -> None:
    assert await api.send(READ, Lane.READ) == b"ok"
    assert await api.send(READ, Lane.READ) == b"ok"
    assert server.connections == 1


# --- whom to believe ---------------------------------------------------------------------------------------------------


def test_a_server_whose_certificate_is_signed_by_whom_we_trust(
    authority: Authority, tmp_path: Path
) -> None:
    scene(works, at_server(authority, tmp_path), lambda s: s.access(trust=trusting(authority)))


def test_a_connection_over_tls_keeps_no_large_buffer(authority: Authority, tmp_path: Path) -> None:
    """asyncio would keep 256 KiB for each; a burst opens dozens."""

    async def play(api: Api, _: Scripted) -> None:
        assert await api.send(READ, Lane.READ) == b"ok"
        protocols = [thing for thing in gc.get_objects() if isinstance(thing, SSLProtocol)]
        assert protocols
        assert {len(protocol._ssl_buffer) for protocol in protocols} == {64 * 1024}  # type: ignore[attr-defined]

    scene(play, at_server(authority, tmp_path), lambda s: s.access(trust=trusting(authority)))


def test_a_connection_that_is_over_leaves_nothing_to_the_garbage_collector(
    authority: Authority, tmp_path: Path
) -> None:
    def alive() -> int:
        kinds = (Connection, SSLProtocol)
        return sum(isinstance(thing, kinds) for thing in gc.get_objects())

    async def play(api: Api, server: Scripted) -> None:
        before = alive()
        gc.disable()
        try:
            for _ in range(3):
                assert await api.send(READ, Lane.READ) == b"ok"
                await asyncio.sleep(60)  # nobody keeps an idle connection for so long
            await settle()
            assert server.connections == 3
            assert alive() == before
        finally:
            gc.enable()

    gc.collect()
    scene(play, at_server(authority, tmp_path), lambda s: s.access(trust=trusting(authority)))


def test_a_certificate_that_is_itself_in_the_bundle(authority: Authority, tmp_path: Path) -> None:
    """As Go has it: a server's own certificate is enough, no matter who signed it."""
    context = at_server(authority, tmp_path)
    trust = Trust(authority=Pem(path=tmp_path / "server.crt"))
    scene(works, context, lambda s: s.access(trust=trust))


@pytest.mark.parametrize("known", [True, False], ids=["of another name", "signed by a stranger"])
def test_a_server_that_is_not_whom_we_trust(
    authority: Authority, tmp_path: Path, known: bool
) -> None:
    async def play(api: Api, server: Scripted) -> None:
        with pytest.raises(Unreachable, match="certificate that cannot be verified") as caught:
            await api.send(READ, Lane.READ)
        assert (caught.value.refused, caught.value.sent) == (True, False)
        assert server.requests == []

    signer = authority if known else Authority("stranger", SystemClock())
    context = at_server(signer, tmp_path, "other.example" if known else "127.0.0.1")
    scene(play, context, lambda s: s.access(trust=trusting(authority)))


def test_a_server_may_be_known_by_another_name(authority: Authority, tmp_path: Path) -> None:
    trust = trusting(authority, server_name="other.example")
    context = at_server(authority, tmp_path, "other.example")
    scene(works, context, lambda s: s.access(trust=trust))


def test_anybody_is_believed_on_request(tmp_path: Path) -> None:
    context = at_server(Authority("stranger", SystemClock()), tmp_path, "other.example")
    scene(works, context, lambda s: s.access(trust=Trust(insecure=True)))


def test_a_server_without_tls(authority: Authority) -> None:
    async def play(api: Api, server: Scripted) -> None:
        with pytest.raises(Unreachable, match="no connection to https://127"):
            await api.send(READ, Lane.READ)

    scene(play, None, lambda s: s.access(trust=trusting(authority)))


# --- our own certificate -----------------------------------------------------------------------------------------------


def in_files(authority: Authority, folder: Path, name: str) -> Trust:
    """Trust with a client certificate that stands in files."""
    authority.client(name).write(folder / "me.crt", folder / "me.key")
    return trusting(
        authority,
        certificate=Pem(folder / "me.crt", entry="client-certificate"),
        key=Pem(folder / "me.key", entry="client-key"),
    )


def test_a_certificate_that_was_replaced_is_used_within_a_minute(
    authority: Authority, tmp_path: Path
) -> None:
    async def play(api: Api, server: Scripted) -> None:
        await api.send(READ, Lane.READ)
        authority.client("second").write(tmp_path / "me.crt", tmp_path / "me.key")
        for _ in range(70):
            await asyncio.sleep(1)
            await api.send(READ, Lane.READ)
        peers = [request.peer for request in server.requests]
        assert (peers[0], peers[-1]) == ("first", "second")
        assert server.connections == 2

    trust = in_files(authority, tmp_path, "first")
    context = at_server(authority, tmp_path, asks=True)
    scene(play, context, lambda s: s.access(trust=trust))


def test_a_certificate_that_is_refused_is_looked_for_again_at_once(
    authority: Authority, tmp_path: Path
) -> None:
    async def only_second(request: Received, wire: Wire) -> bytes:
        return reply(200, b"ok") if request.peer == "second" else refusal(401, "Unauthorized")

    async def play(api: Api, server: Scripted) -> None:
        authority.client("second").write(tmp_path / "me.crt", tmp_path / "me.key")
        assert await api.send(READ, Lane.READ) == b"ok"

    async def after_first(api: Api, server: Scripted) -> None:
        with pytest.raises(Exception, match="401"):
            await api.send(READ, Lane.READ)
        await play(api, server)

    trust = in_files(authority, tmp_path, "first")
    context = at_server(authority, tmp_path, asks=True)
    scene(after_first, context, lambda s: s.access(trust=trust), only_second)


def test_a_certificate_that_is_just_being_written_does_not_stop_us(
    authority: Authority, tmp_path: Path
) -> None:
    async def play(api: Api, server: Scripted) -> None:
        await api.send(READ, Lane.READ)
        (tmp_path / "me.crt").write_bytes(b"-----BEGIN CERT")
        await asyncio.sleep(130)
        await api.send(READ, Lane.READ)
        assert server.requests[-1].peer == "first"

    trust = in_files(authority, tmp_path, "first")
    context = at_server(authority, tmp_path, asks=True)
    scene(play, context, lambda s: s.access(trust=trust))


def test_an_authority_that_was_replaced_is_believed(authority: Authority, tmp_path: Path) -> None:
    async def play(api: Api, server: Scripted) -> None:
        with pytest.raises(Unreachable, match="cannot be verified"):
            await api.send(READ, Lane.READ)
        (tmp_path / "ca.crt").write_bytes(authority.pem)
        assert await api.send(READ, Lane.READ) == b"ok"

    (tmp_path / "ca.crt").write_bytes(Authority("old", SystemClock()).pem)
    trust = Trust(authority=Pem(tmp_path / "ca.crt"))
    scene(play, at_server(authority, tmp_path), lambda s: s.access(trust=trust))


def test_a_certificate_from_a_credential_plugin(authority: Authority, tmp_path: Path) -> None:
    class WithCertificate(Fixed):
        @property
        def certificate(self) -> PemPair | None:
            pair = authority.client("plugin")
            return PemPair(pair.certificate, pair.key)

    async def play(api: Api, server: Scripted) -> None:
        await api.send(READ, Lane.READ)
        assert server.requests[0].peer == "plugin"

    context = at_server(authority, tmp_path, asks=True)
    scene(play, context, lambda s: s.access(WithCertificate(), trusting(authority)))


def test_certificates_that_cannot_be_used_are_named(authority: Authority, tmp_path: Path) -> None:
    one, two = authority.client("one"), authority.client("two")

    def complaint(**trust: Pem) -> str:
        with pytest.raises(CredentialsError) as caught:
            Trust(**trust).context()  # type: ignore[arg-type]
        return str(caught.value)

    certificate = Pem(data=one.certificate, entry="client-certificate of me")
    assert (
        complaint(certificate=certificate, key=Pem(data=two.key))
        == "client-certificate of me: certificate and key are not in PEM form, or do not belong together"
    )
    assert "no certificate in PEM form" in complaint(authority=Pem(data=b"x", entry="ca"))
    missing = Pem(tmp_path / "gone", entry="client-key of me")
    assert complaint(certificate=certificate, key=missing) == (
        f"client-key of me: cannot read {tmp_path / 'gone'}: No such file or directory"
    )


# --- proxies -----------------------------------------------------------------------------------------------------------


class Tunnel:
    """A proxy that connects through, or refuses."""

    def __init__(self, status: bytes = b"200 Connected") -> None:
        self.status = status
        self.heads: list[bytes] = []
        self.tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        writer.write(b"HTTP/1.1 " + self.status + b"\r\n\r\n")
        if self.status.startswith(b"200"):
            host, _, port = head.split(b" ")[1].partition(b":")
            there, back = await asyncio.open_connection(host.decode(), int(port))
            for source, sink in ((reader, back), (there, writer)):
                self.tasks.add(asyncio.create_task(_copy(source, sink)))
        else:
            writer.close()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(65536):
            sink.write(data)
    except ConnectionError:
        pass
    finally:
        sink.close()


def through(tunnel: Tunnel, context: ssl.SSLContext, trust: Trust) -> str:
    """Send one request through a proxy; the answer, or the error."""
    clock = VirtualClock()

    async def whole() -> str:
        proxy = await asyncio.start_server(tunnel.serve, "127.0.0.1", 0)
        port = proxy.sockets[0].getsockname()[1]
        async with Scripted(always(reply(200, b"ok")), context) as server:
            access = replace(
                server.access(trust=trust), proxy=Proxy("127.0.0.1", port, Secret("me:pw"))
            )
            api = Api.open(access, clock, random.Random(1))
            try:
                return (await api.send(READ, Lane.READ)).decode()
            except Unreachable as error:
                return str(error)
            finally:
                await api.close()
                proxy.close()
                await asyncio.gather(*tunnel.tasks)
                await settle()

    return run(whole(), clock)


def test_through_a_proxy(authority: Authority, tmp_path: Path) -> None:
    tunnel = Tunnel()
    assert through(tunnel, at_server(authority, tmp_path), trusting(authority)) == "ok"
    assert tunnel.heads[0].startswith(b"CONNECT 127.0.0.1:")
    assert base64.b64encode(b"me:pw") in tunnel.heads[0]


def test_a_proxy_that_refuses(authority: Authority, tmp_path: Path) -> None:
    tunnel = Tunnel(b"407 Proxy Authentication Required")
    said = through(tunnel, at_server(authority, tmp_path), trusting(authority))
    assert "does not connect to 127.0.0.1:" in said
    assert said.endswith(": 407")
