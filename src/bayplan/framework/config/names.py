"""Which strings Kubernetes takes for names of resources, in its own words.

Used by ``validation`` for the resources that extenders manage. (apimachinery validate/content: IsLabelKey,
IsDNS1123Subdomain; core/v1/helper: IsExtendedResourceName.)
"""

from __future__ import annotations

import re
from typing import Final

_KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_KEY_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_KEY}')"
)
_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_DOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_DOMAIN}')"
)
_MAX_NAME: Final = 63
_MAX_DOMAIN: Final = 253


def qualified_name_problems(value: str) -> list[str]:
    """What keeps ``value`` from being a qualified name, ``example.com/name``; nothing if it is one."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_KEY_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    problems = [f"prefix part {problem}" for problem in _domain_problems(prefix)] if slash else []
    if not name:
        problems.append("name part must be non-empty")
    elif len(name.encode()) > _MAX_NAME:
        problems.append(f"name part must be no more than {_MAX_NAME} bytes")
    if not re.fullmatch(_KEY, name):
        problems.append(f"name part {_KEY_RULE}")
    return problems


def _domain_problems(value: str) -> list[str]:
    if not value:
        return ["must be non-empty"]
    problems = []
    if len(value.encode()) > _MAX_DOMAIN:
        problems.append(f"must be no more than {_MAX_DOMAIN} bytes")
    if not re.fullmatch(_DOMAIN, value):
        problems.append(_DOMAIN_RULE)
    return problems


def is_extended_resource(name: str) -> bool:
    """Whether nodes may offer it beside what Kubernetes itself defines."""
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return not qualified_name_problems(f"requests.{name}")
