"""The arguments of NodeResourcesFit: NodeResourcesFitArgs of kubescheduler.config.k8s.io/v1.

Defaults and complaints are kube-scheduler's, so that one file works for both or is refused by both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from bayplan.model.label_syntax import key_problems, quote

LEAST_ALLOCATED: Final = "LeastAllocated"
MOST_ALLOCATED: Final = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO: Final = "RequestedToCapacityRatio"
STRATEGIES: Final = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)

_MAX_WEIGHT: Final = 100
_MAX_UTILIZATION: Final = 100
_MAX_SHAPE_SCORE: Final = 10

#: Where something is wrong, and what.
Complaint = tuple[str, str]


class _Args(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What all parts of the arguments have in common."""


class ResourceSpec(_Args, frozen=True):
    """A resource that nodes are ranked by, and how much it counts."""

    name: str
    weight: int = 1

    def __post_init__(self) -> None:
        if self.weight == 0:
            msgspec.structs.force_setattr(self, "weight", 1)


CPU_AND_MEMORY: Final = (ResourceSpec("cpu"), ResourceSpec("memory"))


class ShapePoint(_Args, frozen=True):
    """The score, from 0 to 10, of a resource that is used to so many percent."""

    utilization: int = 0
    score: int = 0


class RequestedToCapacityRatio(_Args, frozen=True):
    """A score for each utilization: points, joined by straight lines."""

    shape: tuple[ShapePoint, ...] | None = None


class ScoringStrategy(_Args, frozen=True):
    """How nodes are ranked."""

    type: str = ""
    resources: tuple[ResourceSpec, ...] | None = None
    requested_to_capacity_ratio: RequestedToCapacityRatio | None = None

    def __post_init__(self) -> None:
        if not self.resources:
            msgspec.structs.force_setattr(self, "resources", CPU_AND_MEMORY)


class NodeResourcesFitArgs(_Args, frozen=True):
    """What the filter leaves out, and how nodes are ranked."""

    ignored_resources: tuple[str, ...] | None = None
    ignored_resource_groups: tuple[str, ...] | None = None
    scoring_strategy: ScoringStrategy | None = None

    def __post_init__(self) -> None:
        if self.scoring_strategy is None:
            default = ScoringStrategy(LEAST_ALLOCATED)
            msgspec.structs.force_setattr(self, "scoring_strategy", default)


def complaints(args: NodeResourcesFitArgs) -> Iterator[Complaint]:
    """What is wrong with the arguments, in kube-scheduler's words."""
    for i, name in enumerate(args.ignored_resources or ()):
        yield from _label_key(f"ignoredResources[{i}]", name)
    for i, group in enumerate(args.ignored_resource_groups or ()):
        path = f"ignoredResourceGroups[{i}]"
        if "/" in group:
            yield path, f"Invalid value: {quote(group)}: resource group name can't contain '/'"
        yield from _label_key(path, group)
    if args.scoring_strategy is not None:
        yield from _strategy(args.scoring_strategy)


def _label_key(path: str, key: str) -> Iterator[Complaint]:
    for problem in key_problems(key):
        yield path, f"Invalid value: {quote(key)}: {problem}"


def _strategy(strategy: ScoringStrategy) -> Iterator[Complaint]:
    if strategy.type not in STRATEGIES:
        supported = ", ".join(quote(name) for name in STRATEGIES)
        yield (
            "scoringStrategy.type",
            f"Unsupported value: {quote(strategy.type)}: supported values: {supported}",
        )
    for i, resource in enumerate(strategy.resources or ()):
        if not 0 < resource.weight <= _MAX_WEIGHT:
            yield (
                f"scoringStrategy.resources[{i}].weight",
                f"Invalid value: {resource.weight}: "
                f"resource weight of {resource.name} not in valid range (0, {_MAX_WEIGHT}]",
            )
    ratio, path = strategy.requested_to_capacity_ratio, "scoringStrategy.requestedToCapacityRatio"
    if strategy.type != REQUESTED_TO_CAPACITY_RATIO:
        if ratio is not None:
            yield path, "Forbidden: must be nil when type is not RequestedToCapacityRatio"
    elif ratio is None:
        yield path, "Required value: must be specified when type is RequestedToCapacityRatio"
    else:
        yield from _shape(f"{path}.shape", ratio.shape or ())


def _shape(path: str, shape: tuple[ShapePoint, ...]) -> Iterator[Complaint]:
    if not shape:
        yield path, "Required value: at least one point must be specified"
    for i in range(1, len(shape)):
        if shape[i - 1].utilization >= shape[i].utilization:
            yield (
                f"{path}[{i}].utilization",
                f"Invalid value: {shape[i].utilization}: values must be sorted in increasing order",
            )
            break
    for i, point in enumerate(shape):
        if not 0 <= point.utilization <= _MAX_UTILIZATION:
            yield (
                f"{path}[{i}].utilization",
                f"Invalid value: {point.utilization}: not in valid range [0, {_MAX_UTILIZATION}]",
            )
        if not 0 <= point.score <= _MAX_SHAPE_SCORE:
            yield (
                f"{path}[{i}].score",
                f"Invalid value: {point.score}: not in valid range [0, {_MAX_SHAPE_SCORE}]",
            )
