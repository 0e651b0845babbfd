"""The arguments of PodTopologySpread: PodTopologySpreadArgs of kubescheduler.config.k8s.io/v1.

Defaults and complaints are kube-scheduler's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from bayplan.model.label_syntax import key_problems, quote
from bayplan.model.selectors import LabelSelector

SYSTEM: Final = "System"
LIST: Final = "List"
DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"


class DefaultConstraint(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A constraint for pods that have none; the selector is that of the pod's workload."""

    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class PodTopologySpreadArgs(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"
):
    """Constraints for pods that have none of their own."""

    default_constraints: tuple[DefaultConstraint, ...] | None = None
    #: ``System`` for the built-in ones, ``List`` for ``default_constraints``.
    defaulting_type: str = SYSTEM

    def __post_init__(self) -> None:
        if not self.defaulting_type:
            msgspec.structs.force_setattr(self, "defaulting_type", SYSTEM)


#: What ``System`` stands for.
SYSTEM_DEFAULTS: Final = (
    DefaultConstraint(3, "kubernetes.io/hostname", SCHEDULE_ANYWAY),
    DefaultConstraint(5, "topology.kubernetes.io/zone", SCHEDULE_ANYWAY),
)


def complaints(args: PodTopologySpreadArgs) -> Iterator[tuple[str, str]]:
    """What is wrong with the arguments, in kube-scheduler's words."""
    constraints = args.default_constraints or ()
    kind = args.defaulting_type
    if kind not in {SYSTEM, LIST}:
        yield (
            "defaultingType",
            f'Unsupported value: {quote(kind)}: supported values: "System", "List"',
        )
    elif kind == SYSTEM and constraints:
        yield (
            "defaultingType",
            f"Invalid value: {quote(kind)}: when .defaultConstraints are not empty",
        )
    for i, constraint in enumerate(constraints):
        path = f"defaultConstraints[{i}]"
        if constraint.max_skew <= 0:
            yield (
                f"{path}.maxSkew",
                f"Invalid value: {constraint.max_skew}: not in valid range (0, inf)",
            )
        yield from _topology_key(f"{path}.topologyKey", constraint.topology_key)
        yield from _when_unsatisfiable(f"{path}.whenUnsatisfiable", constraint.when_unsatisfiable)
        if constraint.label_selector is not None:
            yield (
                f"{path}.labelSelector",
                "Forbidden: constraint must not define a selector, as they deduced for each pod",
            )
        pair = (constraint.topology_key, constraint.when_unsatisfiable)
        if any(pair == (c.topology_key, c.when_unsatisfiable) for c in constraints[:i]):
            yield path, f'Duplicate value: "{{{pair[0]}, {pair[1]}}}"'


def _topology_key(path: str, key: str) -> Iterator[tuple[str, str]]:
    if not key:
        yield path, "Required value: can not be empty"
        return
    for problem in key_problems(key):
        yield path, f"Invalid value: {quote(key)}: {problem}"


def _when_unsatisfiable(path: str, action: str) -> Iterator[tuple[str, str]]:
    if not action:
        yield path, "Required value: can not be empty"
    elif action not in {DO_NOT_SCHEDULE, SCHEDULE_ANYWAY}:
        yield (
            path,
            f"Unsupported value: {quote(action)}: "
            f"supported values: {quote(DO_NOT_SCHEDULE)}, {quote(SCHEDULE_ANYWAY)}",
        )
