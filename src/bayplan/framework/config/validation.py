"""What upstream refuses in a KubeSchedulerConfiguration, field by field and in its words.

Fed with the decoded and defaulted file by ``load``. The plugins of a profile are judged in ``expand``, their arguments
in ``arguments``. (pkg/scheduler/apis/config/validation/validation.go, component-base/config/validation.)
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from bayplan.framework.config.fields import duplicate, invalid, required
from bayplan.framework.config.paths import render
from bayplan.model.label_syntax import key_problems

if TYPE_CHECKING:
    from bayplan.framework.config.paths import Path
    from bayplan.framework.config.report import Report
    from bayplan.framework.config.types import (
        Extender,
        KubeSchedulerConfiguration,
        KubeSchedulerProfile,
        LeaderElection,
    )

_MAX_PERCENTAGE = 100


def validate(config: KubeSchedulerConfiguration, report: Report) -> None:
    """Report everything that is wrong outside plugins and their arguments."""
    if config.client_connection.burst < 0:
        report.error(
            ("clientConnection", "burst"),
            invalid(config.client_connection.burst, "must be non-negative"),
        )
    if config.leader_election.leader_elect:
        _leader_election(config.leader_election, report)
    if config.parallelism <= 0:
        report.error(
            ("parallelism",),
            invalid(config.parallelism, "should be an integer value greater than zero"),
        )
    _profiles(config.profiles, report)
    _percentage(config.percentage_of_nodes_to_score, (), report)
    if config.pod_initial_backoff_seconds <= 0:
        report.error(
            ("podInitialBackoffSeconds",),
            invalid(config.pod_initial_backoff_seconds, "must be greater than 0"),
        )
    if config.pod_max_backoff_seconds < config.pod_initial_backoff_seconds:
        report.error(
            ("podMaxBackoffSeconds",),
            invalid(
                config.pod_max_backoff_seconds,
                "must be greater than or equal to PodInitialBackoffSeconds",
            ),
        )
    _extenders(config.extenders, report)


def _leader_election(election: LeaderElection, report: Report) -> None:
    path: Path = ("leaderElection",)
    durations = {
        "leaseDuration": election.lease_duration,
        "renewDeadline": election.renew_deadline,
        "retryPeriod": election.retry_period,
    }
    for name, duration in durations.items():
        if duration <= timedelta():
            report.error((*path, name), invalid(duration, "must be greater than zero"))
    if election.lease_duration <= election.renew_deadline:
        # Upstream shows the deadline here, not the lease that it blames.
        report.error(
            (*path, "leaseDuration"),
            invalid(election.renew_deadline, "must be greater than `RenewDeadline`"),
        )
    if election.resource_lock != "leases":
        report.error(
            (*path, "resourceLock"),
            invalid(election.resource_lock, 'resourceLock value must be "leases"'),
        )


def _profiles(profiles: tuple[KubeSchedulerProfile, ...], report: Report) -> None:
    seen: dict[str, Path] = {}
    for index, profile in enumerate(profiles):
        path: Path = ("profiles", index, "schedulerName")
        name = profile.scheduler_name or ""
        if not name:
            report.error(path, required())
        if name in seen:
            report.error(path, duplicate(render(seen[name])))
        seen[name] = path
        _percentage(profile.percentage_of_nodes_to_score, ("profiles", index), report)


def _percentage(value: int | None, path: Path, report: Report) -> None:
    if value is not None and not 0 <= value <= _MAX_PERCENTAGE:
        report.error(
            (*path, "percentageOfNodesToScore"), invalid(value, "not in valid range [0-100]")
        )


def _extenders(extenders: tuple[Extender, ...], report: Report) -> None:
    managed: set[str] = set()
    for index, extender in enumerate(extenders):
        path: Path = ("extenders", index)
        if extender.prioritize_verb and extender.weight <= 0:
            report.error(
                (*path, "weight"),
                invalid(extender.weight, "must have a positive weight applied to it"),
            )
        for number, resource in enumerate(extender.managed_resources):
            place = (*path, "managedResources", number, "name")
            _resource_name(resource.name, place, report)
            if resource.name in managed:
                report.error(
                    place, invalid(resource.name, "duplicate extender managed resource name")
                )
            managed.add(resource.name)
    binders = sum(1 for extender in extenders if extender.bind_verb)
    if binders > 1:
        report.error(
            ("extenders",),
            invalid(
                f"found {binders} extenders implementing bind",
                "only one extender can implement bind",
            ),
        )


def _resource_name(name: str, path: Path, report: Report) -> None:
    problems = key_problems(name)
    for problem in problems:
        report.error(path, invalid(name, problem))
    if not problems and not _is_extended(name):
        report.error(path, invalid(name, "is an invalid extended resource name"))


def _is_extended(name: str) -> bool:
    """Whether nodes may offer it beside what Kubernetes itself defines (core/v1/helper: IsExtendedResourceName)."""
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return not key_problems(f"requests.{name}")  # its name in a quota
