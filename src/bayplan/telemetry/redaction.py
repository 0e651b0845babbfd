"""What must never be read in a log: tokens, private keys, passwords.

The first defence is the type: ``Secret`` shows nothing wherever it is printed. The second are names: a field called ``token``
is not written. The third looks at the finished text and blots out what looks like a secret, for the sake of messages that
other people's libraries write. Read by ``log`` and by ``serve``, which prints flags and configurations.
"""

from __future__ import annotations

import re
from typing import Final

REDACTED: Final = "<redacted>"

#: Names of fields and keys whose values are secrets; compared in lower case without dashes and underscores.
_SECRET_NAMES: Final = frozenset(
    {
        "accesstoken",
        "apikey",
        "authorization",
        "bearertoken",
        "clientkey",
        "clientkeydata",
        "clientsecret",
        "idtoken",
        "keydata",
        "kubeconfigdata",
        "password",
        "passwd",
        "privatekey",
        "refreshtoken",
        "secret",
        "token",
        "xremotetoken",
    }
)

#: One pattern for all: private keys, ``Bearer`` and ``Basic`` credentials, web tokens, ``name: value`` of the names above.
_SECRET_TEXT: Final = re.compile(
    r"""
      -----BEGIN\ [A-Z0-9 ]*PRIVATE\ KEY-----(?:.*?-----END\ [A-Z0-9 ]*PRIVATE\ KEY-----|.*)
    | (?P<scheme>\bbearer[ ]+|\bbasic[ ]+(?=[A-Za-z]*[0-9=+/]))[A-Za-z0-9._~+/=-]{8,}
    | \beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*
    | (?P<name>\b(?:client-key-data|client-key|(?:access|id|refresh|bearer)?[-_]?token|client-?secret
        |password|passwd|api-?key|authorization)\\?["']?\s*[:=]\s*(?:\\?["'])?)
        (?:(?:bearer|basic)[ ]+)?(?P<value>[^\s"'\\,;}\]&]+)
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)

#: A text with none of these holds no secret that the pattern finds; asking is ten times cheaper than searching.
_SIGNS: Final = ("key", "token", "bearer", "basic", "eyj", "passw", "secret", "authorization")


class Secret:
    """A text that must be handed over, never shown. Printing, formatting and logging give ``<redacted>``."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The text itself, for the one place that sends it."""
        return self._value

    def __repr__(self) -> str:
        return REDACTED

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


def is_secret_name(name: str) -> bool:
    """Whether a field of this name holds a secret."""
    return name.replace("-", "").replace("_", "").lower() in _SECRET_NAMES


def redact(text: str) -> str:
    """The text with everything blotted out that looks like a secret."""
    lowered = text.lower()
    if not any(sign in lowered for sign in _SIGNS):
        return text
    return _SECRET_TEXT.sub(_replace, text)


def _replace(match: re.Match[str]) -> str:
    return f"{match['scheme'] or match['name'] or ''}{REDACTED}"
