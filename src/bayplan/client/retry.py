"""What to do after an error: once more, and when; give it up; or stop altogether. Policy as data.

``Retry`` is carried by a request and asked by ``client.api``; what it grants ends up as an error at the caller, who has
the pod's backoff to fall back on. So a request is retried for seconds, not for minutes.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final, TypeAlias

from bayplan.errors import (
    ApiError,
    BayplanError,
    CredentialsError,
    ServerError,
    TimedOut,
    TooManyRequests,
    Unreachable,
)


@dataclass(frozen=True, slots=True)
class Again:
    """Once more, after a while."""

    after_s: float


@dataclass(frozen=True, slots=True)
class Drop:
    """This request has failed; the next one may well succeed."""


@dataclass(frozen=True, slots=True)
class Fatal:
    """No request will succeed until somebody mends what is wrong: credentials or rights."""


Verdict: TypeAlias = Again | Drop | Fatal

_DROP: Final = Drop()
_FATAL: Final = Fatal()


@dataclass(frozen=True, slots=True)
class Retry:
    """How often, and how long in between."""

    #: All tries together.
    tries: int = 1
    #: The first wait, which doubles from try to try.
    first_s: float = 0.05
    longest_s: float = 2.0
    #: A wait that the API server asks for and that is longer than this is not waited for.
    patience_s: float = 10.0
    #: Whether a request that may have been carried out is sent once more.
    repeat_sent: bool = False

    def judge(self, error: BayplanError, tried: int, rng: random.Random) -> Verdict:
        """What to do about an error after ``tried`` tries."""
        if isinstance(error, CredentialsError) or (
            isinstance(error, ApiError) and error.status in (401, 403)
        ):
            return _FATAL
        if tried >= self.tries or not self._is_passing(error):
            return _DROP
        asked = error.retry_after_s if isinstance(error, ApiError) else 0.0
        if asked > self.patience_s:
            return _DROP
        wait = min(self.first_s * 2.0 ** (tried - 1), self.longest_s)
        # From half to the whole, so that those who failed together do not come back together.
        return Again(max(asked, wait * rng.uniform(0.5, 1.0)))

    def _is_passing(self, error: BayplanError) -> bool:
        """Whether the same request may succeed later."""
        if isinstance(error, TooManyRequests):
            return True
        if isinstance(error, ServerError):
            return error.status in (500, 502, 503, 504)
        if isinstance(error, TimedOut):
            return self.repeat_sent
        if isinstance(error, Unreachable):
            return not error.sent or self.repeat_sent
        return False


#: One try.
NEVER: Final = Retry()
#: A binding: a few tries within a second or two. What may have been carried out is not repeated: the caller looks first.
BIND: Final = Retry(tries=5, first_s=0.1, longest_s=2.0)
#: Reads, and writes that end the same however often they are made.
IDEMPOTENT: Final = Retry(tries=5, first_s=0.1, longest_s=2.0, repeat_sent=True)
#: What can be lost: events.
CHEAP: Final = Retry(tries=2, first_s=0.5, longest_s=0.5, patience_s=5.0)
