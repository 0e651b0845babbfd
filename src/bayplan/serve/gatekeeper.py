"""Who may see what: a client certificate or a token says who asks, the API server says what they may see.

Health is open to all. For everything else whoever asks shows a certificate signed by the cluster's client authority, or a
token that a TokenReview knows; then a SubjectAccessReview decides. Answers are kept for ten seconds. Whoever shows nothing is
``system:anonymous``, and is told to show something (401) where that is not enough. (upstream: apiserver's delegated
authentication and authorization, with ``system:masters`` always allowed)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec

from bayplan.client.lanes import Lane
from bayplan.errors import BayplanError
from bayplan.serve.refusal import RefusedError
from bayplan.serve.reviews import (
    ANONYMOUS,
    User,
    data_of,
    get_config_map,
    is_allowed,
    review_access,
    review_token,
    user_of,
)
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.client.api import Sender
    from bayplan.clock import Clock

V = TypeVar("V")

_log: Final = get_logger(__name__)

HEALTH_PATHS: Final = ("/healthz", "/readyz", "/livez")
#: May see everything, also while the API server is away.
_MASTERS: Final = "system:masters"

_TTL_S: Final = 10.0
_TIMEOUT_S: Final = 10.0
#: Whoever asks for ever new paths must not fill the memory.
_MOST_KEPT: Final = 1024

#: Where a cluster publishes the authority that signs its clients' certificates.
_AUTHENTICATION: Final = ("kube-system", "extension-apiserver-authentication")


class Gatekeeper:
    """Lets requests pass or raises ``RefusedError``."""

    def __init__(
        self,
        authentication: Sender | None,
        authorization: Sender | None,
        clock: Clock,
        *,
        always_allow_paths: Sequence[str] = HEALTH_PATHS,
    ) -> None:
        """Without a sender nobody is known by token, or nobody but ``system:masters`` may see anything."""
        self._authentication = authentication
        self._authorization = authorization
        self._exact = frozenset(p for p in always_allow_paths if not p.endswith("*"))
        self._prefixes = tuple(p[:-1] for p in always_allow_paths if p.endswith("*"))
        self._users: _Kept[User | None] = _Kept(clock)
        self._allowed: _Kept[bool] = _Kept(clock)

    async def admit(self, caller: Caller) -> User | None:
        """Who was let in; None where nobody was asked.

        Raises:
            RefusedError: 401, 403, or 500 where the API server cannot be asked.
        """
        if caller.path in self._exact or caller.path.startswith(self._prefixes or ("\0",)):
            return None
        user = await self._identify(caller)
        if user is None:
            raise RefusedError(401, "Unauthorized")
        if _MASTERS in user.groups or await self._may(user, caller):
            return user
        if user is ANONYMOUS:
            raise RefusedError(401, "Unauthorized")
        raise RefusedError(
            403, f'forbidden: User "{user.name}" cannot {caller.verb} path "{caller.path}"'
        )

    async def _identify(self, caller: Caller) -> User | None:
        if caller.certificate:
            return user_of_certificate(caller.certificate)
        if not caller.authorization:
            return ANONYMOUS
        scheme, _, token = caller.authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token or self._authentication is None:
            return None
        sender = self._authentication

        async def ask() -> User | None:
            answer = await sender.send(review_token(token), Lane.READ, timeout_s=_TIMEOUT_S)
            return user_of(answer)

        try:
            # Kept by its digest: nothing that can be shown to anybody stays in memory.
            return await self._users.get(sha256(token.encode()).digest(), ask)
        except (BayplanError, msgspec.MsgspecError) as error:
            _log.error("Unable to authenticate the request", error)
            return None

    async def _may(self, user: User, caller: Caller) -> bool:
        sender = self._authorization
        if sender is None:
            return False

        async def ask() -> bool:
            request = review_access(user, caller.verb, caller.path)
            return is_allowed(await sender.send(request, Lane.READ, timeout_s=_TIMEOUT_S))

        try:
            return await self._allowed.get((user, caller.verb, caller.path), ask)
        except (BayplanError, msgspec.MsgspecError) as error:
            _log.error("Unable to authorize the request", error, path=caller.path)
            if user is ANONYMOUS:
                return False
            raise RefusedError(
                500, f'Internal Server Error: "{caller.path}": cannot ask the API server'
            ) from error


@dataclass(frozen=True, slots=True)
class Caller:
    """What a request shows of who sends it, and what it wants."""

    verb: str
    path: str
    #: The header.
    authorization: str = ""
    #: As ``ssl.SSLSocket.getpeercert`` has it, verified; None where none was shown.
    certificate: Mapping[str, Any] | None = None


class _Kept(Generic[V]):
    """Answers, for a while."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._answers: OrderedDict[Hashable, tuple[float, V]] = OrderedDict()

    async def get(self, key: Hashable, ask: Callable[[], Awaitable[V]]) -> V:
        """The answer that is kept, or a new one. An error is not kept."""
        now = self._clock.monotonic()
        found = self._answers.get(key)
        if found is not None and now < found[0]:
            return found[1]
        answer = await ask()
        self._answers[key] = (self._clock.monotonic() + _TTL_S, answer)
        self._answers.move_to_end(key)
        while len(self._answers) > _MOST_KEPT:
            self._answers.popitem(last=False)
        return answer


def user_of_certificate(certificate: Mapping[str, Any]) -> User | None:
    """Common name and organizations; None where it names nobody."""
    parts = [pair for rdn in certificate.get("subject", ()) for pair in rdn]
    names = [value for key, value in parts if key == "commonName"]
    groups = tuple(value for key, value in parts if key == "organizationName")
    if not names:
        return None
    return User(names[0], (*groups, "system:authenticated"))


async def find_client_authority(sender: Sender) -> str:
    """The cluster's client authority in PEM; empty, with a warning, where it may not be read."""
    try:
        answer = await sender.send(
            get_config_map(*_AUTHENTICATION), Lane.READ, timeout_s=_TIMEOUT_S
        )
        return data_of(answer).get("client-ca-file", "")
    except (BayplanError, msgspec.MsgspecError) as error:
        _log.warning(
            "Unable to get configmap/extension-apiserver-authentication in kube-system. Usually fixed by "
            "a rolebinding of the role extension-apiserver-authentication-reader. Continuing without "
            "authentication by client certificates; --authentication-skip-lookup leaves the question out",
            err=error,
        )
        return ""
