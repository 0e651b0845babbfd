"""Structured logging: a message that never varies, and fields that do.

::

    log = get_logger(__name__)
    log.info("Successfully bound pod to node", pod="default/web", node="n1")
    if debug := log.v(4):
        debug.info("Judged", feasible=view.count_feasible())  # not computed below -v=4

``setup`` is called once by the command line and once per change of ``/debug/flags/v``; the formats are in ``log_formats``.
Beneath is the standard library's logging, so other libraries' messages come out in the same form.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final, Literal, TextIO

from bayplan.telemetry.log_formats import JsonFormatter, TextFormatter

Format = Literal["text", "json"]

#: The attributes of a log record that carry the fields and the verbosity.
FIELDS: Final = "bayplan_fields"
VERBOSITY: Final = "bayplan_v"

#: Shown from this level of a policy on.
_LEAST: Final = {logging.INFO: 0, logging.WARNING: -1, logging.ERROR: -2}
#: From here on other libraries' debug messages are shown too.
_LIBRARIES_DEBUG: Final = 6

#: As ``-v``; one number for the process, as in Kubernetes.
_verbosity = 0


#: What a policy says of some modules, by name; for others ``_verbosity`` holds.
_levels: dict[str, int] = {}
#: The same for the loggers that have been asked for, by their full names.
_known: dict[str, int | None] = {}


def set_levels(levels: Mapping[str, int]) -> None:
    """Have another level for the modules whose names begin so; below 0: not even their plain messages."""
    global _levels
    _levels = dict(levels)
    _known.clear()


def _level_of(name: str) -> int:
    """The level of one logger where there is a policy; the longest name that fits decides."""
    if name not in _known:
        fitting = [each for each in _levels if name == each or name.startswith(f"{each}.")]
        _known[name] = _levels[max(fitting, key=len)] if fitting else None
    level = _known[name]
    return _verbosity if level is None else level


def verbosity() -> int:
    """The current ``-v``."""
    return _verbosity


def set_verbosity(level: int) -> None:
    """Change ``-v`` while running."""
    global _verbosity
    _verbosity = level
    logging.getLogger().setLevel(logging.DEBUG if level >= _LIBRARIES_DEBUG else logging.INFO)


class Logger:
    """Writes messages with fields. ``bind`` adds fields that all further messages of a piece of work carry."""

    __slots__ = ("_fields", "_logger", "_v")

    def __init__(
        self, logger: logging.Logger, fields: dict[str, Any] | None = None, v: int = 0
    ) -> None:
        self._logger = logger
        self._fields = fields or {}
        self._v = v

    def bind(self, **fields: Any) -> Logger:
        """The same logger with more to say: ``log.bind(pod="default/web")``."""
        return Logger(self._logger, {**self._fields, **fields}, self._v)

    def v(self, level: int) -> Logger | None:
        """A logger for details, or None (which is false) unless ``-v`` is at least so high."""
        limit = _level_of(self._logger.name) if _levels else _verbosity
        return Logger(self._logger, self._fields, level) if level <= limit else None

    def info(self, message: str, /, **fields: Any) -> None:
        """Something went as it should."""
        self._write(logging.INFO, message, fields)

    def warning(self, message: str, /, **fields: Any) -> None:
        """Something is odd, and the work goes on."""
        self._write(logging.WARNING, message, fields)

    def error(self, message: str, /, err: object = None, **fields: Any) -> None:
        """Something failed; ``err`` is the exception or its text."""
        self._write(logging.ERROR, message, {"err": err, **fields})

    def exception(self, message: str, /, err: BaseException, **fields: Any) -> None:
        """Something failed that nobody foresaw: with the traceback."""
        self._write(logging.ERROR, message, {"err": err, **fields}, err)

    def _write(
        self,
        level: int,
        message: str,
        fields: dict[str, Any],
        traceback_of: BaseException | None = None,
    ) -> None:
        if _levels and _LEAST[level] > _level_of(self._logger.name):
            return
        if self._logger.isEnabledFor(level):
            # Stack level 3: the line that called info, warning or error.
            self._logger.log(
                level,
                "%s",
                message,
                exc_info=traceback_of,
                stacklevel=3,
                extra={FIELDS: {**self._fields, **fields}, VERBOSITY: self._v},
            )


def get_logger(name: str) -> Logger:
    """The logger of a module."""
    return Logger(logging.getLogger(name))


def setup(level: int, fmt: Format, stream: TextIO) -> None:
    """Send all messages of the process to ``stream``, and no others anywhere else."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter() if fmt == "json" else TextFormatter())
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    logging.captureWarnings(capture=True)
    # A full disk or a closed pipe must not fill what is left with tracebacks about itself.
    logging.raiseExceptions = False
    set_verbosity(level)
