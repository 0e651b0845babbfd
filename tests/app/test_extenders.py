"""Extenders over TLS: believed only with a certificate that somebody trusted has signed, unless that is not wanted."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest

from bayplan.app.extenders import webhooks
from bayplan.clock import SystemClock
from bayplan.errors import ConfigError, ExtenderError
from bayplan.framework.config import load_config_objects
from bayplan.framework.registry import Registry
from bayplan.plugins import default_plugins
from bayplan.testing.control_plane.certificates import Authority
from tests.runtime.extending.foreign import foreign_extender


class Keys:
    """An authority, and certificates by it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        authority = Authority("extenders", SystemClock())
        self.ca = folder / "ca.crt"
        self.ca.write_bytes(authority.pem)
        self.cert, self.key = folder / "server.crt", folder / "server.key"
        authority.server(["127.0.0.1", "scheduler.example"]).write(self.cert, self.key)
        self.user, self.user_key = folder / "user.crt", folder / "user.key"
        authority.client("scheduler").write(self.user, self.user_key)

    def serving(self, *, asks: bool = False) -> ssl.SSLContext:
        """For the extender; ``asks``: for the caller's certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.cert, self.key)
        if asks:
            context.load_verify_locations(self.ca)
            context.verify_mode = ssl.CERT_REQUIRED
        return context


def call(url: str, tls: dict[str, Any] | None) -> Any:
    """A webhook for this entry."""
    config = load_config_objects(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "extenders": [
                {"urlPrefix": url, "enableHTTPS": True} | ({"tlsConfig": tls} if tls else {})
            ],
        },
        Registry(default_plugins()),
    )
    (webhook,) = webhooks(config.extenders)
    return webhook


def answered(keys: Keys, tls: dict[str, Any] | None, *, asks: bool = False) -> bytes:
    """What comes back over TLS."""

    async def main() -> bytes:
        async with foreign_extender(keys.serving(asks=asks)) as foreign:
            foreign.verbs["filter"] = lambda _sent: {"NodeNames": []}
            webhook = call(foreign.url, tls)
            try:
                found: bytes = await webhook.call("filter", b"{}")
                return found
            finally:
                await webhook.close()

    return asyncio.run(main())


def test_a_certificate_by_the_authority_is_believed(tmp_path: Path) -> None:
    keys = Keys(tmp_path / "a")
    assert answered(keys, {"caFile": str(keys.ca)}) == b'{"NodeNames": []}'


@pytest.mark.parametrize("tls", [None, {}, "others"], ids=["no tls", "empty", "another authority"])
def test_any_other_certificate_is_not(tmp_path: Path, tls: Any) -> None:
    keys = Keys(tmp_path / "a")
    if tls == "others":
        tls = {"caFile": str(Keys(tmp_path / "b").ca)}
    with pytest.raises(ExtenderError, match="certificate"):
        answered(keys, tls)


def test_whoever_writes_insecure_believes_anybody(tmp_path: Path) -> None:
    assert answered(Keys(tmp_path / "a"), {"insecure": True})


def test_the_name_is_checked(tmp_path: Path) -> None:
    keys = Keys(tmp_path / "a")
    authority = str(keys.ca)
    assert answered(keys, {"caFile": authority, "serverName": "scheduler.example"})
    with pytest.raises(ExtenderError, match="certificate"):
        answered(keys, {"caFile": authority, "serverName": "other.example"})


def test_the_extender_may_ask_who_we_are(tmp_path: Path) -> None:
    keys = Keys(tmp_path / "a")
    own = {"certFile": str(keys.user), "keyFile": str(keys.user_key)}
    assert answered(keys, {"caFile": str(keys.ca), **own}, asks=True)
    with pytest.raises(ExtenderError):
        answered(keys, {"caFile": str(keys.ca)}, asks=True)


@pytest.mark.parametrize(
    ("url", "tls", "said"),
    [
        pytest.param("scheduler:8888", {}, r"extenders\[0\].urlPrefix", id="no scheme"),
        pytest.param(
            "https://x", {"caFile": "/nowhere/ca.crt"}, r"extenders\[0\].tlsConfig", id="no file"
        ),
    ],
)
def test_what_cannot_be_called_is_said_at_the_start(url: str, tls: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        call(url, tls)
