"""What a plain word in YAML means, as kubectl and kube-scheduler read it.

That is YAML 1.1 as Go's library has it: ``yes`` is true and ``0777`` is octal, but ``1e3`` is a number (PyYAML says it
is text), ``1:30`` is text (PyYAML says 90), and dates stay text, since JSON has none.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

Scalar = str | int | float | bool | None

_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(
        ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], True
    ),
    **dict.fromkeys(
        ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], False
    ),
    **dict.fromkeys(["", "~", "null", "Null", "NULL"], None),
    **dict.fromkeys([".nan", ".NaN", ".NAN"], float("nan")),
    **dict.fromkeys([".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"], float("inf")),
    **dict.fromkeys(["-.inf", "-.Inf", "-.INF"], float("-inf")),
}
_INTEGERS: Final = (
    (re.compile(r"[-+]?0[xX][0-9a-fA-F]+"), 16),
    (re.compile(r"[-+]?0[bB][01]+"), 2),
    (re.compile(r"[-+]?0[oO]?[0-7]+"), 8),
    (re.compile(r"[-+]?(0|[1-9][0-9]*)"), 10),
)
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
#: Larger than any integer that a configuration can hold; Go reads such a thing as a float.
_DIGITS: Final = 20

_PREFIX: Final = "tag:yaml.org,2002:"


def resolve(text: str) -> Scalar:
    """The value of an unquoted scalar without a tag."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    plain = text.replace("_", "")
    if len(plain) <= _DIGITS + 1:
        for pattern, radix in _INTEGERS:
            if pattern.fullmatch(plain):
                value = int(plain, radix)
                return value if -(2**63) <= value < 2**64 else float(value)
    return float(plain) if _FLOAT.fullmatch(plain) else text


def resolve_tagged(tag: str, text: str) -> Scalar:
    """The value of a scalar that names its type; ValueError where the two do not go together."""
    kind = tag.removeprefix(_PREFIX)
    if tag == "!" or kind in {"str", "timestamp"}:
        return text
    if kind == "binary":
        try:
            return base64.b64decode(text, validate=False).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise ValueError("!!binary value contains invalid base64 data") from None
    value = resolve(text)
    if kind == "float" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind not in {"bool", "int", "float", "null"}:
        raise ValueError(f"the tag {tag} is not allowed here")
    if kind != _kind(value):
        raise ValueError(f"cannot decode !!{_kind(value)} `{text}` as a !!{kind}")
    return value


def _kind(value: Scalar) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float"
        case str():
            return "str"
