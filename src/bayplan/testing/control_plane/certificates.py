"""A certificate authority for one control plane, and what it signs.

``plane`` makes one at start: for the API server's own certificate, and for users who log in by client certificate.
Everything is kept as PEM, which is what kubeconfigs and command lines take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from bayplan.clock import Clock
from bayplan.testing.control_plane.files import write_atomically

#: A certificate is valid from a little before it was made, for clocks that differ.
SKEW_S = 3600.0

DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, both as PEM."""

    certificate: bytes
    key: bytes

    def write(self, certificate: Path, key: Path) -> None:
        """To two files; the key first, so that whoever watches the certificate finds its key."""
        write_atomically(key, self.key, mode=0o600)
        write_atomically(certificate, self.certificate)


class Authority:
    """Signs certificates; its own is the one that the others are checked with."""

    def __init__(self, name: str, clock: Clock) -> None:
        self._clock = clock
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = self._builder(self._name, self._key.public_key(), 10 * 365 * DAY_S)
        builder = builder.add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
        self._certificate = builder.sign(self._key, hashes.SHA256())
        #: The authority's certificate as PEM.
        self.pem = _pem(self._certificate)

    def server(self, hosts: Sequence[str], lifetime_s: float = 365 * DAY_S) -> KeyPair:
        """A serving certificate for names and addresses."""
        alternatives: list[x509.GeneralName] = [_general_name(host) for host in hosts]
        return self._issue(
            x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])]),
            ExtendedKeyUsageOID.SERVER_AUTH,
            lifetime_s,
            alternatives,
        )

    def client(
        self, user: str, groups: Sequence[str] = (), lifetime_s: float = 365 * DAY_S
    ) -> KeyPair:
        """A certificate that logs in as ``user``: Kubernetes reads groups from the organisations."""
        parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        parts.append(x509.NameAttribute(NameOID.COMMON_NAME, user))
        return self._issue(x509.Name(parts), ExtendedKeyUsageOID.CLIENT_AUTH, lifetime_s, [])

    def _issue(
        self,
        subject: x509.Name,
        purpose: x509.ObjectIdentifier,
        lifetime_s: float,
        alternatives: list[x509.GeneralName],
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(subject, key.public_key(), lifetime_s)
        builder = builder.add_extension(
            x509.BasicConstraints(ca=False, path_length=None), critical=True
        )
        builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        if alternatives:
            builder = builder.add_extension(
                x509.SubjectAlternativeName(alternatives), critical=False
            )
        return KeyPair(_pem(builder.sign(self._key, hashes.SHA256())), _private_pem(key))

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, lifetime_s: float
    ) -> x509.CertificateBuilder:
        now = datetime.fromtimestamp(self._clock.now(), UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(seconds=SKEW_S))
            .not_valid_after(now + timedelta(seconds=lifetime_s))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
        )


def service_account_key() -> bytes:
    """A private key to sign the tokens of service accounts with."""
    return _private_pem(rsa.generate_private_key(public_exponent=65537, key_size=2048))


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _private_pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
