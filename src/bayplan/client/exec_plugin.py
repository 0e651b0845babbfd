"""Credentials from a command: ``client.authentication.k8s.io``, v1 and v1beta1.

The command is run when there are no credentials, when they have expired, and when the API server refuses them; never more
than once at a time. It is never interactive: a scheduler has no terminal. Made by ``client.config``.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec

from bayplan.client.trust import PemPair
from bayplan.errors import CredentialsError
from bayplan.telemetry.log import get_logger

_log = get_logger(__name__)

_GROUP: Final = "client.authentication.k8s.io"
VERSIONS: Final = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")

#: A command that takes longer hangs.
_PATIENCE_S: Final = 60.0
#: Credentials that expire sooner than this are replaced first, so that none expires on the way.
_MARGIN_S: Final = 5.0
#: No more of what a command complains about is shown.
_SHOWN: Final = 500


@dataclass(frozen=True, slots=True)
class Command:
    """What to run."""

    program: str
    arguments: tuple[str, ...]
    #: On top of the process's own.
    environment: Mapping[str, str]
    api_version: str
    #: Where it is run; None: where the process is.
    cluster: Mapping[str, Any] | None = None
    install_hint: str = ""
    #: For messages: ``exec of user "me" in /home/me/.kube/config``.
    entry: str = ""
    #: What the process's environment is.
    inherited: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


class _Status(msgspec.Struct, rename="camel", repr_omit_defaults=True):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    status: _Status | None = None


class ExecPlugin:
    """Credentials from a command (``client.access.Credentials``)."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._header: str | None = None
        self._certificate: PemPair | None = None
        #: Seconds since 1970.
        self._expires = float("inf")
        self._running: asyncio.Lock | None = None

    @property
    def certificate(self) -> PemPair | None:
        return self._certificate

    def header(self, now: float) -> str | None:
        return self._header if now < self._expires - _MARGIN_S else None

    async def renew(self, refused: str | None, now: float) -> None:
        # Made here, since a lock belongs to the loop that it was first used in.
        self._running = self._running or asyncio.Lock()
        async with self._running:
            current = self.header(now)
            if current is not None and current != refused:
                return
            self._take(await self._run())

    def _take(self, status: _Status) -> None:
        where = self._command.entry
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise CredentialsError(f"{where}: the command gave only certificate or key, not both")
        if not status.token and not status.client_key_data:
            raise CredentialsError(f"{where}: the command gave no token and no certificate")
        if not (status.token.isascii() and status.token.isprintable()):
            raise CredentialsError(f"{where}: the token that the command gave is no token")
        self._header = f"Bearer {status.token}" if status.token else ""
        pair = None
        if status.client_key_data:
            pair = PemPair(status.client_certificate_data.encode(), status.client_key_data.encode())
        if pair != self._certificate:
            self._certificate = pair
        expires = status.expiration_timestamp
        self._expires = expires.timestamp() if expires is not None else float("inf")

    async def _run(self) -> _Status:
        command = self._command
        try:
            process = await asyncio.create_subprocess_exec(
                command.program,
                *command.arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**command.inherited, **command.environment, **self._question()},
            )
        except OSError as error:
            hint = f"\n{command.install_hint.strip()}" if command.install_hint else ""
            raise CredentialsError(
                f"{command.entry}: cannot run {command.program}: {error.strerror}{hint}"
            ) from error
        try:
            async with asyncio.timeout(_PATIENCE_S):
                output, complaints = await process.communicate()
        except TimeoutError:
            raise CredentialsError(
                f"{command.entry}: {command.program} does not end within {_PATIENCE_S:.0f} s"
            ) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            text = " ".join(complaints.decode("utf-8", "replace").split())[:_SHOWN]
            raise CredentialsError(
                f"{command.entry}: {command.program} failed with exit code {process.returncode}: {text}"
            )
        return self._read(output)

    def _question(self) -> dict[str, str]:
        spec: dict[str, Any] = {"interactive": False}
        if self._command.cluster is not None:
            spec["cluster"] = self._command.cluster
        asked = {
            "kind": "ExecCredential",
            "apiVersion": self._command.api_version,
            "spec": spec,
        }
        return {"KUBERNETES_EXEC_INFO": msgspec.json.encode(asked).decode()}

    def _read(self, output: bytes) -> _Status:
        command = self._command
        try:
            found = msgspec.json.decode(output, type=_ExecCredential)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            # Not the error itself: it may show a piece of a token.
            raise CredentialsError(
                f"{command.entry}: {command.program} printed no ExecCredential in JSON"
            ) from None
        if found.api_version != command.api_version:
            raise CredentialsError(
                f"{command.entry}: the kubeconfig asks for {command.api_version}, "
                f"{command.program} answers with {found.api_version or 'no apiVersion'}"
            )
        if found.status is None:
            raise CredentialsError(f"{command.entry}: {command.program} gave no status")
        if debug := _log.v(4):
            debug.info("Ran the credential plugin", command=command.program)
        return found.status
