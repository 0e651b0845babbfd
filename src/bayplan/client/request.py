"""A request, as data. Made by ``client.resources``, carried out by ``client.api``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bayplan.client.retry import NEVER, Retry

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"

#: A POST is not among them: it may have created something.
_HARMLESS: Final = frozenset(("GET", "HEAD", "PUT", "DELETE", "PATCH"))


@dataclass(frozen=True, slots=True)
class Request:
    """One call of the API server."""

    method: str
    #: With the query.
    path: str
    body: bytes = b""
    content_type: str = JSON
    retry: Retry = NEVER
    #: A POST that may be sent twice, since the second is refused: it names what it makes.
    guarded: bool = False
    #: The span that it is a part of, as the W3C's header has it; empty: none.
    traceparent: str = ""

    @property
    def repeatable(self) -> bool:
        """Whether sending it twice does what sending it once does."""
        return self.guarded or self.method in _HARMLESS

    def __str__(self) -> str:
        return f"{self.method} {self.path}"
