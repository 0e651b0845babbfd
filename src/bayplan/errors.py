"""Every exception that bayplan raises on purpose.

::

    BayplanError
    ├─ DecodeError       an object, a quantity or a selector that cannot be read
    │   ├─ QuantityError
    │   └─ SelectorError
    ├─ ConfigError       a configuration file with one or more problems
    ├─ PluginError       a plugin that raised, answered nonsense or was late
    │   └─ DataMissing   a plugin read outside data that are not there
    └─ AuditError        a derived count that differs from its recount

A pod that does not fit is not an error: rejections are values (``framework.status``).
"""

from __future__ import annotations

from dataclasses import dataclass


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


class DataMissing(BayplanError):
    """Outside data (a metric, a price) that a plugin reads and nobody has supplied."""


class AuditError(BayplanError):
    """A count kept by increments that differs from a count from scratch."""
