"""What a URL path is about: a kind, a namespace, a name, a subresource.

Paths are read with their percent signs still in them, so that nothing in a name can lead elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from bayplan.embedded.kinds import Kind, Kinds


@dataclass(frozen=True, slots=True)
class Target:
    """One resource, or one object, or a part of one."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def segments(raw_path: str) -> list[str]:
    """The parts of a path, each unescaped."""
    return [unquote(part) for part in raw_path.split("/") if part]


def target(kinds: Kinds, parts: list[str]) -> Target | None:
    """What a path is about; None where it is about nothing that is served.

    A namespaced kind without a namespace means all of them, and has no names.
    """
    group, version, rest = _split(parts)
    if not rest:
        return None
    namespace = ""
    inside = len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize")
    if inside:
        namespace, rest = rest[1], rest[2:]
    kind = kinds.at_path(group, version, rest[0])
    if kind is None or len(rest) > 3 or (inside and not kind.namespaced):
        return None
    if len(rest) > 1 and kind.namespaced and not namespace:
        return None
    name, subresource = [*rest[1:], "", ""][:2]
    if subresource and subresource not in kind.subresources:
        return None
    return Target(kind, namespace, name, subresource)


def _split(parts: list[str]) -> tuple[str, str, list[str]]:
    match parts:
        case ["api", version, *rest]:
            return "", version, rest
        case ["apis", group, version, *rest]:
            return group, version, rest
        case _:
            return "", "", []
