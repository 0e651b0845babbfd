"""One foreign webhook over HTTP: a body goes there, a body comes back, and nothing that it does can hurt us.

No redirect is followed, no compressed answer is unpacked, nothing is read beyond a bound that goes by what was sent, and an
answer that is not there in time is none. Certificates are verified unless the configuration says otherwise. Called by
``runtime.extending``.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import aiohttp

from bayplan.errors import CredentialsError, ExtenderError

if TYPE_CHECKING:
    from bayplan.client.trust import Trust

#: An answer names nodes that were asked about, or holds them: it cannot be much longer than what was sent.
_ANSWER_BYTES: Final = 4 << 20
_SHARE: Final = 2
_HEADERS: Final = {"Content-Type": "application/json", "Accept-Encoding": "identity"}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a webhook is, and how long it may take."""

    #: ``http://host:port/path``, without a slash at the end.
    prefix: str
    timeout_s: float

    @classmethod
    def of(cls, prefix: str, timeout_s: float) -> Address:
        """Raises ``ValueError`` where the prefix is no URL that can be called."""
        parts = urlsplit(prefix)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{prefix!r}: write it as http://host:port or https://host:port")
        return cls(prefix.rstrip("/"), timeout_s)

    @property
    def is_secure(self) -> bool:
        return self.prefix.startswith("https:")


class Webhook:
    """Calls one webhook; connections are kept."""

    def __init__(self, address: Address, trust: Trust) -> None:
        self.address = address
        self._trust = trust
        self._session: aiohttp.ClientSession | None = None

    async def call(self, verb: str, body: bytes) -> bytes:
        """What the webhook answers.

        Raises:
            ExtenderError: nothing came back in time, or not with status 200, or too much of it.
        """
        url = f"{self.address.prefix}/{verb}"
        try:
            async with asyncio.timeout(self.address.timeout_s):
                return await self._post(url, verb, body)
        except TimeoutError:
            waited = f"{self.address.timeout_s:g} s"
            raise ExtenderError(f"extender at {url} did not answer within {waited}") from None
        except aiohttp.ClientError as error:
            said = str(error) or type(error).__name__
            raise ExtenderError(f"extender at {url}: {said}") from error
        except (OSError, CredentialsError, ValueError) as error:
            raise ExtenderError(f"extender at {url}: {error}") from error

    async def _post(self, url: str, verb: str, body: bytes) -> bytes:
        tls = self._trust.context() if self.address.is_secure else True
        name = self._trust.server_name or None
        async with self._opened().post(
            url, data=body, headers=_HEADERS, ssl=tls, server_hostname=name, allow_redirects=False
        ) as answer:
            if answer.status != 200:
                code = answer.status
                raise ExtenderError(f"failed {verb} with extender at URL {url}, code {code}")
            return await _read(answer, url, _ANSWER_BYTES + _SHARE * len(body))

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            # The bound on time is ours; the environment's proxies are for other traffic.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
                auto_decompress=False,
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    async def close(self) -> None:
        """Hang up."""
        session, self._session = self._session, None
        if session is not None:
            with contextlib.suppress(OSError):
                await session.close()


async def _read(answer: aiohttp.ClientResponse, url: str, limit: int) -> bytes:
    text = bytearray()
    too_long = f"the answer of the extender at {url} is longer than {limit} bytes"
    if (answer.content_length or 0) > limit:
        answer.close()
        raise ExtenderError(too_long)
    async for piece in answer.content.iter_any():
        text += piece
        if len(text) > limit:
            answer.close()
            raise ExtenderError(too_long)
    return bytes(text)
