"""Where the API server is, whom to be taken for there, and how to tell that it is the right one: as data.

Made by ``client.config``; used by ``client.dialing`` and ``client.api``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import unquote, urlsplit

from bayplan.client.trust import PemPair, Trust
from bayplan.telemetry.redaction import Secret


@dataclass(frozen=True, slots=True)
class Address:
    """A URL, taken apart."""

    host: str
    port: int
    secure: bool
    #: What comes before every path; empty, or with a slash in front and none behind.
    prefix: str = ""

    @classmethod
    def of(cls, url: str) -> Address:
        """Of a server's URL; a host without a scheme is meant with https. Raises ValueError."""
        parts = urlsplit(url if "://" in url else f"https://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no http or https URL")
        if parts.query or parts.fragment or parts.username:
            raise ValueError(f"{_without_user(url)!r} may have no user, query or fragment")
        secure = parts.scheme == "https"
        return cls(
            parts.hostname, parts.port or (443 if secure else 80), secure, parts.path.rstrip("/")
        )

    @property
    def authority(self) -> str:
        """``host:port``, as requests and metrics name it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{'https' if self.secure else 'http'}://{self.authority}{self.prefix}"


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy that connects us through."""

    host: str
    port: int
    #: ``user:password``; empty: it asks for none.
    user: Secret = field(default_factory=lambda: Secret(""))

    @classmethod
    def of(cls, url: str) -> Proxy:
        """Of a proxy's URL; raises ValueError."""
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise ValueError(
                f"{_without_user(url)!r}: only http://host:port is supported as a proxy"
            )
        user = (
            f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
        )
        return cls(parts.hostname, parts.port or 80, Secret(user))


class Credentials(Protocol):
    """Whom to be taken for."""

    @property
    def certificate(self) -> PemPair | None:
        """A client certificate that came with the credentials, beside those in the kubeconfig."""

    def header(self, now: float) -> str | None:
        """The Authorization header, empty for none; None: there are none that hold, ``renew`` first.

        Args:
            now: seconds since 1970.
        """

    async def renew(self, refused: str | None, now: float) -> None:
        """Get new ones; nothing is done if what was refused has been replaced already.

        Raises:
            CredentialsError: there are none to be had.
        """


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """All that is needed to reach a cluster."""

    server: Address
    credentials: Credentials
    #: None: without TLS.
    trust: Trust | None = None
    proxy: Proxy | None = None
    #: Where the process, or the context, is at home.
    namespace: str = "default"
    #: For messages: ``context "kind" of /home/me/.kube/config``.
    source: str = ""


def _without_user(url: str) -> str:
    before, at, after = url.rpartition("@")
    return f"{before.partition('://')[0]}://…@{after}" if at else url
