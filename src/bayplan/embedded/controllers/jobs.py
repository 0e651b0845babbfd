"""Jobs: pods until enough of them have succeeded, or too many have failed.

Fed by changes of Jobs and of their pods. Indexed jobs number their pods; suspended ones have none.
"""

from __future__ import annotations

from typing import Final

from bayplan.embedded.binding import set_condition
from bayplan.embedded.controllers.controller import Controller
from bayplan.embedded.controllers.pod_notes import PodNote
from bayplan.embedded.controllers.replica_sets import make_pod
from bayplan.embedded.following import Key
from bayplan.embedded.objects import (
    Object,
    as_list,
    at,
    metadata,
    number_at,
    section,
    timestamp,
)

RESOURCE: Final = "jobs.batch"
_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_PORTION: Final = 50


class Jobs(Controller):
    """The controller."""

    resource = RESOURCE
    kind = "Job"

    def _look(self, key: Key) -> bool:
        namespace, name = key
        entry = self._store.find(RESOURCE, name, namespace)
        if entry is None:
            return False
        job = entry.decode()
        if "deletionTimestamp" in metadata(job) or _over(job):
            return False
        pods = list(self._pods.of_owner(entry.uid))
        active = [pod for pod in pods if pod.active]
        succeeded = [pod for pod in pods if pod.phase == "Succeeded"]
        failed = [pod for pod in pods if pod.phase == "Failed"]
        ended = _verdict(job, len(succeeded), len(failed), len(active))
        suspended = at(job, "spec", "suspend") is True
        parallelism = 0 if ended or suspended else number_at(job, "spec", "parallelism")
        completions = at(job, "spec", "completions")
        if completions is not None:
            parallelism = min(parallelism, max(0, completions - len(succeeded)))
        elif succeeded:
            # A work queue: once one has succeeded, the others only finish.
            parallelism = min(parallelism, len(active))
        missing = parallelism - len(active)
        made = self._make(job, min(missing, _PORTION), active + succeeded) if missing > 0 else 0
        for pod in active[: -missing if missing < 0 else 0]:
            self._store.delete("pods", pod.name, namespace)
        counts = {
            "active": len(active) + missing if missing < 0 else len(active) + made,
            "ready": sum(pod.ready for pod in active),
            "succeeded": len(succeeded),
            "failed": len(failed),
        }
        self._report(job, counts, ended, suspended=suspended)
        return missing > _PORTION

    def _make(self, job: Object, count: int, taken: list[PodNote]) -> int:
        if at(job, "spec", "completionMode") != "Indexed":
            for _ in range(count):
                make_pod(self._store, "batch/v1", "Job", job)
            return count
        used = {pod.annotations.get(_INDEX) for pod in taken}
        free = [n for n in range(number_at(job, "spec", "completions")) if str(n) not in used]
        for index in free[:count]:
            self._make_indexed(job, index)
        return len(free[:count])

    def _make_indexed(self, job: Object, index: int) -> None:
        name, template = metadata(job)["name"], at(job, "spec", "template", "metadata") or {}
        changes = {
            "metadata": {
                "generateName": f"{name}-{index}-",
                "labels": (template.get("labels") or {}) | {_INDEX: str(index)},
                "annotations": (template.get("annotations") or {}) | {_INDEX: str(index)},
            },
            "spec": {"hostname": f"{name}-{index}"},
        }
        make_pod(self._store, "batch/v1", "Job", job, changes=changes)

    def _report(
        self, job: Object, counts: dict[str, int], ended: Object | None, *, suspended: bool
    ) -> None:
        meta, now_s = metadata(job), self._store.clock.now()

        def write(obj: Object) -> None:
            status = section(obj, "status")
            for name, count in counts.items():
                if count or name == "ready":
                    status[name] = count
                else:
                    status.pop(name, None)
            if not suspended:
                status.setdefault("startTime", timestamp(now_s))
            was_suspended = _has(obj, "Suspended")
            if suspended != was_suspended:
                reason = "JobSuspended" if suspended else "JobResumed"
                condition = {"type": "Suspended", "status": str(suspended), "reason": reason}
                set_condition(status, condition | {"message": f"Job {reason[3:].lower()}"}, now_s)
            if ended is not None:
                status["active"] = 0
                set_condition(status, ended, now_s)
                if ended["type"] == "Complete":
                    status["completionTime"] = timestamp(now_s)

        self._store.mutate(RESOURCE, meta["name"], write, meta["namespace"])


def _verdict(job: Object, succeeded: int, failed: int, active: int) -> Object | None:
    """The condition that ends a job; None while it goes on."""
    completions = at(job, "spec", "completions")
    enough = succeeded >= completions if completions is not None else succeeded and not active
    if enough:
        return {
            "type": "Complete",
            "status": "True",
            "reason": "CompletionsReached",
            "message": "Reached expected number of succeeded pods",
        }
    if failed > number_at(job, "spec", "backoffLimit"):
        return {
            "type": "Failed",
            "status": "True",
            "reason": "BackoffLimitExceeded",
            "message": "Job has reached the specified backoff limit",
        }
    return None


def _has(job: Object, kind: str) -> bool:
    conditions = as_list(at(job, "status", "conditions"))
    return any(one["type"] == kind and one["status"] == "True" for one in conditions)


def _over(job: Object) -> bool:
    return _has(job, "Complete") or _has(job, "Failed")
