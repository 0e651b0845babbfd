"""Answers that are no: a ``Status`` object, or whatever a proxy on the way had to say, as a typed error. Pure.

Used by ``client.api`` for answers and by ``client.informer`` for errors in the middle of a watch.
"""

from __future__ import annotations

from typing import Final

import msgspec

from bayplan.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
)

#: So much of a text that is no ``Status`` is shown.
_SHOWN: Final = 300

_CLASSES: Final[dict[int, type[ApiError]]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    413: Invalid,
    422: Invalid,
    429: TooManyRequests,
}


class _Cause(msgspec.Struct):
    field: str = ""
    reason: str = ""


class _Details(msgspec.Struct, rename="camel"):
    retry_after_seconds: int = 0
    causes: tuple[_Cause, ...] = ()


class _ListMeta(msgspec.Struct):
    continue_token: str = msgspec.field(default="", name="continue")


class Status(msgspec.Struct, rename="camel"):
    """What the API server says where it does not say what was asked for."""

    kind: str = ""
    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details | None = None
    metadata: _ListMeta | None = None


_decoder: Final = msgspec.json.Decoder(Status)


def error_of(status: int, body: bytes, *, request: str, retry_after_s: float = 0.0) -> ApiError:
    """The error for an answer.

    Args:
        status: the HTTP status; 0: it is the one in the body.
        body: a ``Status``, or any text.
        request: what was asked.
        retry_after_s: what the header says.
    """
    said = read_status(body)
    if said is None:
        text = body[:_SHOWN].decode("utf-8", "replace").strip()
        said = Status(message=" ".join(text.split()))
    status = status or said.code or 500
    if said.details is not None:
        retry_after_s = max(retry_after_s, float(said.details.retry_after_seconds))
    error = _class_of(status, said)(
        status, said.reason, said.message, request=request, retry_after_s=retry_after_s
    )
    if isinstance(error, Gone) and said.metadata is not None:
        error.continue_token = said.metadata.continue_token
    return error


def read_status(body: bytes) -> Status | None:
    """The ``Status`` in a body, if it is one."""
    try:
        found = _decoder.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return found if found.kind == "Status" else None


def _class_of(status: int, said: Status) -> type[ApiError]:
    if said.reason == "AlreadyExists":
        return AlreadyExists
    for cause in said.details.causes if said.details is not None else ():
        if cause.field == "metadata.uid":
            # "Field is immutable", says the API server of a patch that names a uid: another object has the name by now.
            return Conflict
        if cause.reason == "ResourceVersionTooLarge":
            # etcd was put back to an earlier state: what we know lies in a future that will not come.
            return Gone
    if status >= 500:
        return ServerError
    return _CLASSES.get(status, ApiError)
