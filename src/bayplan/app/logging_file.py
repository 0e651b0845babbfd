"""The logging policy in a file: read at the start, and again when it changes, as a mounted ConfigMap does.

``--logging-config`` names it; without that flag ``logging.yaml`` beside the configuration counts, where the seeds' ConfigMap
puts it. What cannot be read later leaves everything as it was, with a message. Used by ``process``.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from bayplan.errors import ConfigError, Problem
from bayplan.framework.config.document import read_documents
from bayplan.telemetry import log
from bayplan.telemetry.log_policy import inner_text, levels

_log: Final = log.get_logger(__name__)

NAME: Final = "logging.yaml"
_LOOK_S: Final = 5.0

_Mark = tuple[int, int] | None


class LoggingFile:
    """One policy file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._mark: _Mark = None

    def apply(self) -> None:
        """Have it hold from now on. Raises ``ConfigError``."""
        self._mark = self._look()
        found = read_policy(self._path)
        log.set_levels(found)
        _log.info("Logging policy", file=str(self._path), modules=len(found))

    async def watch(self) -> None:
        """Apply it again whenever it changes, until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_S)
            mark = self._look()
            if mark in (self._mark, None):
                continue
            try:
                self.apply()
            except ConfigError as error:
                _log.error("Cannot use the logging policy; the one before stays", error)

    def _look(self) -> _Mark:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino


def logging_file(named: Path | None, config: Path | None) -> LoggingFile | None:
    """The file that holds: the one that is named, or the one beside the configuration."""
    if named is not None:
        return LoggingFile(named)
    if config is not None and (config.parent / NAME).is_file():
        return LoggingFile(config.parent / NAME)
    return None


def read_policy(path: Path) -> dict[str, int]:
    """The levels that a file holds, a policy's or those of the policy in a ConfigMap.

    Raises:
        ConfigError: with everything that is wrong.
    """
    source = str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError([Problem("", str(error))], source) from error
    document = _only(text, source)
    inner = inner_text(document)
    return levels(document if inner is None else _only(inner, source), source)


def _only(text: str, source: str) -> object:
    documents, problems = read_documents(text)
    if problems or len(documents) != 1:
        problem = Problem("", f"it has to hold one Policy, or one ConfigMap with {NAME}")
        raise ConfigError(problems or [problem], source)
    return documents[0].value
