"""What Kubernetes events and conditions of pods say, word for word as kube-scheduler says it.

Called by the runtime when it acts on an outcome; the texts of failed attempts come from the decision record, that of a victim
from ``framework.preemption``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: The API server takes no longer notes: so many bytes.
NOTE_LIMIT: Final = 1024
_CUT: Final = " ..."

#: The condition of a pod that says whether it has a node, and its reasons while it has none.
POD_SCHEDULED: Final = "PodScheduled"
UNSCHEDULABLE: Final = "Unschedulable"
SCHEDULER_ERROR: Final = "SchedulerError"

#: What brings members back into the queue when their group counts anew, in the words of Kubernetes' metrics.
GROUP_CHANGED: Final = "PodGroupUpdate"


@dataclass(frozen=True, slots=True)
class EventText:
    """What an event says, apart from whom it is about."""

    type: str
    reason: str
    action: str
    note: str


def scheduled(namespace: str, name: str, node: str) -> EventText:
    """A pod was bound."""
    note = f"Successfully assigned {namespace}/{name} to {node}"
    return EventText("Normal", "Scheduled", "Binding", truncate(note))


def failed_scheduling(message: str) -> EventText:
    """An attempt came to nothing. The pod's condition keeps the whole message, the event what fits."""
    return EventText("Warning", "FailedScheduling", "Scheduling", truncate(message))


def skipped_deleting(namespace: str, name: str) -> EventText:
    """A pod was on its way out when its turn came."""
    return failed_scheduling(f"skip schedule deleting pod: {namespace}/{name}")


def preempted(note: str) -> EventText:
    """A pod has to go; it is about the victim, related to the pod that takes its place."""
    return EventText("Normal", "Preempted", "Preempting", truncate(note))


def gang_incomplete(why: str) -> EventText:
    """A member of a gang has to go because the others found no room; it is about the member."""
    return EventText("Warning", "GangIncomplete", "Evicting", truncate(why))


def group_not_served(why: str) -> EventText:
    """A pod says that it is in a group, of a kind that this cluster does not know; it is scheduled alone."""
    return EventText("Warning", "PodGroupNotServed", "Scheduling", truncate(why))


def leading(identity: str) -> EventText:
    """An instance got hold of the lease."""
    return EventText("Normal", "LeaderElection", "LeaderElection", f"{identity} became leader")


def stopped_leading(identity: str) -> EventText:
    """An instance gave the lease up or lost it."""
    note = f"{identity} stopped leading"
    return EventText("Normal", "LeaderElection", "LeaderElection", note)


def reload(outcome: str, generation: int, message: str) -> EventText:
    """The configuration was read again."""
    reason = {"applied": "Reloaded", "refused": "ReloadRefused"}.get(outcome, "ReloadRolledBack")
    kind = "Normal" if outcome == "applied" else "Warning"
    note = f"generation {generation}: {message}"
    return EventText(kind, reason, "Reloading", truncate(note))


def invalid_policy(problems: str) -> EventText:
    """A scheduling policy cannot be used."""
    return EventText("Warning", "InvalidSchedulingPolicy", "Reading", truncate(problems))


def by_plugin(reason: str, note: str, *, warning: bool = False) -> EventText:
    """What a plugin has to say."""
    kind = "Warning" if warning else "Normal"
    return EventText(kind, reason, "Scheduling", truncate(note))


def truncate(note: str) -> str:
    """Cut to what the API server takes, at a whole character."""
    raw = note.encode()
    if len(raw) <= NOTE_LIMIT:
        return note
    # Upstream may leave half a character, which then is written as a longer replacement and refused.
    return raw[: NOTE_LIMIT - len(_CUT)].decode(errors="ignore") + _CUT
