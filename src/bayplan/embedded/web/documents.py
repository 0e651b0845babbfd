"""What the API says about itself: discovery, version, health, OpenAPI. Everything a GET finds that is no resource.

Documents are made when they are first asked for and kept until a kind comes or goes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayplan.embedded import openapi
from bayplan.embedded.objects import Object, encode
from bayplan.embedded.web import discovery, negotiation
from bayplan.embedded.web.discovery import AGGREGATED, AGGREGATED_GROUP
from bayplan.embedded.web.paths import segments

if TYPE_CHECKING:
    from bayplan.embedded.kinds import Kinds

_AGGREGATED: Final = frozenset(
    f"APIGroupDiscoveryList.{AGGREGATED_GROUP}/{version}" for version in AGGREGATED
)
_HEALTH: Final = frozenset({"healthz", "livez", "readyz"})


@dataclass(frozen=True, slots=True)
class Document:
    """One of them."""

    body: bytes
    content_type: str = negotiation.JSON
    etag: str = ""


_OK: Final = Document(b"ok", "text/plain; charset=utf-8")


class Documents:
    """All of them, by path."""

    def __init__(self, kinds: Kinds, address: Callable[[], str]) -> None:
        """Documents about kinds.

        Args:
            kinds: what is served.
            address: host and port, once they are known.
        """
        self._kinds = kinds
        self._address = address
        self._made: dict[tuple[str, str], Document | None] = {}
        kinds.on_change(self._made.clear)

    def find(self, path: str, accept: str) -> Document | None:
        """The document at a path; None where there is none.

        Raises:
            RequestRefused: 406.
        """
        parts = segments(path)
        if parts and parts[0] in _HEALTH:
            return _OK
        wrapped = ""
        if parts in (["api"], ["apis"]):
            form = negotiation.accepted(accept, _AGGREGATED)
            wrapped = form.version if form.wrapped else ""
        key = ("/".join(parts), wrapped)
        if key not in self._made:
            self._made[key] = self._make(parts, wrapped)
        return self._made[key]

    def _make(self, parts: list[str], wrapped: str) -> Document | None:
        if wrapped:
            body = discovery.aggregated(self._kinds, wrapped, core=parts == ["api"])
            form = f";g={AGGREGATED_GROUP};v={wrapped};as=APIGroupDiscoveryList"
            return _document(body, negotiation.JSON + form)
        made = self._plain(parts)
        return None if made is None else _document(made)

    def _plain(self, parts: list[str]) -> Object | None:
        found: Object | None = None
        match parts:
            case ["version"]:
                found = discovery.VERSION
            case ["api"]:
                found = discovery.versions(self._address())
            case ["apis"]:
                found = discovery.groups(self._kinds)
            case ["api", version]:
                found = discovery.resources(self._kinds, "", version)
            case ["apis", group]:
                found = discovery.group(self._kinds, group)
            case ["apis", group, version]:
                found = discovery.resources(self._kinds, group, version)
            case ["openapi", "v3", *rest]:
                found = self._openapi(rest)
            case _:
                pass
        return found

    def _openapi(self, rest: list[str]) -> Object | None:
        if not rest:
            return openapi.index(self._kinds)
        path = "/".join(rest)
        members = [
            kind for kind in self._kinds if openapi.path_of(kind.group, kind.version) == path
        ]
        return openapi.document(members) if members else None


def _document(body: Object, content_type: str = negotiation.JSON) -> Document:
    raw = encode(body)
    return Document(raw, content_type, f'"{hashlib.sha256(raw).hexdigest()[:32]}"')
