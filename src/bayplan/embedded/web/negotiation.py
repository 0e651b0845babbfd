"""In which form a client wants its answer, and what it sends: ``Accept`` and ``Content-Type``.

Answers are JSON. A client that takes protobuf alone is told so with 406; most that ask for protobuf name JSON second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from bayplan.embedded import protobuf, refusals
from bayplan.embedded.objects import Object, decode

JSON: Final = "application/json"
_READ: Final = (JSON, protobuf.CONTENT_TYPE)


@dataclass(frozen=True, slots=True)
class Accepted:
    """JSON, and what the client wants in it."""

    #: ``Table``, ``PartialObjectMetadata``, ``APIGroupDiscoveryList``; empty for the thing itself.
    wrapped: str = ""
    group: str = ""
    version: str = ""

    @property
    def api_version(self) -> str:
        """``meta.k8s.io/v1``."""
        return f"{self.group}/{self.version}"


_ITSELF: Final = Accepted()


def accepted(header: str, wrappings: frozenset[str]) -> Accepted:
    """The first form in an ``Accept`` header that can be had.

    Args:
        header: as sent; empty means anything.
        wrappings: forms that there are beside the thing itself, ``Table.meta.k8s.io/v1``.

    Raises:
        RequestRefused: 406, if there is none.
    """
    for clause in header.split(",") if header else ():
        media, *rest = (part.strip() for part in clause.split(";"))
        if media.lower() not in (JSON, "*/*", "application/*", "text/*"):
            continue
        given = dict(part.partition("=")[::2] for part in rest)
        form = Accepted(given.get("as", ""), given.get("g", ""), given.get("v", ""))
        if not form.wrapped:
            return _ITSELF
        wrapped = form.wrapped.removesuffix("List") if form.group == "meta.k8s.io" else form.wrapped
        if f"{wrapped}.{form.api_version}" in wrappings:
            return Accepted(wrapped, form.group, form.version)
    if header:
        raise refusals.not_acceptable((JSON,))
    return _ITSELF


def body(content_type: str, raw: bytes) -> Object:
    """The object in a request's body; empty where there is no body.

    Raises:
        RequestRefused: 400 or 415.
    """
    if not raw:
        return {}
    media = content_type.partition(";")[0].strip().lower() or JSON
    if media == protobuf.CONTENT_TYPE:
        api_version, kind, obj = protobuf.decode(raw)
        return {"kind": kind, "apiVersion": api_version} | obj
    if media != JSON:
        # YAML is not read here: no client sends it but in a server-side apply, which is a patch.
        raise refusals.unsupported_media_type(media, _READ)
    try:
        found: Any = decode(raw)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise refusals.bad_request(f"the request body cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise refusals.bad_request("the request body is not an object")
    return found


def check_kind(obj: Object, api_version: str, kind: str) -> None:
    """Refuse a body that says it is something else than the URL says; one that says nothing is taken.

    Raises:
        RequestRefused: 400.
    """
    said_version, said_kind = obj.get("apiVersion"), obj.get("kind")
    if (said_version or api_version, said_kind or kind) != (api_version, kind):
        raise refusals.bad_request(
            f"the API version in the data ({said_version}, Kind={said_kind}) does not match the expected API version "
            f"({api_version}, Kind={kind})"
        )
