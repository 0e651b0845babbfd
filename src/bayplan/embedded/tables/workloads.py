"""``kubectl get`` for what makes pods: deployments, replica sets, jobs and the like."""

from __future__ import annotations

from typing import Final

from bayplan.embedded.objects import Object, as_list, at, number_at, seconds_of, text_at
from bayplan.embedded.scales import selector_text
from bayplan.embedded.tables.cells import (
    AGE,
    NAME,
    NONE,
    Column,
    flag,
    has_condition,
    human,
    made,
    number,
    pairs,
    since,
    text,
)


def _containers(obj: Object, field: str) -> str:
    template = at(obj, "spec", "jobTemplate", "spec", "template") or at(obj, "spec", "template")
    return ",".join(text_at(one, field) for one in as_list(at(template, "spec", "containers")))


_WIDE: Final = (
    made("Containers", lambda obj: _containers(obj, "name"), wide=True),
    made("Images", lambda obj: _containers(obj, "image"), wide=True),
)
_SELECTOR: Final = made(
    "Selector", lambda obj: selector_text(at(obj, "spec", "selector")) or NONE, wide=True
)


def _ready_of(obj: Object) -> str:
    ready = number_at(obj, "status", "readyReplicas")
    return f"{ready}/{number_at(obj, 'spec', 'replicas')}"


def _job_status(job: Object) -> str:
    if has_condition(job, "Complete"):
        return "Complete"
    if has_condition(job, "Failed"):
        return "Failed"
    if at(job, "metadata", "deletionTimestamp"):
        return "Terminating"
    for condition in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if has_condition(job, condition):
            return condition
    return "Running"


def _completions(job: Object) -> str:
    succeeded, wanted = number_at(job, "status", "succeeded"), at(job, "spec", "completions")
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    parallel = number_at(job, "spec", "parallelism")
    return f"{succeeded}/1 of {parallel}" if parallel > 1 else f"{succeeded}/1"


def _job_duration(job: Object, now_s: float) -> str:
    started = seconds_of(text_at(job, "status", "startTime"))
    ended = seconds_of(text_at(job, "status", "completionTime"))
    return "" if started is None else human((now_s if ended is None else ended) - started)


def _last_schedule(job: Object, now_s: float) -> str:
    stamp = at(job, "status", "lastScheduleTime")
    return since(stamp, now_s) if stamp else NONE


DEPLOYMENTS: Final = (
    NAME,
    made("Ready", _ready_of),
    number("Up-to-date", "status", "updatedReplicas", kind="string"),
    number("Available", "status", "availableReplicas", kind="string"),
    AGE,
    *_WIDE,
    _SELECTOR,
)
REPLICA_SETS: Final = (
    NAME,
    number("Desired", "spec", "replicas"),
    number("Current", "status", "replicas"),
    number("Ready", "status", "readyReplicas"),
    AGE,
    *_WIDE,
    _SELECTOR,
)
STATEFUL_SETS: Final = (NAME, made("Ready", _ready_of), AGE, *_WIDE)
DAEMON_SETS: Final = (
    NAME,
    number("Desired", "status", "desiredNumberScheduled"),
    number("Current", "status", "currentNumberScheduled"),
    number("Ready", "status", "numberReady"),
    number("Up-to-date", "status", "updatedNumberScheduled"),
    number("Available", "status", "numberAvailable"),
    made("Node Selector", lambda obj: pairs(at(obj, "spec", "template", "spec", "nodeSelector"))),
    AGE,
    *_WIDE,
    _SELECTOR,
)
JOBS: Final = (
    NAME,
    made("Status", _job_status),
    made("Completions", _completions),
    Column("Duration", _job_duration),
    AGE,
    *_WIDE,
    _SELECTOR,
)
CRON_JOBS: Final = (
    NAME,
    text("Schedule", "spec", "schedule"),
    text("Timezone", "spec", "timeZone", empty=NONE),
    flag("Suspend", "spec", "suspend"),
    made("Active", lambda obj: len(as_list(at(obj, "status", "active"))), "integer"),
    Column("Last Schedule", _last_schedule),
    AGE,
    *_WIDE,
    made("Selector", lambda _: NONE, wide=True),
)


def _group_policy(group: Object) -> str:
    return "Gang" if at(group, "spec", "schedulingPolicy", "gang") is not None else "Basic"


def _group_status(group: Object) -> str:
    if has_condition(group, "DisruptionTarget"):
        for one in as_list(at(group, "status", "conditions")):
            if text_at(one, "type") == "DisruptionTarget":
                return text_at(one, "reason")
    if has_condition(group, "PodGroupScheduled"):
        return "Scheduled"
    said = any(
        text_at(one, "type") == "PodGroupScheduled"
        for one in as_list(at(group, "status", "conditions"))
    )
    return "Unschedulable" if said else "Pending"


POD_GROUPS: Final = (
    NAME,
    made("Policy", _group_policy),
    text("Workload", "spec", "podGroupTemplateRef", "workload", "workloadName", empty=NONE),
    made("Status", _group_status),
    AGE,
)
