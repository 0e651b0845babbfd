"""Quantities: usual ones, and the corners of Kubernetes' number format and of 64 bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from bench.odd.luck import Luck, Thing

Amount: TypeAlias = str | float

_CPU: Sequence[Amount] = ("100m", "250m", "500m", "1", "1500m", "2", "3", "4")
_MEMORY: Sequence[Amount] = ("64Mi", "128Mi", "500M", "512Mi", "1Gi", "1.5Gi", "2Gi", "4G", "4Gi")
_SMALL: Sequence[Amount] = ("0", "1", "1", "2", "3", "4")
_ODD_CPU: Sequence[Amount] = (
    "0", "0m", "1m", "0.1m", "0.0005", "1u", "999999n", "1n", "1e-3", "1e-9", ".5", "5.", "+1", "0.1", "1e0", "1E0",
    "3500u", "1.0001", "2.999", "1k", "0.001k", "90071992547409.93", "12e6", 2, 0, 1.5,
)  # fmt: skip
_ODD_MEMORY: Sequence[Amount] = (
    "0", "1", "1m", "100m", "1500m", "1u", "1n", "1e3", "1E3", "1e9", "128974848", "129e6", "123Mi", "0.5Gi", ".5Gi", "1.Gi",
    "1k", "1Ki", "1.1Ki", "0.1Ki", "209715200", "9007199254740993", "4503599627370497", "7Pi", 1048576, 0, 0.5,
)  # fmt: skip
_ODD_COUNT: Sequence[Amount] = (
    "0",
    "1m",
    "500m",
    "1500m",
    "1e1",
    "1k",
    "1Ki",
    "2Gi",
    "9007199254740993",
    "1n",
    3,
    0,
)
#: Sums and products of these leave 64 bits, where kube-scheduler's wrap around and bayplan's stay at the limit.
_EXTREME: Sequence[Amount] = (
    "9223372036854775", "9223372036854775807m", "9223372036854775807", "9223372036854775806", "9223372036854775808", "1E", "8Ei",
    "7Ei", "1e18", "9e18", "1e30",
)  # fmt: skip
#: Names beyond cpu and memory: with and without a domain, some that are no resource at all.
EXTENDED = ("nvidia.com/gpu", "example.com/foo", "amd.com/gpu", "requests.example.com/x", "kubernetes.io/batch-cpu",
            "attachable-volumes-csi-x", "hugepages-2Mi", "hugepages-1Gi", "plain", "storage", "limits.cpu")  # fmt: skip
_USUAL_EXTENDED = (*EXTENDED[:2], "hugepages-2Mi")


def _odd(luck: Luck, choices: Sequence[Amount]) -> Sequence[Amount]:
    return (*choices, *_EXTREME) if luck.extreme else choices


def cpu(luck: Luck, odd: float = 0.1) -> Amount:
    """An amount of CPU."""
    return luck.one(_odd(luck, _ODD_CPU) if luck.chance(odd) else _CPU)


def memory(luck: Luck, odd: float = 0.1) -> Amount:
    """An amount of memory, or of storage."""
    return luck.one(_odd(luck, _ODD_MEMORY) if luck.chance(odd) else _MEMORY)


def count(luck: Luck, name: str, odd: float = 0.1) -> Amount:
    """An amount of an extended resource."""
    if name.startswith("hugepages"):
        return luck.one(("0", "2Mi", "4Mi", "64Mi", "1Gi", "3Mi"))
    return luck.one(_odd(luck, _ODD_COUNT) if luck.chance(odd) else _SMALL)


def requests(luck: Luck, odd: float = 0.1, extended: float = 0.2) -> Thing:
    """What a container asks for; often not everything, sometimes nothing."""
    asked: Thing = {}
    luck.maybe(asked, "cpu", 0.7, lambda: cpu(luck, odd))
    luck.maybe(asked, "memory", 0.7, lambda: memory(luck, odd))
    luck.maybe(asked, "ephemeral-storage", extended / 2, lambda: memory(luck, odd))
    if luck.chance(extended):
        for name in luck.some(EXTENDED if luck.chance(0.3) else _USUAL_EXTENDED, 2, 1):
            asked[name] = count(luck, name, odd)
    return asked


def allocatable(luck: Luck, odd: float = 0.05, extended: float = 0.4) -> Thing:
    """What a node has to give."""
    given: Thing = {
        "cpu": luck.one(("1", "2", "3500m", "4", "8", "16", "7910m")),
        "memory": luck.one(("1Gi", "4Gi", "8Gi", "16000Mi", "32G", "64Gi", "31437232Ki")),
        "pods": luck.one(("110", "110", "10", "4", "2")),
    }
    if luck.chance(odd):
        given["cpu"] = cpu(luck, 1)
    if luck.chance(odd):
        given["memory"] = memory(luck, 1)
    if luck.chance(odd):
        given["pods"] = luck.one(("0", "1", "1500m", "1k", "1e15", 3))
    if luck.chance(odd):
        del given[luck.one(("cpu", "memory", "pods"))]
    luck.maybe(given, "ephemeral-storage", 0.5, lambda: luck.one(("10Gi", "100Gi", "0", "1")))
    if luck.chance(extended):
        for name in luck.some(EXTENDED if luck.chance(0.3) else _USUAL_EXTENDED, 3, 1):
            given[name] = count(luck, name, odd)
    return given
