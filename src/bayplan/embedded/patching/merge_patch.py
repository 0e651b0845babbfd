"""JSON merge patch (RFC 7386): objects are merged, null removes, everything else replaces.

Read by ``bayplan.embedded.patching``.
"""

from __future__ import annotations

from typing import Any


def apply(document: Any, patch: Any) -> Any:
    """The document after the patch; what was there is changed in place."""
    if not isinstance(patch, dict):
        return patch
    merged = document if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = apply(merged.get(name), value)
    return merged
