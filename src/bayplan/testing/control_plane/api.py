"""Talking to a real API server from a test, in plain sequence: one call, one answer.

Tests and ``plane`` use it to set a scene and to look at what came of it. It is deliberately not ``bayplan.client``, which is
under test here. Objects are the dictionaries that JSON has; where a kind lives is asked of the server.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import ssl
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlencode, urlsplit

import yaml

from bayplan.errors import ApiError, NotFound, TimedOut, Unreachable

Obj = dict[str, Any]

MERGE = "application/merge-patch+json"

#: For the API server to answer; it runs on this machine, which may be busy.
TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Login:
    """How somebody shows who they are: a certificate and key in files, or a token; neither for nobody."""

    certificate: Path | None = None
    key: Path | None = None
    token: str = ""


class Api:
    """One user's view of one API server. May be used from several threads."""

    def __init__(self, url: str, authority_pem: bytes, login: Login) -> None:
        address = urlsplit(url)
        self._address = (address.hostname or "", address.port or 443)
        self._tls = ssl.create_default_context(cadata=authority_pem.decode())
        if login.certificate is not None:
            self._tls.load_cert_chain(login.certificate, login.key)
        self._headers = {"Accept": "application/json"}
        if login.token:
            self._headers["Authorization"] = f"Bearer {login.token}"
        self._idle: list[http.client.HTTPSConnection] = []
        self._kinds: dict[tuple[str, str], tuple[str, bool]] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Api:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # By address -----------------------------------------------------------------------------------------------------------

    def call(self, method: str, path: str, body: Obj | None = None, content_type: str = "") -> Any:
        """What the server answers; JSON decoded, anything else as text. Raises ``ApiError`` or ``Unreachable``."""
        headers = dict(self._headers)
        payload = None
        if body is not None:
            payload = json.dumps(body).encode()
            headers["Content-Type"] = content_type or "application/json"
        response, connection = self._exchange(method, path, payload, headers)
        try:
            raw = response.read()
        except (OSError, http.client.HTTPException) as broken:
            connection.close()
            raise Unreachable(f"{method} {path}: {broken!r}", sent=True) from broken
        self._idle.append(connection)
        if response.status >= 400:
            raise _refusal(response.status, f"{method} {path}", raw)
        if response.headers.get_content_type() == "application/json":
            return json.loads(raw)
        return raw.decode()

    def get(self, path: str) -> Any:
        return self.call("GET", path)

    def post(self, path: str, body: Obj) -> Any:
        return self.call("POST", path, body)

    def items(self, path: str) -> list[Obj]:
        """The objects of a collection."""
        found: list[Obj] = self.get(path)["items"]
        return found

    def lines(self, path: str, timeout_s: float) -> contextlib.closing[Lines]:
        """The lines that the server sends there, a watch as a rule; ``timeout_s`` is for silence between them."""
        response, connection = self._exchange("GET", path, None, self._headers, timeout_s)
        if response.status >= 400:
            raw = response.read()
            connection.close()
            raise _refusal(response.status, f"GET {path}", raw)
        return contextlib.closing(Lines(response, connection))

    # By kind --------------------------------------------------------------------------------------------------------------

    def create(self, obj: Obj) -> Obj:
        """Create ``obj`` where its kind lives; the server's version of it."""
        created: Obj = self.post(self._collection(obj), obj)
        return created

    def create_all(self, objects: Iterable[Obj]) -> list[Obj]:
        return [self.create(obj) for obj in objects]

    def create_from(self, manifest: Path) -> list[Obj]:
        """Create every document of a YAML file."""
        documents = yaml.safe_load_all(manifest.read_text(encoding="utf-8"))
        return self.create_all(document for document in documents if document)

    def read(self, obj: Obj) -> Obj:
        """What the server has of ``obj`` now."""
        found: Obj = self.get(self.path_of(obj))
        return found

    def patch(self, obj: Obj, change: Obj, subresource: str = "") -> Obj:
        """Merge ``change`` into ``obj``, or into its status."""
        path = self.path_of(obj) + (f"/{subresource}" if subresource else "")
        patched: Obj = self.call("PATCH", path, change, MERGE)
        return patched

    def replace(self, obj: Obj) -> Obj:
        replaced: Obj = self.call("PUT", self.path_of(obj), obj)
        return replaced

    def delete(self, obj: Obj, grace_s: int | None = None) -> None:
        """Delete ``obj``; no matter if it is gone already."""
        options = None if grace_s is None else {"gracePeriodSeconds": grace_s}
        with contextlib.suppress(NotFound):
            self.call("DELETE", self.path_of(obj), options)

    def path_of(self, obj: Obj) -> str:
        return f"{self._collection(obj)}/{obj['metadata']['name']}"

    def _collection(self, obj: Mapping[str, Any]) -> str:
        version, kind = obj["apiVersion"], obj["kind"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if (version, kind) not in self._kinds:
            for entry in self.get(root)["resources"]:
                if "/" not in entry["name"]:
                    self._kinds[version, entry["kind"]] = (entry["name"], entry["namespaced"])
        try:
            name, namespaced = self._kinds[version, kind]
        except KeyError:
            raise NotFound(404, "NotFound", f"the server has no {kind} in {version}") from None
        if not namespaced:
            return f"{root}/{name}"
        return f"{root}/namespaces/{obj['metadata'].get('namespace', 'default')}/{name}"

    # Connections ----------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the connections that wait for another call."""
        while self._idle:
            self._idle.pop().close()

    def _exchange(
        self,
        method: str,
        path: str,
        payload: bytes | None,
        headers: Mapping[str, str],
        timeout_s: float = TIMEOUT_S,
    ) -> tuple[http.client.HTTPResponse, http.client.HTTPSConnection]:
        while True:
            connection, used = self._connection(timeout_s)
            try:
                connection.request(method, path, payload, dict(headers))
                return connection.getresponse(), connection
            except TimeoutError as late:
                connection.close()
                raise TimedOut(
                    f"{method} {path}: no answer in {timeout_s:g} s", sent=True
                ) from late
            except (OSError, http.client.HTTPException) as broken:
                connection.close()
                # A server closes connections that idled for long; that one is no answer.
                if not used:
                    refused = isinstance(broken, ConnectionRefusedError)
                    raise Unreachable(
                        f"{method} {path}: {broken!r}", sent=not refused, refused=refused
                    ) from broken

    def _connection(self, timeout_s: float) -> tuple[http.client.HTTPSConnection, bool]:
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is not None and connection.sock is not None:
            connection.sock.settimeout(timeout_s)
            return connection, True
        host, port = self._address
        return http.client.HTTPSConnection(host, port, timeout=timeout_s, context=self._tls), False


class Lines:
    """The objects of an answer that goes on, one per line."""

    def __init__(
        self, response: http.client.HTTPResponse, connection: http.client.HTTPSConnection
    ) -> None:
        self._response = response
        self._connection = connection
        # A second handle on the same connection: hanging up through it does not disturb the one that reads.
        self._line = socket.socket(fileno=os.dup(connection.sock.fileno()))

    def __iter__(self) -> Iterator[Obj]:
        try:
            for line in self._response:
                yield json.loads(line)
        except TimeoutError as silent:
            raise TimedOut("no line in time") from silent
        except (OSError, http.client.HTTPException, ValueError) as broken:
            raise Unreachable(f"the answer broke off: {broken!r}") from broken

    def hang_up(self) -> None:
        """End it for whoever reads, from any thread."""
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Free it; for the thread that reads."""
        self._line.close()
        self._response.close()
        self._connection.close()


def query(path: str, **parameters: object) -> str:
    """``path`` with parameters, without those that are ``None``."""
    said = {name: value for name, value in parameters.items() if value is not None}
    return f"{path}?{urlencode(said)}" if said else path


def _refusal(status: int, request: str, raw: bytes) -> ApiError:
    reason, message = "", raw.decode(errors="replace")
    with contextlib.suppress(ValueError):
        answer = json.loads(raw)
        if isinstance(answer, dict):
            reason, message = answer.get("reason", ""), answer.get("message", "")
    kind = NotFound if status == 404 else ApiError
    return kind(status, reason, message, request=request)
