"""A running scheduler's pages, asked for by a person's command: with the credentials of the kubeconfig, over TLS.

``Place`` says where and how the server is known: by a certificate authority, or by the fingerprint that its lease has. No
credential is sent before that is settled. Used by ``cli``.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import aiohttp
import msgspec

from bayplan.client.status import error_of
from bayplan.client.trust import Trust
from bayplan.errors import CredentialsError, Unreachable

if TYPE_CHECKING:
    from bayplan.client.access import ClusterAccess
    from bayplan.client.trust import Pem
    from bayplan.clock import Clock

#: An explanation of a large cluster may be tried for long.
_ANSWER_S: Final = 60.0
_BYTES: Final = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Place:
    """Where a scheduler's pages are."""

    #: ``https://host:port``.
    url: str
    #: SHA-256 of its certificate; empty: an authority vouches for it.
    fingerprint: str = ""
    authority: Pem | None = None
    #: Believe whoever answers.
    insecure: bool = False
    connect_s: float = 5.0


async def can_connect(place: Place) -> bool:
    """Whether anybody listens there."""
    parts = urlsplit(place.url)
    try:
        async with asyncio.timeout(place.connect_s):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or 443)
    except (OSError, TimeoutError):
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True


class SchedulerPages:
    """Asks one scheduler."""

    def __init__(self, access: ClusterAccess, place: Place, clock: Clock) -> None:
        self.place = place
        self._access = access
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> SchedulerPages:
        tls: Any = True
        if self.place.fingerprint:
            tls = aiohttp.Fingerprint(bytes.fromhex(self.place.fingerprint))
        timeout = aiohttp.ClientTimeout(total=_ANSWER_S, sock_connect=self.place.connect_s)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=tls),
            timeout=timeout,
            trust_env=False,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def get(self, path: str, **query: str) -> Any:
        """The JSON of a page.

        Raises:
            Unreachable: there was no answer, or not from whom we meant.
            ApiError: it says no.
            CredentialsError: there is nothing to show.
        """
        header = await self._header()
        answer = await self._get(path, query, header)
        if answer[0] == 401 and header:
            await self._access.credentials.renew(header, self._clock.now())
            answer = await self._get(path, query, await self._header())
        status, body = answer
        if status != 200:
            raise error_of(status, body, request=f"GET {self.place.url}{path}")
        try:
            return msgspec.json.decode(body)
        except msgspec.MsgspecError as error:
            raise Unreachable(
                f"{self.place.url}{path} answers no JSON: {error}", sent=True
            ) from error

    async def _get(self, path: str, query: dict[str, str], header: str) -> tuple[int, bytes]:
        assert self._session is not None
        headers = {"Authorization": header} if header else {}
        url = f"{self.place.url}{path}"
        try:
            async with self._session.get(
                url, params=query, headers=headers, ssl=self._tls(), allow_redirects=False
            ) as answer:
                body = await answer.content.read(_BYTES)
                while piece := await answer.content.read(_BYTES):
                    body += piece
                return answer.status, body
        except aiohttp.ServerFingerprintMismatch as error:
            raise Unreachable(
                f"{self.place.url} shows another certificate than its lease says: somebody else is at that "
                "address, or the certificate has just changed (then try again)",
                sent=False,
            ) from error
        except aiohttp.ClientConnectorCertificateError as error:
            raise Unreachable(
                f"{self.place.url}: {error.certificate_error}; --certificate-authority FILE says whom to "
                "believe, --insecure-skip-tls-verify believes anybody",
                sent=False,
            ) from error
        except TimeoutError as error:
            raise Unreachable(f"{self.place.url} does not answer", sent=True) from error
        except (aiohttp.ClientError, OSError) as error:
            raise Unreachable(f"{self.place.url}: {error}", sent=True) from error

    def _tls(self) -> ssl.SSLContext:
        trust = self._access.trust or Trust()
        # With a fingerprint the chain does not matter: the fingerprint is looked at before anything is sent.
        insecure = self.place.insecure or bool(self.place.fingerprint)
        towards = trust.towards_another(self.place.authority, insecure=insecure)
        return towards.context(self._access.credentials.certificate)

    async def _header(self) -> str:
        now = self._clock.now()
        header = self._access.credentials.header(now)
        if header is None:
            await self._access.credentials.renew(None, now)
            header = self._access.credentials.header(now)
        if header is None:
            raise CredentialsError("the credentials have expired, and so have the new ones")
        return header
