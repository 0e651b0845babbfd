"""Ways into a document, written as Kubernetes writes them: ``profiles[0].plugins.score.enabled[1].weight``.

Used by every step of the loader, and for the paths that plugins hand over with their findings.
"""

from __future__ import annotations

import re

#: ``("profiles", 0, "plugins")``.
Path = tuple[str | int, ...]

_PART = re.compile(r"[^.\[\]]+")


def render(path: Path) -> str:
    """``profiles[0].plugins``, as Kubernetes writes paths."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def parse(path: str) -> Path:
    """The reverse of ``render``, for paths that plugins hand over as text."""
    return tuple(int(part) if part.isdigit() else part for part in _PART.findall(path))
