"""The server's certificate: from files, read again when they change, or made on the spot.

Without files a self-signed certificate is made, as kube-scheduler does: in memory, or in ``--cert-dir`` where it is kept for the
next start. Whoever scrapes then has to skip verification or to be given that certificate.
"""

from __future__ import annotations

import contextlib
import os
import ssl
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from bayplan.errors import ConfigError, Problem
from bayplan.telemetry.log import get_logger

_log: Final = get_logger(__name__)

_YEAR: Final = timedelta(days=365)
#: What of a file tells that it was changed, also by swapping the link that leads to it.
_Mark = tuple[int, int, int] | None


class ServingCertificate:
    """The TLS context for new connections."""

    def __init__(self, cert_file: Path, key_file: Path, client_authority: str = "") -> None:
        """Raises ``ConfigError`` where the files cannot be used."""
        self._files = (cert_file, key_file)
        self._client_authority = client_authority
        self._marks = self._look()
        #: SHA-256 of the certificate that is shown, in hexadecimal digits.
        self.fingerprint = ""
        try:
            self._newest = self._read()
        except (OSError, ssl.SSLError, ValueError) as error:
            problem = Problem("", f"cannot serve TLS with {cert_file} and {key_file}: {error}")
            raise ConfigError([problem]) from error
        #: The one to serve with; hands each connection the newest certificate.
        self.context = self._newest
        self.context.sni_callback = self._refresh

    def _refresh(self, connection: ssl.SSLObject, _name: str | None, _context: Any) -> None:
        """A connection comes in: show the certificate that the files hold now."""
        marks = self._look()
        if marks != self._marks:
            # One of the two may be half written; it is tried again when it has changed again.
            self._marks = marks
            try:
                self._newest = self._read()
            except (OSError, ssl.SSLError, ValueError) as error:
                _log.error(
                    "Cannot use the new certificate; the old one stays",
                    error,
                    file=str(self._files[0]),
                )
        connection.context = self._newest

    def _read(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(*self._files)
        self.fingerprint = _fingerprint(self._files[0])
        if self._client_authority:
            context.load_verify_locations(cadata=self._client_authority)
            context.verify_mode = ssl.CERT_OPTIONAL
        return context

    def _look(self) -> tuple[_Mark, ...]:
        return tuple(map(_mark, self._files))


def _fingerprint(file: Path) -> str:
    first = x509.load_pem_x509_certificates(file.read_bytes())[0]
    return first.fingerprint(hashes.SHA256()).hex()


def _mark(path: Path) -> _Mark:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_size, found.st_mtime_ns, found.st_ino)


@contextlib.contextmanager
def self_signed(directory: Path | None, host: str, now: float) -> Iterator[tuple[Path, Path]]:
    """The files of a certificate of our own; in a directory of their own, gone at the end, unless one is given.

    Args:
        directory: keeps the certificate for the next start.
        host: the address that is listened on.
        now: seconds since 1970.
    """
    with contextlib.ExitStack() as stack:
        if directory is None:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bayplan-")))
        files = (directory / "bayplan.crt", directory / "bayplan.key")
        if not all(file.exists() for file in files):
            try:
                directory.mkdir(parents=True, exist_ok=True)
                _write(files, host, now)
            except OSError as error:
                problem = Problem("", f"cannot write a certificate to {directory}: {error}")
                raise ConfigError([problem], "--cert-dir") from error
        yield files


def _write(files: tuple[Path, Path], host: str, now: float) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    begins = datetime.fromtimestamp(now, UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"bayplan@{int(now)}")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # Clocks differ a little.
        .not_valid_before(begins - timedelta(hours=1))
        .not_valid_after(begins + _YEAR)
        .add_extension(x509.SubjectAlternativeName(_names(host)), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    handle = os.open(files[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(pem)
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def _names(host: str) -> list[x509.GeneralName]:
    names: list[x509.GeneralName] = [x509.DNSName("localhost")]
    addresses = ["127.0.0.1", "::1"]
    try:
        if not ip_address(host).is_unspecified:
            addresses.append(host)
    except ValueError:
        names.append(x509.DNSName(host))
    return names + [x509.IPAddress(ip_address(each)) for each in dict.fromkeys(addresses)]
