"""Lists: which objects, at which version, in which chunk.

``page`` answers the query parameters of a list with entries; turning them into bytes is ``answers``' business. A chunk
goes on where the one before ended and shows the same moment, as long as the history reaches back to it.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from bayplan.embedded import refusals
from bayplan.embedded.objects import decode, encode
from bayplan.errors import RequestRefused

if TYPE_CHECKING:
    from bayplan.embedded.entries import Entry
    from bayplan.embedded.selecting import Selection
    from bayplan.embedded.shelf import Shelf

_TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)

#: In a token: go on from the key with whatever is there now.
_INCONSISTENT: Final = -1


@dataclass(frozen=True, slots=True)
class Page:
    """One chunk of a list."""

    entries: list[Entry]
    version: int
    #: Where to go on; empty at the end.
    token: str = ""
    #: How many objects are still to come, where that is known.
    remaining: int | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a list's query asks for."""

    limit: int
    token: str
    #: None: the newest there is.
    version: int | None
    exact: bool

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Wanted:
        """From query parameters.

        Raises:
            RequestRefused: 400 or 422, if they make no sense together.
        """
        token, match = query.get("continue", ""), query.get("resourceVersionMatch", "")
        text = query.get("resourceVersion", "")
        if match:
            _check_match(match, text, token)
        if token and text not in ("", "0"):
            raise refusals.bad_request(
                "specifying resource version is not allowed when using continue"
            )
        version = version_of(text)
        limit = query.get("limit", "")
        if limit and not limit.lstrip("-").isdigit():
            raise refusals.bad_request(f'strconv.ParseInt: parsing "{limit}": invalid syntax')
        # A list that takes any version comes from a cache, and whole.
        chunk = max(int(limit or 0), 0) if text != "0" or match else 0
        exact = match == "Exact" or (match == "" and chunk > 0 and version not in (None, 0))
        return cls(chunk, token, version, exact)


def version_of(text: str) -> int | None:
    """A resourceVersion as a number; None where there is none.

    Raises:
        RequestRefused: 400, if it is no number.
    """
    if not text:
        return None
    if not text.isascii() or not text.isdigit():
        raise refusals.bad_request(
            f'invalid resource version: resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    return int(text)


def _check_match(match: str, version: str, token: str) -> None:
    field, problems = "resourceVersionMatch", []
    if match not in ("Exact", "NotOlderThan"):
        known = ("Exact", "NotOlderThan", "")
        problems.append(refusals.unsupported_value(field, match, known))
    elif token:
        said = "resourceVersionMatch is forbidden when continue is provided"
        problems.append(refusals.forbidden_field(field, said))
    elif not version:
        said = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        problems.append(refusals.forbidden_field(field, said))
    elif match == "Exact" and version == "0":
        said = 'resourceVersionMatch "Exact" is forbidden for resourceVersion "0"'
        problems.append(refusals.forbidden_field(field, said))
    if problems:
        raise refusals.invalid("ListOptions", "meta.k8s.io", "", problems)


def page(shelf: Shelf, current: int, selection: Selection, wanted: Wanted) -> Page:
    """The objects that a list shows.

    Raises:
        RequestRefused: 410, 504 or 400.
    """
    version, after = current, ""
    if wanted.token:
        version, after = _read(wanted.token, current)
    elif wanted.version is not None:
        if wanted.version > current:
            raise refusals.too_large_version(wanted.version, current)
        if wanted.exact:
            version = wanted.version
    if version == current:
        view = shelf
    else:
        try:
            view = shelf.as_of(version)
        except RequestRefused as refusal:
            if wanted.token:
                token = _token(_INCONSISTENT, after)
                raise refusals.expired(_TOO_OLD, token) from refusal
            raise
    return _cut(view, version, selection, wanted.limit, after)


def _cut(view: Shelf, version: int, selection: Selection, limit: int, after: str) -> Page:
    found = view.select(selection, after)
    if not limit:
        return Page(list(found), version)
    entries = list(islice(found, limit + 1))
    if len(entries) <= limit:
        return Page(entries, version)
    del entries[limit]
    # Counting what is left is for free only where nothing selects; as in Kubernetes, else it is not said.
    free = selection.labels.empty and selection.fields.empty
    rest = 1 + sum(1 for _ in found) if free else None
    return Page(entries, version, _token(version, entries[-1].key), rest)


def _token(version: int, after: str) -> str:
    raw = encode({"v": "meta.k8s.io/v1", "rv": version, "start": after + "\0"})
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _read(token: str, current: int) -> tuple[int, str]:
    try:
        found = decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        version, after = int(found["rv"]), str(found["start"]).removesuffix("\0")
    except (ValueError, KeyError, TypeError, msgspec.DecodeError) as error:
        raise refusals.bad_request(
            f"invalid continue token: continue key is not valid: {error}"
        ) from error
    if version > current:
        raise refusals.too_large_version(version, current)
    return (current if version == _INCONSISTENT else version), after
