"""Saying no as the API server does: with a ``Status`` object."""

from __future__ import annotations

from typing import Final

import msgspec

_REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    413: "RequestEntityTooLarge",
    500: "InternalError",
}


class RefusedError(Exception):
    """A request that is not granted."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)

    def body(self) -> bytes:
        """The ``Status``."""
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": _REASONS.get(self.code, "Unknown"),
            "details": {},
            "code": self.code,
        }
        return msgspec.json.encode(status) + b"\n"
