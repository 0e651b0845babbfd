"""An API server that only answers reviews, and a client that only knows the bare protocol."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.errors import Unreachable
from bayplan.testing.virtual_time import START


@dataclass
class Reviews:
    """Knows some tokens and who may see what (``client.api.Sender``)."""

    #: Token to user name.
    tokens: dict[str, str] = field(default_factory=dict)
    #: User and path.
    grants: set[tuple[str, str]] = field(default_factory=set)
    down: bool = False
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    async def send(self, request: Request, lane: Lane, *, timeout_s: float | None = None) -> bytes:
        if self.down:
            raise Unreachable("nobody there", refused=True)
        body = json.loads(request.body) if request.body else {}
        kind = body.get("kind", request.path)
        self.asked.append((kind, body.get("spec", {})))
        return json.dumps(self._answer(kind, body)).encode()

    def _answer(self, kind: str, body: dict[str, Any]) -> dict[str, Any]:
        if kind == "TokenReview":
            name = self.tokens.get(body["spec"]["token"])
            if name is None:
                return {"status": {"error": "invalid bearer token"}}
            user = {"username": name, "uid": "7", "groups": ["team"], "extra": {"k": ["v"]}}
            return {"status": {"authenticated": True, "user": user}}
        if kind == "SubjectAccessReview":
            spec = body["spec"]
            wanted = (spec["user"], spec["nonResourceAttributes"]["path"])
            return {"status": {"allowed": wanted in self.grants}}
        return {"kind": "ConfigMap", "data": {"client-ca-file": "PEM"}}


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: str

    def json(self) -> Any:
        return json.loads(self.body)


async def ask(
    port: int,
    target: str,
    *,
    method: str = "GET",
    tls: ssl.SSLContext | None = None,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """One request on a connection of its own; the answer is read until the server hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    try:
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        raw = await reader.read()
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()
    if not raw:
        raise ConnectionResetError("hung up without a word")
    return parse(raw)


def parse(raw: bytes) -> Answer:
    head, _, rest = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    if headers.get("transfer-encoding") == "chunked":
        rest = b"".join(_chunks(rest))
    return Answer(int(first.split()[1]), headers, rest.decode())


def _chunks(raw: bytes) -> list[bytes]:
    found = []
    while raw:
        size, _, raw = raw.partition(b"\r\n")
        length = int(size, 16)
        found.append(raw[:length])
        raw = raw[length + 2 :]
    return found


def client_certificate(directory: Path, name: str, group: str) -> tuple[Path, tuple[Path, Path]]:
    """An authority, and a certificate with its key that the authority has signed for a client."""
    begins = datetime.fromtimestamp(START, UTC) - timedelta(days=1)
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    authority = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, group),
            x509.NameAttribute(NameOID.COMMON_NAME, name),
        ]
    )
    paths = [directory / each for each in ("authority.crt", "client.crt", "client.key")]
    for path, who, key, is_authority in (
        (paths[0], authority, keys[0], True),
        (paths[1], subject, keys[1], False),
    ):
        certificate = (
            x509.CertificateBuilder()
            .subject_name(who)
            .issuer_name(authority)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(begins)
            .not_valid_after(begins + timedelta(days=36_500))
            .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
            .sign(keys[0], hashes.SHA256())
        )
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[2].write_bytes(
        keys[1].private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return paths[0], (paths[1], paths[2])
