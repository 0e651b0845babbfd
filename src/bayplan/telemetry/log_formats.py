"""How a log message is written: klog's text or component-base's JSON, one line each.

Fed by ``log``. Names of pods, labels and errors come from outside: control characters are escaped, so that no text can pass
for a line of its own, and what looks like a secret is blotted out.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any, Final

from bayplan.telemetry.redaction import REDACTED, Secret, is_secret_name, redact

#: Longer values are cut: a pod may carry a megabyte of annotations.
_MAX_VALUE_CHARS: Final = 8192

_SEVERITIES: Final = {
    logging.DEBUG: "I",
    logging.INFO: "I",
    logging.WARNING: "W",
    logging.ERROR: "E",
    logging.CRITICAL: "F",
}

_SHORT_ESCAPES: Final = {
    '"': r"\"",
    "\\": r"\\",
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
}


def quote(text: str) -> str:
    """A text in quotation marks, escaped as Go's ``strconv.Quote`` does it."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_escape, text))}"'


def _escape(char: str) -> str:
    if short := _SHORT_ESCAPES.get(char):
        return short
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def plain(name: str, value: Any) -> Any:
    """A value as JSON can hold it, without secrets."""
    match value:
        case None | bool() | int() | float():
            return value
        case dict():
            return {str(key): plain(str(key), item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(name, item) for item in value]
        case _:
            return _shown(name, value)


def _shown(name: str, value: Any) -> str:
    if isinstance(value, Secret):
        return REDACTED
    if isinstance(value, bytes | bytearray | memoryview):
        # Never their content: bodies of requests and certificates are bytes.
        return f"<{len(value)} bytes>"
    text = _text_of(value)
    return REDACTED if text and is_secret_name(name) else redact(_cut(text))


def _text_of(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # noqa: BLE001 - a value that cannot be shown must not cost the message
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_VALUE_CHARS else f"{text[:_MAX_VALUE_CHARS]} ..."


def _message(record: logging.LogRecord) -> str:
    return redact(_cut(record.getMessage()))


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields = getattr(record, "bayplan_fields", None)
    if fields is None:
        # Another library's message: say whose.
        return {"logger": record.name}
    return {
        name: plain(name, value)
        for name, value in fields.items()
        if name != "err" or value is not None
    }


class TextFormatter(logging.Formatter):
    """``I1119 07:02:02.123456    1 binding.py:12] "Bound" pod="default/web"``, the time in UTC."""

    def format(self, record: logging.LogRecord) -> str:
        """One line; a traceback follows in lines that begin with a tab, which no message can forge."""
        when = datetime.fromtimestamp(record.created, tz=UTC)
        head = (
            f"{_SEVERITIES.get(record.levelno, 'I')}{when:%m%d %H:%M:%S.%f} "
            f"{record.process or 0:>7} {record.filename}:{record.lineno}] "
        )
        fields = "".join(f" {name}={_text(value)}" for name, value in _fields(record).items())
        return f"{head}{quote(_message(record))}{fields}{_indented(self, record)}"


def _text(value: Any) -> str:
    match value:
        case str():
            return quote(value)
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case int() | float():
            return str(value)
        case _:
            return _json(value)


def _indented(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    if not record.exc_info or record.exc_info[0] is None:
        return ""
    lines = redact(formatter.formatException(record.exc_info)).splitlines()
    body = "".join(f"\t{''.join(map(_escape_unprintable, line))}\n" for line in lines)
    return f" traceback=<\n{body} >"


def _escape_unprintable(char: str) -> str:
    return char if char.isprintable() else _escape(char)


class JsonFormatter(logging.Formatter):
    """``{"ts": milliseconds, "caller": "runtime/binding.py:12", "msg": ..., "v": 0, "pod": ...}``."""

    def format(self, record: logging.LogRecord) -> str:
        """One line. As in Kubernetes an error has ``err`` in place of ``v``."""
        path = PurePath(record.pathname)
        entry: dict[str, Any] = {
            "ts": round(record.created * 1000, 4),
            "caller": f"{path.parent.name}/{path.name}:{record.lineno}",
            "msg": _message(record),
        }
        if record.levelno < logging.ERROR:
            entry["v"] = getattr(record, "bayplan_v", 0)
        entry.update(_fields(record))
        if record.exc_info and record.exc_info[0] is not None:
            entry["stacktrace"] = redact(self.formatException(record.exc_info))
        return _json(entry)


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=True)
    # Escapes below a blank are json's own doing; the rest (line separators, direction marks) is asked for only if present.
    return text if text.isprintable() else json.dumps(value)
