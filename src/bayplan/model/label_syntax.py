"""What may be a label, and the words in which Kubernetes says that something is not.

Read by the selectors: their errors end up in events, so they are the same as kube-scheduler's.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"

_name = re.compile(_NAME, re.ASCII)
_value = re.compile(f"({_NAME})?", re.ASCII)
_subdomain = re.compile(_DNS_SUBDOMAIN, re.ASCII)

MAX_NAME: Final = 63
MAX_PREFIX: Final = 253

_ALLOWED = "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
_BAD_NAME = (
    f"must consist of {_ALLOWED} "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
)
_BAD_VALUE = (
    f"a valid label must be an empty string or consist of {_ALLOWED} "
    f"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '({_NAME})?')"
)
_BAD_PREFIX = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character "
    f"(e.g. 'example.com', regex used for validation is '{_DNS_SUBDOMAIN}')"
)


def key_problems(key: str) -> list[str]:
    """What is wrong with a label key, or any other qualified name; nothing, mostly."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_BAD_NAME} with an optional DNS subdomain prefix and '/'"
            " (e.g. 'example.com/MyName')"
        ]
    problems = []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash:
        problems += [f"prefix part {problem}" for problem in _subdomain_problems(prefix)]
    if not name:
        problems.append("name part must be non-empty")
    elif _size(name) > MAX_NAME:
        problems.append(f"name part must be no more than {MAX_NAME} bytes")
    if not _name.fullmatch(name):
        problems.append(f"name part {_BAD_NAME}")
    return problems


def _subdomain_problems(prefix: str) -> list[str]:
    problems = []
    if _size(prefix) > MAX_PREFIX:
        problems.append(f"must be no more than {MAX_PREFIX} bytes")
    if not _subdomain.fullmatch(prefix):
        problems.append(_BAD_PREFIX)
    return problems


def value_problems(value: str) -> list[str]:
    """What is wrong with a label value."""
    problems = []
    if _size(value) > MAX_NAME:
        problems.append(f"must be no more than {MAX_NAME} bytes")
    if not _value.fullmatch(value):
        problems.append(_BAD_VALUE)
    return problems


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def child(path: str, name: str) -> str:
    """The path to a field of what is at ``path``."""
    return f"{path}.{name}" if path else name


def invalid(path: str, value: str | Sequence[str] | None, detail: str) -> str:
    """``values: Invalid value: null: can't be empty``."""
    return f"{path}: Invalid value: {_shown(value)}: {detail}"


def unsupported(path: str, value: str, supported: Iterable[str]) -> str:
    """``operator: Unsupported value: "Near": supported values: "In", "NotIn"``."""
    listed = ", ".join(map(quote, supported))
    return f"{path}: Unsupported value: {_as_json(value)}: supported values: {listed}"


def aggregate(problems: Iterable[str]) -> str:
    """Several problems as one message: each once, in brackets if there are more than one."""
    distinct = list(dict.fromkeys(problems))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def quote(text: str) -> str:
    """As Go's ``%q``: printable characters stay, the others are escaped."""
    return '"' + "".join(map(_quoted, text)) + '"'


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f"} | {
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def _quoted(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _shown(value: str | Sequence[str] | None) -> str:
    if isinstance(value, str):
        return quote(value)
    return _as_json(None if value is None else list(value))


def _as_json(value: str | list[str] | None) -> str:
    # Go's encoder escapes what could end a script element.
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
