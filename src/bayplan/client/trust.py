"""TLS: whom to believe, and which certificate to show; read again when a file changes.

``Trust`` is made by ``client.config`` and asked by ``client.dialing`` for every new connection and now and then in
between. Whenever it answers with another generation, older connections are not used any more.
"""

from __future__ import annotations

import contextlib
import os
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from bayplan.errors import CredentialsError

#: What of a file tells that it was changed, also by swapping the link that leads to it: size, time, inode.
_Mark: TypeAlias = tuple[int, int, int] | None


@dataclass(frozen=True, slots=True, repr=False)
class PemPair:
    """A certificate with its chain, and its key."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class Pem:
    """A PEM document: in a file, or given."""

    path: Path | None = None
    data: bytes = b""
    #: For messages: ``certificate-authority of cluster "kind" in /home/me/.kube/config``.
    entry: str = ""

    def read(self) -> bytes:
        if self.path is None:
            return self.data
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise CredentialsError(
                f"{self.entry}: cannot read {self.path}: {error.strerror}"
            ) from error

    def mark(self) -> _Mark:
        """Changes when the file does; None where there is no file to change."""
        if self.path is None:
            return None
        try:
            found = self.path.stat()
        except OSError:
            return (-1, -1, -1)
        return (found.st_size, found.st_mtime_ns, found.st_ino)


class Trust:
    """What connections over TLS are made with."""

    def __init__(
        self,
        *,
        authority: Pem | None = None,
        certificate: Pem | None = None,
        key: Pem | None = None,
        server_name: str = "",
        insecure: bool = False,
    ) -> None:
        """Read nothing yet.

        Args:
            authority: whose signature the server's certificate needs; None: of those that the machine believes.
            certificate: what to show to the server.
            key: of the certificate.
            server_name: whose certificate the server has to have; empty: that of the host that was called.
            insecure: believe anybody.
        """
        self.server_name = server_name
        self._authority = authority
        self._certificate = certificate
        self._key = key
        self._insecure = insecure
        self._context: ssl.SSLContext | None = None
        self._made_of: tuple[object, ...] = ()
        self.generation = 0

    def towards_another(self, authority: Pem | None, *, insecure: bool = False) -> Trust:
        """For another server that takes the same client certificate: it is believed by another authority, or by none."""
        return Trust(
            authority=authority or self._authority,
            certificate=self._certificate,
            key=self._key,
            insecure=insecure,
        )

    def context(self, own: PemPair | None = None) -> ssl.SSLContext:
        """The context for a new connection; ``generation`` has changed if it is another than before.

        Args:
            own: a client certificate from elsewhere, if none was given at the start.

        Raises:
            CredentialsError: a file cannot be read, or does not hold what it should, and never did.
        """
        made_of = (self._mark(), own)
        if self._context is None or made_of != self._made_of:
            try:
                self._context = self._make(own)
            except CredentialsError:
                # A file that is just being replaced: what held a moment ago still does, and we look again next time.
                if self._context is None:
                    raise
                return self._context
            self._made_of = made_of
            self.generation += 1
        return self._context

    def _mark(self) -> tuple[_Mark, ...]:
        parts = (self._authority, self._certificate, self._key)
        return tuple(part.mark() for part in parts if part is not None)

    def _make(self, own: PemPair | None) -> ssl.SSLContext:
        context = ssl.create_default_context() if self._authority is None else _bare_context()
        if self._insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif self._authority is not None:
            _add_authority(context, self._authority)
        # As Go has it: any certificate in the bundle is believed, be it a root or not, extensions may be missing, and the
        # subject's common name is no host name.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        context.hostname_checks_common_name = False
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        if self._certificate is not None and self._key is not None:
            pair = PemPair(self._certificate.read(), self._key.read())
            _show(context, pair, self._certificate.entry)
        elif own is not None:
            _show(context, own, "the certificate of the exec plugin")
        return context


def _bare_context() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _add_authority(context: ssl.SSLContext, authority: Pem) -> None:
    try:
        context.load_verify_locations(cadata=authority.read().decode("ascii", "ignore"))
    except (ssl.SSLError, ValueError) as error:
        raise CredentialsError(f"{_place(authority)}: no certificate in PEM form in it") from error


def _show(context: ssl.SSLContext, pair: PemPair, entry: str) -> None:
    # Python reads certificates only from files. Deleted at once, and nobody else may read it meanwhile.
    descriptor, name = tempfile.mkstemp(prefix="bayplan-", suffix=".pem")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(pair.certificate.rstrip() + b"\n" + pair.key)
        # Without a password function a key with a password would be asked for at the terminal.
        context.load_cert_chain(name, password=b"")
    except (ssl.SSLError, OSError, ValueError) as error:
        raise CredentialsError(
            f"{entry}: certificate and key are not in PEM form, or do not belong together"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            Path(name).unlink()


def _place(pem: Pem) -> str:
    return f"{pem.entry}: {pem.path}" if pem.path is not None else pem.entry
