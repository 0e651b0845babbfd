"""Faults on purpose: what a test makes go wrong between a client and the API.

The HTTP side asks for every request which fault it meets. Watches that are open are registered here, so that they can be
cut, ended, frozen or fed nonsense. Everything is off until a test says otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayplan.embedded import refusals
from bayplan.embedded.reviews import Access
from bayplan.errors import RequestRefused

if TYPE_CHECKING:
    from bayplan.embedded.shelves import Shelves
    from bayplan.embedded.watching import Watch


@dataclass(slots=True, eq=False)
class Fault:
    """What happens to requests of a kind. One request meets at most one fault."""

    #: ``create``, ``watch``; empty: every verb.
    verb: str = ""
    #: ``pods``, ``pods/binding``; empty: every resource.
    resource: str = ""
    #: The object's name; empty: every one.
    name: str = ""
    #: How many requests meet it; None: all.
    times: int | None = None
    #: So many requests pass before the first meets it.
    after: int = 0
    #: Nothing is done for so long.
    delay_s: float = 0.0
    #: The answer, in place of doing anything.
    refusal: RequestRefused | None = None
    #: The connection breaks before anything is done.
    lose_request: bool = False
    #: It is done, and the connection breaks before the answer.
    lose_answer: bool = False
    #: Bytes in place of the answer.
    garbage: bytes | None = None
    #: The connection is closed after the answer.
    close: bool = False
    #: How many requests have met it.
    met: int = 0

    def matches(self, access: Access) -> bool:
        """Whether it is about such a request."""
        return (
            self.verb in ("", access.verb)
            and self.resource in ("", access.resource)
            and self.name in ("", access.name)
        )


@dataclass(slots=True, eq=False)
class OpenWatch:
    """A watch that a client has open."""

    resource: str
    watch: Watch
    transport: asyncio.Transport


class Faults:
    """All faults of one API."""

    def __init__(self, shelves: Shelves) -> None:
        self._shelves = shelves
        self._faults: list[Fault] = []
        self._forbidden: list[Access] = []
        self._watches: list[OpenWatch] = []
        #: Told of every watch that is opened.
        self.on_watch: Callable[[OpenWatch], None] | None = None

    # What goes wrong with requests

    def add(self, fault: Fault) -> Fault:
        """Let something go wrong from now on."""
        self._faults.append(fault)
        return fault

    def remove(self, fault: Fault) -> None:
        """Let it go well again."""
        self._faults = [one for one in self._faults if one is not fault]

    def clear(self) -> None:
        """Let everything go well again; watches that were cut stay cut."""
        self._faults.clear()
        self._forbidden.clear()

    def refuse(
        self,
        verb: str = "",
        resource: str = "",
        *,
        status: int = 500,
        retry_after_s: int = 0,
        times: int | None = None,
    ) -> Fault:
        """Answer with an error instead of doing anything."""
        refusal = refusal_of(status, retry_after_s)
        return self.add(Fault(verb, resource, times=times, refusal=refusal))

    def forbid(self, verb: str, resource: str, group: str = "") -> None:
        """Take a permission away: 403, and access reviews say so too."""
        self._forbidden.append(Access(verb, group, resource))

    def allow(self, verb: str, resource: str, group: str = "") -> None:
        """Give a permission back."""
        given = Access(verb, group, resource)
        self._forbidden = [one for one in self._forbidden if one != given]

    def forbids(self, access: Access) -> bool:
        """Whether nobody may do this."""
        wanted = Access(access.verb, access.group, access.resource)
        return wanted in self._forbidden

    def met_by(self, access: Access) -> Fault | None:
        """The fault that a request meets; it is used up by being asked for."""
        for fault in self._faults:
            if not fault.matches(access):
                continue
            if fault.after > 0:
                fault.after -= 1
                continue
            if fault.times is not None and fault.met >= fault.times:
                continue
            fault.met += 1
            return fault
        return None

    # What goes wrong with watches

    @contextmanager
    def registered(self, one: OpenWatch) -> Iterator[None]:
        """Know of a watch while it is open."""
        self._watches.append(one)
        if self.on_watch is not None:
            self.on_watch(one)
        try:
            yield
        finally:
            self._watches.remove(one)

    def watches(self, resource: str = "") -> list[OpenWatch]:
        """The watches that are open now."""
        return [one for one in self._watches if resource in ("", one.resource)]

    def cut_watches(self, resource: str = "") -> None:
        """Break the connections of watches."""
        for one in self.watches(resource):
            one.watch.end()
            one.transport.abort()

    def end_watches(self, resource: str = "") -> None:
        """End watches in good order, as the server does every few minutes."""
        for one in self.watches(resource):
            one.watch.end()

    def freeze_watches(self, resource: str = "") -> None:
        """Let watches fall silent with their connections open, as when a cable is pulled."""
        for one in self.watches(resource):
            one.watch.frozen = True

    def thaw_watches(self, resource: str = "") -> None:
        """Let frozen watches go on."""
        for one in self.watches(resource):
            one.watch.frozen = False
            one.watch.thaw()

    def send(self, raw: bytes, resource: str = "") -> None:
        """Put bytes into watches that are no event of theirs."""
        for one in self.watches(resource):
            one.watch.put_raw(raw)

    def expire(self, resource: str = "") -> None:
        """Forget the history: who asks for an older version gets 410, and open watches are told so and end."""
        version = self._shelves.version
        for shelf in self._shelves:
            if resource in ("", shelf.name):
                shelf.forget(version)
        for one in self.watches(resource):
            one.watch.fail(refusals.too_old(version, version))


_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


def refusal_of(status: int, retry_after_s: int = 0) -> RequestRefused:
    """An error with a status of its own and no story."""
    details = {"retryAfterSeconds": retry_after_s} if retry_after_s else None
    reason = _REASONS.get(status, "InternalError")
    return RequestRefused(status, reason, f"{reason} on purpose", details=details)
