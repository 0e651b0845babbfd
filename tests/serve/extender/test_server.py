"""Bounds, nonsense and certificates."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from bayplan.app.extender import ExtenderOptions, configured, stanza
from bayplan.clock import SystemClock
from bayplan.errors import ConfigError
from bayplan.serve.certificates import self_signed
from bayplan.serve.extender.server import Bounds
from tests.serve.extender.scene import NODES, Caller, asking, caller, on_extender, options


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(b"", "Arguments", id="nothing"),
        pytest.param(b"{", "Arguments", id="half"),
        pytest.param(b"[]", "Arguments", id="a list"),
        pytest.param(b"{}", "NodeNames", id="empty"),
        pytest.param(b'{"Pod":{},"NodeNames":[1]}', "NodeNames", id="numbers"),
        pytest.param(b'{"Pod":null,"NodeNames":["a"]}', "no Pod", id="no pod"),
        pytest.param(b'{"Pod":{"spec":7},"NodeNames":["a"]}', "spec", id="no spec"),
        pytest.param(b"{" * 100_000, "Arguments", id="deep"),
    ],
)
def test_nonsense_is_refused_and_harms_nobody(tmp_path: Path, body: bytes, said: str) -> None:
    async def scenario(calling: Caller) -> None:
        for verb in ("filter", "prioritize"):
            status, text = await calling.post(verb, body)
            assert status == 400
            assert said in text
        status, _ = await calling.post("filter", asking(NODES))
        assert status == 200

    on_extender(tmp_path, scenario)


def test_a_body_that_is_too_long_is_refused(tmp_path: Path) -> None:
    async def scenario(calling: Caller) -> None:
        status, text = await calling.post("filter", b"x" * 2000)
        assert status == 413
        assert "1000 bytes" in text

        async def pieces() -> object:
            for _ in range(20):
                yield b"x" * 100

        async with calling.session.post(f"{calling.url}/filter", data=pieces()) as answer:
            assert answer.status == 413

    on_extender(tmp_path, scenario, bounds=Bounds(body_bytes=1000))


def test_only_the_verbs_are_served(tmp_path: Path) -> None:
    async def scenario(calling: Caller) -> None:
        status, _ = await calling.post("delete", {})
        assert status == 404
        assert await calling.get("/readyz") == (200, "ok")
        assert (await calling.get("/filter"))[0] == 404

    on_extender(tmp_path, scenario)


def test_who_has_no_certificate_is_not_answered(tmp_path: Path) -> None:
    with self_signed(tmp_path / "keys", "127.0.0.1", SystemClock().now()) as (cert, key):
        wanted = options(tmp_path, cert_file=str(cert), key_file=str(key), client_ca_file=str(cert))
        nameless = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        nameless.load_verify_locations(cert)

        async def main() -> None:
            async with caller(wanted, nameless) as calling:
                status, text = await calling.post("filter", asking(NODES))
                assert (status, text) == (401, "a client certificate is required\n")

        asyncio.run(main())


def test_the_stanza_names_what_is_served(tmp_path: Path) -> None:
    wanted = options(tmp_path, port=8888)
    config, _ = configured(wanted)
    (entry,) = stanza(wanted, config)["extenders"]
    assert entry == {
        "urlPrefix": "http://127.0.0.1:8888",
        "filterVerb": "filter",
        "preemptVerb": "preempt",
        "prioritizeVerb": "prioritize",
        "weight": 1,
        "enableHTTPS": False,
        "httpTimeout": "5s",
        "nodeCacheCapable": False,
        "ignorable": False,
    }
    assert [ref.name for ref in config.profiles[0].plugins["filter"]] == ["Disk"]


def test_without_plugins_of_ones_own_those_of_kubernetes_are_served() -> None:
    config, _ = configured(ExtenderOptions())
    assert "NodeResourcesFit" in [ref.name for ref in config.profiles[0].plugins["filter"]]


def test_a_client_authority_needs_a_certificate(tmp_path: Path) -> None:
    async def main() -> None:
        async with caller(options(tmp_path, client_ca_file="ca.crt")):
            raise AssertionError("it serves")

    with pytest.raises(ConfigError, match="--client-ca needs --tls-cert"):
        asyncio.run(main())
