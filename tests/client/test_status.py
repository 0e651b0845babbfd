"""Refusals as errors: their class, their words, and what else the answer says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bayplan.client.status import error_of
from bayplan.errors import ApiError, Conflict, Gone, Invalid, ServerError, TooManyRequests


def refused(code: int, **said: Any) -> ApiError:
    return error_of(code, json.dumps({"kind": "Status", **said}).encode(), request="GET /x")


def test_another_object_of_the_name_is_a_conflict_whatever_the_code() -> None:
    """A patch of a pod's status that names a uid: 422, "field is immutable"."""
    cause = {"reason": "FieldValueInvalid", "message": "immutable", "field": "metadata.uid"}
    assert type(refused(422, reason="Invalid", details={"causes": [cause]})) is Conflict
    cause["field"] = "metadata.name"
    assert type(refused(422, reason="Invalid", details={"causes": [cause]})) is Invalid


def test_a_version_from_a_future_that_will_not_come_is_as_gone_as_one_from_the_past() -> None:
    """etcd was restored from a backup: 504, and it would be 504 for ever."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    assert type(refused(504, reason="Timeout", details={"causes": [cause]})) is Gone


def test_an_expired_page_says_where_to_go_on() -> None:
    error = refused(410, reason="Expired", metadata={"continue": "token"})
    assert isinstance(error, Gone)
    assert error.continue_token == "token"
    assert isinstance(found := refused(410, reason="Expired"), Gone)
    assert found.continue_token == ""


def test_in_a_watch_the_code_is_in_the_body() -> None:
    body = json.dumps({"kind": "Status", "code": 410, "reason": "Expired"}).encode()
    assert type(error_of(0, body, request="GET /x")) is Gone
    assert type(error_of(0, b"{}", request="GET /x")) is ServerError


def test_the_longer_of_two_waits_counts() -> None:
    body = json.dumps({"kind": "Status", "details": {"retryAfterSeconds": 3}}).encode()
    error = error_of(429, body, request="GET /x", retry_after_s=5)
    assert isinstance(error, TooManyRequests)
    assert error.retry_after_s == 5


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xff\x00", id="no text"),
        pytest.param(b'{"kind":"Status","code":"x"}', id="a malformed Status"),
        pytest.param(b"[" * 10_000, id="nested deeply"),
        pytest.param(b'{"kind":"Pod"}', id="something else"),
    ],
)
def test_any_body_makes_an_error(body: bytes) -> None:
    error = error_of(503, body, request="GET /x")
    assert type(error) is ServerError
    assert len(str(error)) < 400
