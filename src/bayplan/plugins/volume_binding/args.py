"""The arguments of VolumeBinding: VolumeBindingArgs of kubescheduler.config.k8s.io/v1."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec


class ShapePoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A point of the function that StorageCapacityScoring would rank by."""

    utilization: int = 0
    score: int = 0


class VolumeBindingArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """How long to wait for volumes."""

    bind_timeout_seconds: int | None = 600
    shape: tuple[ShapePoint, ...] | None = None

    def __post_init__(self) -> None:
        if self.bind_timeout_seconds is None:
            msgspec.structs.force_setattr(self, "bind_timeout_seconds", 600)


def problems(args: VolumeBindingArgs) -> Iterator[tuple[str, str]]:
    """What upstream says of arguments that it does not take."""
    seconds = args.bind_timeout_seconds
    if seconds is not None and seconds < 0:
        yield (
            "bindTimeoutSeconds",
            f"Invalid value: {seconds}: invalid BindTimeoutSeconds, should not be a negative value",
        )
    if args.shape is not None:
        # StorageCapacityScoring is an alpha feature: this file would mean something else once it is on.
        points = [{"Utilization": one.utilization, "Score": one.score} for one in args.shape]
        shown = json.dumps(points, separators=(",", ":"))
        yield (
            "shape",
            f"Invalid value: {shown}: unexpected field `shape`, remove it or turn on the feature gate"
            " StorageCapacityScoring",
        )
