"""The embedded API server: a Kubernetes API in this process, on a loopback port.

::

    async with EmbeddedApi() as api:
        api.store.create("pods", pod, "default")
        api.write_kubeconfig(path)  # for kubectl and everybody else
        api.faults.refuse("create", "pods/binding", status=503, times=2)

Started by ``bayplan cluster``, ``bayplan demo`` and by tests. The store can be used before the server listens and without
it.
"""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Final, Self

import yaml
from aiohttp import web

from bayplan.clock import Clock, SystemClock
from bayplan.embedded import reviews
from bayplan.embedded.customs import Customs
from bayplan.embedded.expiry import EventExpiry
from bayplan.embedded.faults import Faults
from bayplan.embedded.namespaces import NamespaceEmptier
from bayplan.embedded.shelf import WINDOW
from bayplan.embedded.state import State
from bayplan.embedded.store import Store
from bayplan.embedded.web.documents import Documents
from bayplan.embedded.web.operations import Operations
from bayplan.embedded.web.serving import MOST_BYTES, Serving
from bayplan.testing.control_plane.certificates import Authority
from bayplan.testing.control_plane.files import write_atomically

_HOST: Final = "127.0.0.1"

#: Connections that nobody uses are closed after this.
_IDLE_S: Final = 600.0


@dataclass(frozen=True, slots=True)
class EmbeddedOptions:
    """How the server is to be."""

    #: 0: any free port.
    port: int = 0
    #: Who presents it may do everything; empty: everybody may.
    token: str = ""
    #: Further tokens, and who presents them.
    users: Mapping[str, str] = field(default_factory=dict)
    #: HTTPS with certificates of its own.
    tls: bool = False
    #: A folder in which objects outlive the process; None: they do not.
    state: Path | None = None
    clock: Clock = field(default_factory=SystemClock)
    #: For uids and generated names; None: unpredictable ones.
    rng: Random | None = None
    #: How many changes of a resource a watch can go back.
    window: int = WINDOW

    @property
    def tokens(self) -> dict[str, str]:
        """Tokens that are good, and whose they are."""
        return {**self.users, **({self.token: reviews.ADMIN} if self.token else {})}


class EmbeddedApi:
    """The server."""

    def __init__(self, options: EmbeddedOptions | None = None) -> None:
        self.options = options or EmbeddedOptions()
        self.store = Store(self.options.clock, rng=self.options.rng, window=self.options.window)
        self.customs = Customs(self.store)
        self.namespaces = NamespaceEmptier(self.store)
        self.faults = Faults(self.store.shelves)
        #: The certificate that clients check the server's with; empty without TLS.
        self.authority_pem = b""
        self._port = self.options.port
        self._state: State | None = None
        self._expiry = EventExpiry(self.store)
        self._ssl: ssl.SSLContext | None = None
        self._server: web.Server | None = None
        self._runner: web.ServerRunner | None = None

    @property
    def url(self) -> str:
        """Where it listens, ``http://127.0.0.1:8001``."""
        return f"{'https' if self.options.tls else 'http'}://{self._address()}"

    def _address(self) -> str:
        return f"{_HOST}:{self._port}"

    async def __aenter__(self) -> Self:
        self.load()
        if self.options.tls and self._ssl is None:
            self._ssl = self._certify()
        await self.listen()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop_listening()
        if self._state is not None:
            self._state.close()

    def load(self) -> None:
        """Put back what is on disk, if anything is kept there, and what every cluster has.

        Raises:
            DecodeError: what is on disk cannot be read.
        """
        if self.options.state is not None and self._state is None:
            self._state = State(self.options.state, self.store.shelves)
            self.customs.resume()
            self.store.quotas.resume()
            self.namespaces.resume()
        self.store.seed()

    async def listen(self) -> None:
        """Take connections; after ``stop_listening`` on the same port as before.

        Raises:
            OSError: the port is taken.
        """
        tokens = self.options.tokens
        operations = Operations(self.store, tokens=tokens, forbids=self.faults.forbids)
        documents = Documents(self.store.kinds, self._address)
        serving = Serving(self.store, operations, documents, self.faults, tokens)
        self._server = web.Server(
            serving,
            request_factory=_request,
            handler_cancellation=True,
            keepalive_timeout=_IDLE_S,
            access_log=None,
        )
        # Whoever still waits for something when the server stops has waited in vain.
        self._runner = web.ServerRunner(self._server, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(
            self._runner, _HOST, self._port, ssl_context=self._ssl, reuse_address=True
        )
        await site.start()
        self._port = int(self._runner.addresses[0][1])
        self._expiry.start()

    async def stop_listening(self) -> None:
        """Break all connections and take no more, as a server that has crashed; the store stays."""
        if self._runner is None:
            return
        runner, self._runner = self._runner, None
        self._expiry.stop()
        self.faults.cut_watches()
        self.break_connections()
        await runner.cleanup()

    def break_connections(self) -> None:
        """Break all connections there are, with whatever is under way on them."""
        for connection in list(self._server.connections) if self._server else ():
            if isinstance(connection.transport, asyncio.Transport):
                connection.transport.abort()

    def write_kubeconfig(self, path: Path | str) -> Path:
        """Write a kubeconfig that leads here; readable by its owner alone."""
        raw = yaml.safe_dump(self.kubeconfig(), sort_keys=False).encode()
        write_atomically(Path(path), raw, mode=0o600)
        return Path(path)

    def kubeconfig(self) -> dict[str, Any]:
        """A kubeconfig that leads here."""
        cluster: dict[str, Any] = {"server": self.url}
        if self.authority_pem:
            cluster["certificate-authority-data"] = _base64(self.authority_pem)
        user = {"token": self.options.token} if self.options.token else {}
        context = {"cluster": "bayplan", "user": "bayplan", "namespace": "default"}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "bayplan", "cluster": cluster}],
            "users": [{"name": "bayplan", "user": user}],
            "contexts": [{"name": "bayplan", "context": context}],
            "current-context": "bayplan",
        }

    def _certify(self) -> ssl.SSLContext:
        authority = Authority("bayplan embedded", self.options.clock)
        self.authority_pem = authority.pem
        pair = authority.server([_HOST, "localhost", "kubernetes"])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = Path(folder, "tls.crt"), Path(folder, "tls.key")
            pair.write(certificate, key)
            context.load_cert_chain(certificate, key)
        return context


def _request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
    return web.BaseRequest(
        message, payload, protocol, writer, task, task.get_loop(), client_max_size=MOST_BYTES
    )


def _base64(raw: bytes) -> str:
    return b64encode(raw).decode()
