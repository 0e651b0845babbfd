"""Whom to be taken for: nobody, a token, a token in a file, a name with a password. ``exec_plugin`` has one more way.

Each is a ``client.access.Credentials``; made by ``client.config``, asked by ``client.api``.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Final

from bayplan.client.trust import PemPair
from bayplan.errors import CredentialsError
from bayplan.telemetry.redaction import Secret

#: How long a token from a file is used before the file is looked at again. Kubelets renew them long before they expire.
_REREAD_S: Final = 60.0


class Fixed:
    """Credentials that never change; none at all unless something is given."""

    def __init__(self, header: Secret | None = None) -> None:
        self._header = header or Secret("")

    @classmethod
    def token(cls, token: Secret) -> Fixed:
        """A bearer token."""
        return cls(Secret(f"Bearer {token.reveal()}"))

    @classmethod
    def basic(cls, user: str, password: Secret) -> Fixed:
        """A name and a password."""
        both = f"{user}:{password.reveal()}".encode()
        return cls(Secret(f"Basic {base64.b64encode(both).decode()}"))

    @property
    def certificate(self) -> PemPair | None:
        return None

    def header(self, now: float) -> str | None:
        del now
        return self._header.reveal()

    async def renew(self, refused: str | None, now: float) -> None:
        """There are no others."""


class TokenFile:
    """A token that somebody keeps up to date in a file."""

    def __init__(self, path: Path, *, entry: str = "", fallback: Secret | None = None) -> None:
        """Read nothing yet.

        Args:
            path: the file.
            entry: for messages: ``tokenFile of user "me" in /home/me/.kube/config``.
            fallback: used while the file cannot be read.
        """
        self._path = path
        self._entry = entry
        self._header = Secret(f"Bearer {fallback.reveal()}") if fallback else Secret("")
        self._read_at = float("-inf")

    @property
    def certificate(self) -> PemPair | None:
        return None

    def header(self, now: float) -> str | None:
        # The clock may have been put back: then the file is read again, too.
        if not 0.0 <= now - self._read_at < _REREAD_S:
            self._read(now)
        return self._header.reveal()

    async def renew(self, refused: str | None, now: float) -> None:
        if refused is None or refused == self._header.reveal():
            self._read(now)

    def _read(self, now: float) -> None:
        try:
            token = self._path.read_text(encoding="ascii").strip()
        except (OSError, ValueError) as error:
            if self._header:
                self._read_at = now
                return
            raise CredentialsError(f"{self._where}: {_reason(error)}") from error
        if token and token.isprintable():
            self._header = Secret(f"Bearer {token}")
        elif not self._header:
            raise CredentialsError(f"{self._where}: no token in it")
        self._read_at = now

    @property
    def _where(self) -> str:
        return f"{self._entry}: {self._path}" if self._entry else str(self._path)


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else "not a text in ASCII"
