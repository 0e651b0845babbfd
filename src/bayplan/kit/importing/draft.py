"""The configuration that comes about, and the account of how: written by the importers, read by ``result``."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from bayplan.framework.config import own, types

#: What ``providers`` are called that an importer adds, by type.
PROVIDER_NAMES: Final = {
    "metricsServer": "measured",
    "prometheus": "measured",
    "numaTopology": "numa",
}


class Verdict(StrEnum):
    """What becomes of a part of the file."""

    KEPT = "kept"
    #: Does its work in another way or under another name.
    CHANGED = "changed"
    #: At work without being written down.
    BUILT_IN = "built in"
    #: Lost.
    NONE = "no counterpart"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the account."""

    verdict: Verdict
    #: What the file says, and where.
    theirs: str
    #: What stands for it with us; empty: nothing.
    ours: str = ""
    remark: str = ""


@dataclass(slots=True)
class Draft:
    """Two documents in the making."""

    scheduler: dict[str, Any] = field(
        default_factory=lambda: {"apiVersion": types.VERSION, "kind": types.KIND}
    )
    #: The version of kube-scheduler's format that the file was written for.
    written_for: str = types.VERSION
    providers: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: A BayplanConfiguration that was in the file already.
    own: dict[str, Any] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    def say(self, verdict: Verdict, theirs: str, ours: str = "", remark: str = "") -> None:
        """Add a line to the account; the same line is not said twice."""
        row = Row(verdict, theirs, ours, remark)
        if row not in self.rows:
            self.rows.append(row)

    def need(self, provider: str, **settings: Any) -> None:
        """Have a provider fill a metric that a plugin reads; the first of a name holds."""
        name = PROVIDER_NAMES[provider]
        self.providers.setdefault(name, {"name": name, "type": provider, **settings})

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The documents of the file."""
        if not self.providers and not self.own:
            return [self.scheduler]
        beside = {"apiVersion": own.VERSION, "kind": own.KIND, **self.own}
        if self.providers:
            beside["providers"] = [*beside.get("providers", ()), *self.providers.values()]
        return [self.scheduler, beside]
