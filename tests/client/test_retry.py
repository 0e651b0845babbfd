"""What is tried again, what is given up, and what needs somebody to mend it."""

from __future__ import annotations

import random

import pytest

from bayplan.client.retry import BIND, CHEAP, IDEMPOTENT, NEVER, Again, Drop, Fatal, Retry
from bayplan.errors import (
    BayplanError,
    Conflict,
    CredentialsError,
    Forbidden,
    Gone,
    NotFound,
    ServerError,
    TimedOut,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)

BUSY = TooManyRequests(429, "TooManyRequests", "")
BROKEN = ServerError(500, "InternalError", "")


def judged(policy: Retry, error: BayplanError, tried: int = 1) -> type:
    return type(policy.judge(error, tried, random.Random(1)))


@pytest.mark.parametrize(
    ("policy", "error", "verdict"),
    [
        pytest.param(BIND, BUSY, Again, id="a binding: busy"),
        pytest.param(BIND, BROKEN, Again, id="a binding: in trouble"),
        pytest.param(BIND, Unreachable("x"), Again, id="a binding: not even sent"),
        pytest.param(BIND, Unreachable("x", sent=True), Drop, id="a binding: perhaps carried out"),
        pytest.param(BIND, TimedOut("x"), Drop, id="a binding: no answer in time"),
        pytest.param(BIND, Conflict(409, "Conflict", ""), Drop, id="a binding: conflict"),
        pytest.param(BIND, NotFound(404, "NotFound", ""), Drop, id="a binding: no such pod"),
        pytest.param(BIND, ServerError(501, "", ""), Drop, id="a binding: not implemented"),
        pytest.param(
            IDEMPOTENT, Unreachable("x", sent=True), Again, id="a read: perhaps carried out"
        ),
        pytest.param(IDEMPOTENT, TimedOut("x"), Again, id="a read: no answer in time"),
        pytest.param(IDEMPOTENT, Gone(410, "Expired", ""), Drop, id="a read: too old"),
        pytest.param(NEVER, BUSY, Drop, id="never"),
        pytest.param(IDEMPOTENT, Forbidden(403, "Forbidden", ""), Fatal, id="no rights"),
        pytest.param(IDEMPOTENT, Unauthorized(401, "Unauthorized", ""), Fatal, id="unknown"),
        pytest.param(IDEMPOTENT, CredentialsError("x"), Fatal, id="no credentials"),
    ],
)
def test_verdicts(policy: Retry, error: BayplanError, verdict: type) -> None:
    assert judged(policy, error) is verdict


@pytest.mark.parametrize("policy", [BIND, IDEMPOTENT, CHEAP], ids=["bind", "idempotent", "cheap"])
def test_no_policy_goes_on_for_ever_nor_for_long(policy: Retry) -> None:
    rng = random.Random(3)
    waited, tried = 0.0, 1
    while isinstance(verdict := policy.judge(BUSY, tried, rng), Again):
        waited += verdict.after_s
        tried += 1
    assert tried == policy.tries
    assert waited <= 5


def test_waits_double_and_differ() -> None:
    policy = Retry(tries=10, first_s=0.1, longest_s=1.0)

    def waits(seed: int) -> list[float]:
        rng = random.Random(seed)
        found = [policy.judge(BROKEN, tried, rng) for tried in range(1, 8)]
        return [verdict.after_s for verdict in found if isinstance(verdict, Again)]

    for wait, whole in zip(waits(1), [0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0], strict=True):
        assert whole / 2 <= wait <= whole
    assert waits(1) != waits(2)


def test_a_wait_that_is_asked_for_counts_unless_it_is_too_long() -> None:
    rng = random.Random(1)
    asked = TooManyRequests(429, "TooManyRequests", "", retry_after_s=7)
    assert BIND.judge(asked, 1, rng) == Again(7)
    asked = TooManyRequests(429, "TooManyRequests", "", retry_after_s=11)
    assert isinstance(BIND.judge(asked, 1, rng), Drop)
