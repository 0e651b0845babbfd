"""Nodes."""

from __future__ import annotations

from bench.odd import amounts
from bench.odd.luck import Luck, Thing
from bench.odd.selectors import HOST, NODE_LABELS, OLD_REGION, OLD_ZONE, REGION, ZONE

TAINT_KEYS = (
    "dedicated",
    "gpu",
    "spot",
    "num",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unschedulable",
)
TAINT_VALUES = ("", "a", "b", "true", "10", "20", "-1")
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule", "PreferNoSchedule")
MIB = 1024 * 1024
#: Names of images as containers write them, and as nodes list them.
IMAGES = (
    "registry.example.com/big:v1", "nginx", "nginx:latest", "redis:7", "docker.io/library/redis:7", "localhost:5000/team/app",
    "localhost:5000/team/app:2", "gcr.example.com/mid@sha256:" + "0" * 64, "gcr.example.com/mid:1@sha256:" + "0" * 64, "UPPER/Case:1", "",
)  # fmt: skip
_SIZES = (
    0,
    1,
    5 * MIB,
    23 * MIB,
    23 * MIB + 1,
    180 * MIB,
    300 * MIB,
    1000 * MIB,
    4000 * MIB,
    90_000 * MIB,
    2**50,
)
_LISTED: tuple[list[str], ...] = (
    ["registry.example.com/big:v1", "registry.example.com/big@sha256:" + "1" * 64],
    ["nginx:latest"], ["docker.io/library/nginx:latest", "nginx:latest", "nginx:1"], ["redis:7", "docker.io/library/redis:7"],
    ["localhost:5000/team/app:latest"], ["localhost:5000/team/app:2", "localhost:5000/team/app"],
    ["gcr.example.com/mid@sha256:" + "0" * 64, "gcr.example.com/mid:1"], ["UPPER/Case:1"], [], [":latest"],
)  # fmt: skip


def taint(luck: Luck) -> Thing:
    """A taint."""
    made = {"key": luck.one(TAINT_KEYS), "effect": luck.one(EFFECTS)}
    luck.maybe(made, "value", 0.6, lambda: luck.one(TAINT_VALUES))
    luck.maybe(made, "timeAdded", 0.05, lambda: "2026-01-01T00:00:00Z")
    return made


def node(
    luck: Luck, name: str, *, tainted: float = 0.2, images: float = 0.0, odd: float = 0.03
) -> Thing:
    """A node."""
    labels = {
        key: luck.one(values[:-1] if key == ZONE and luck.chance(0.95) else values)
        for key, values in NODE_LABELS.items()
        if luck.chance(0.85 if key in {ZONE, REGION} else 0.4)
    }
    if luck.chance(0.02):
        labels = {}
    elif luck.chance(0.95):
        labels[HOST] = name if luck.chance(0.97) else "twin"
    if luck.chance(0.03):
        labels[OLD_ZONE], labels[OLD_REGION] = luck.one(("z1", "z9")), "r1"
    status: Thing = {"allocatable": amounts.allocatable(luck, odd)}
    if luck.chance(0.5):
        status["capacity"] = status["allocatable"]
    if images:
        status["images"] = luck.times(
            lambda: {"names": luck.one(_LISTED), "sizeBytes": luck.one(_SIZES)},
            5 if luck.chance(images) else 0,
        )
    luck.maybe(status, "declaredFeatures", 0.1, lambda: sorted(luck.some(_FEATURES, 3)))
    spec: Thing = {}
    if luck.chance(tainted):
        spec["taints"] = luck.times(lambda: taint(luck), 3, 1)
    luck.maybe(spec, "unschedulable", tainted / 4, lambda: True)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": status,
    }


_FEATURES = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "Unknown")


def names(luck: Luck, most: int = 10) -> list[str]:
    """The names of a case's nodes; now and then there are none, or many."""
    if luck.chance(0.01):
        return []
    if luck.chance(0.1):
        most = luck.one((30, 30, 30, 99))
    return [f"n{i:02}" for i in range(luck.randint(1, most))]
