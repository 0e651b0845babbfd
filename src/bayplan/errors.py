"""Every exception that bayplan raises on purpose.

::

    BayplanError
    ├─ DecodeError       an object, a quantity or a selector that cannot be read
    │   ├─ QuantityError
    │   └─ SelectorError
    ├─ ConfigError       a configuration file with one or more problems
    ├─ PluginError       a plugin that raised, answered nonsense or was late
    │   └─ DataMissing   a plugin read outside data that are not there
    ├─ PluginHung        raised in a plugin that does not return, to get it out
    ├─ HandleClosed      a plugin wrote through its handle while an attempt was decided
    ├─ AuditError        a derived count that differs from its recount
    ├─ CredentialsError  credentials for the API server that cannot be had
    ├─ ApiError          the API server said no
    │   ├─ Unauthorized, Forbidden, NotFound, Gone, Invalid
    │   ├─ Conflict      and AlreadyExists, which is no Conflict
    │   ├─ TooManyRequests
    │   └─ ServerError
    ├─ ExtenderError     an extender that does not answer, or answers what cannot be
    ├─ RequestRefused    the embedded API says no to a request
    ├─ Unreachable       the API server said nothing
    │   └─ TimedOut      not in time
    └─ ControlPlaneError a control plane for tests that does not run
        └─ BinariesMissing

A pod that does not fit is not an error: rejections are values (``framework.status``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class BayplanError(Exception):
    """The root; catching it catches what bayplan raises and nothing else."""


class DecodeError(BayplanError):
    """An object that cannot be read, with the path to the field at fault."""

    def __init__(self, message: str, *, path: str = "", obj: str = "") -> None:
        self.message = message
        #: Path inside the object, ``spec.containers[0].resources.requests.cpu``.
        self.path = path
        #: The object, ``Pod default/web``, where it is known.
        self.obj = obj
        super().__init__(": ".join(part for part in (obj, path, message) if part))

    def at(self, path: str, obj: str = "") -> DecodeError:
        """The same error seen from further out: ``path`` goes in front of its own."""
        if not self.path:
            joined = path
        elif not path or self.path.startswith("["):
            joined = path + self.path
        else:
            joined = f"{path}.{self.path}"
        return type(self)(self.message, path=joined, obj=obj or self.obj)


class QuantityError(DecodeError):
    """A resource quantity that does not parse."""


class SelectorError(DecodeError):
    """A label, field or node selector that does not parse."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a configuration file."""

    path: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line is not None else ""
        return f"{where}{self.path}: {self.message}" if self.path else f"{where}{self.message}"


class ConfigError(BayplanError):
    """A configuration that cannot be used; carries every problem found in it."""

    def __init__(self, problems: list[Problem], source: str = "") -> None:
        self.problems = problems
        self.source = source
        head = f"{source}: " if source else ""
        super().__init__("\n".join(f"{head}{problem}" for problem in problems))


class PluginError(BayplanError):
    """A plugin that raised, returned something unusable, or took too long."""

    def __init__(self, plugin: str, point: str, message: str) -> None:
        self.plugin = plugin
        self.point = point
        self.message = message
        super().__init__(f'running {point} plugin "{plugin}": {message}')


class PluginHung(BayplanError):
    """Raised in a plugin that does not return; the runner makes a PluginError of it."""


class DataMissing(BayplanError):
    """Outside data (a metric, a price) that a plugin reads and nobody has supplied."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        #: The same without the node's name: equal reasons of many nodes are counted in one line.
        self.reason = reason or message


class HandleClosed(BayplanError):
    """A plugin tried to set something in motion from a filter, a score or a what-if."""


class AuditError(BayplanError):
    """A count kept by increments that differs from a count from scratch."""


class CredentialsError(BayplanError):
    """A token, a certificate or a command that should give one, without which no request can be made."""


class ApiError(BayplanError):
    """What the API server answered instead of what it was asked for."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        *,
        request: str = "",
        retry_after_s: float = 0.0,
    ) -> None:
        #: The HTTP status; for an error in a watch, the code of the Status object.
        self.status = status
        #: The reason of the Status object, ``AlreadyExists``; empty where there is none.
        self.reason = reason
        self.message = message
        #: ``POST /api/v1/namespaces/default/pods/web/binding``.
        self.request = request
        #: What the API server asks for, not what is granted; 0 where it says nothing.
        self.retry_after_s = retry_after_s
        said = f"{status} {reason}".rstrip()
        super().__init__(": ".join(part for part in (request, said, message) if part))


class Unauthorized(ApiError):
    """401: the API server does not know who asks."""


class Forbidden(ApiError):
    """403: it knows, and it is not allowed."""


class NotFound(ApiError):
    """404: no such object, or no such kind."""


class Conflict(ApiError):
    """409: the object is not what the request took it for."""


class AlreadyExists(ApiError):
    """409 as well: there is one of this name."""


class Gone(ApiError):
    """410: this resourceVersion, or this page of a list, is too old."""

    #: With an expired page: where to go on, at the price of consistency.
    continue_token: str = ""


class Invalid(ApiError):
    """400 and 422: the object or the request is malformed."""


class TooManyRequests(ApiError):
    """429: later. For an eviction: not while a disruption budget forbids it."""


class ServerError(ApiError):
    """5xx: the API server, or what stands behind it, is in trouble."""


class Unreachable(BayplanError):
    """No answer: there is no connection, or it broke."""

    def __init__(self, message: str, *, sent: bool = False, refused: bool = False) -> None:
        self.message = message
        #: Whether the request may have been carried out all the same.
        self.sent = sent
        #: Whether nobody listens there, or nobody lets us in.
        self.refused = refused
        super().__init__(message)


class TimedOut(Unreachable):
    """No answer in time."""


class ExtenderError(BayplanError):
    """A foreign extender that does not answer, says that something went wrong, or answers what cannot be."""


class RequestRefused(BayplanError):
    """What the embedded API answers instead of an object: an HTTP code and the fields of a ``Status``."""

    def __init__(
        self, code: int, reason: str, message: str, *, details: dict[str, Any] | None = None
    ) -> None:
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        #: With an expired list: where to go on, at the price of consistency.
        self.continue_token = ""
        super().__init__(message)


class ControlPlaneError(BayplanError):
    """A control plane for tests, or a program beside it, that did not come up or did not stay up."""


class BinariesMissing(ControlPlaneError):
    """Its programs are not on this machine; the message says how to get them."""
