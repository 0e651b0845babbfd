"""What to say of an object that is no configuration: where one may be found instead.

People hand over the manifest around a configuration, a ConfigMap say, or what the scheduler is to work on. Asked by ``load``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from bayplan.model.pod_group import GroupApi, advice_to_define

if TYPE_CHECKING:
    from bayplan.framework.config.paths import Path

_ABOUT_GROUPS: Final = (
    f"a PodGroup is an object of the cluster, not of this file; {advice_to_define()}"
)


def unknown_kind(
    content: Mapping[str, Any], version: str, kind: str, known: Iterable[str]
) -> tuple[Path, str]:
    """Where the object goes wrong, and what to do about it."""
    message = f'no kind "{kind}" is registered for version "{version}"'
    data = content.get("data") if kind == "ConfigMap" else None
    for key, text in data.items() if isinstance(data, Mapping) else ():
        if any(f"kind: {name}" in str(text) for name in known):
            detail = f"the configuration is the text under {key}: give that as a file of its own"
            return ("data", key), f"{message}; {detail}"
    if kind == "PodGroup" and version in (GroupApi.FORMER.value, GroupApi.COSCHEDULING.value):
        return ("apiVersion",), f"{message}; {_ABOUT_GROUPS}"
    return ("kind",), f"{message}; use {' or '.join(known)}"
