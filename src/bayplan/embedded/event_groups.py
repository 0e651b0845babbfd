"""One store of Events with two faces: ``v1`` and ``events.k8s.io/v1`` name the same fields differently.

Events are kept as core/v1 has them. Called for events alone, by ``rendering`` on the way out and by the store on the
way in.
"""

from __future__ import annotations

from typing import Final

from bayplan.embedded.objects import Object, as_object

CORE: Final = "v1"
EVENTS: Final = "events.k8s.io/v1"

#: core/v1 name -> events.k8s.io/v1 name, where they differ.
_NAMES: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "count": "deprecatedCount",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "source": "deprecatedSource",
    "reportingComponent": "reportingController",
}
_BACK: Final = {new: old for old, new in _NAMES.items()}

#: core/v1 writes these in every event, as null or empty if need be; kubectl's printers count on it.
_ALWAYS_CORE: Final[dict[str, object]] = {
    "involvedObject": {},
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}


def to_core(event: Object) -> Object:
    """An event of either group as core/v1 has it."""
    if event.get("apiVersion") == EVENTS:
        event = {_BACK.get(name, name): value for name, value in event.items()}
    event["apiVersion"] = CORE
    for name, value in _ALWAYS_CORE.items():
        event.setdefault(name, value)
    return event


def to_events(event: Object) -> Object:
    """A core/v1 event as events.k8s.io/v1 has it."""
    found = {
        _NAMES.get(name, name): value
        for name, value in event.items()
        if value != "" or name not in ("reportingComponent", "reportingInstance")
    }
    found["apiVersion"] = EVENTS
    meta = as_object(found.get("metadata"))
    return {"kind": "Event", "apiVersion": EVENTS, "metadata": meta} | found
