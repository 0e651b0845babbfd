"""Stand-ins for the default plugins: the points of each, and arguments as far as these tests use them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from bayplan.framework.config import Configuration, load_config
from bayplan.framework.plugin import POINTS, NoArgs, Plugin
from bayplan.framework.registry import Registry

#: As kube-scheduler 1.36 has them (apis/config/testing/defaults/defaults.go, ExpandedPluginsV1).
POINTS_OF = {
    "SchedulingGates": "preEnqueue",
    "PrioritySort": "queueSort",
    "NodeUnschedulable": "filter",
    "NodeName": "filter",
    "TaintToleration": "filter preScore score",
    "NodeAffinity": "preFilter filter preScore score",
    "NodePorts": "preFilter filter",
    "NodeResourcesFit": "preFilter filter preScore score",
    "VolumeRestrictions": "preFilter filter",
    "NodeVolumeLimits": "preFilter filter",
    "VolumeBinding": "preFilter filter preScore score reserve preBind",
    "VolumeZone": "preFilter filter",
    "PodTopologySpread": "preFilter filter preScore score",
    "InterPodAffinity": "preFilter filter preScore score",
    "DynamicResources": "preEnqueue preFilter filter postFilter score reserve preBind",
    "DefaultPreemption": "preEnqueue postFilter",
    "NodeResourcesBalancedAllocation": "preScore score",
    "ImageLocality": "score",
    "DefaultBinder": "bind",
    "NodeDeclaredFeatures": "preFilter filter",
    # Not Kubernetes':
    "LowCpu": "filter score",
    "OtherSort": "queueSort",
    "CapacityScheduling": "preFilter filter postFilter",
}


class FitArgs(msgspec.Struct, frozen=True, rename="camel"):
    ignored_resources: tuple[str, ...] = ()


class AffinityArgs(msgspec.Struct, frozen=True, rename="camel"):
    hard_pod_affinity_weight: int = 1


class CpuArgs(msgspec.Struct, frozen=True, rename="camel"):
    threshold: float = 0.8
    zones: tuple[str, ...] = ()


class SortArgs(msgspec.Struct, frozen=True):
    by: str = "age"


ARGS: dict[str, type[msgspec.Struct]] = {
    "NodeResourcesFit": FitArgs,
    "InterPodAffinity": AffinityArgs,
    "LowCpu": CpuArgs,
    "OtherSort": SortArgs,
}


def _check(cls: Any, args: Any) -> Iterator[tuple[str, str]]:
    if isinstance(args, AffinityArgs) and not 0 <= args.hard_pod_affinity_weight <= 100:
        weight = args.hard_pod_affinity_weight
        yield "hardPodAffinityWeight", f"Invalid value: {weight}: not in valid range [0, 100]"
    if isinstance(args, CpuArgs):
        for index, zone in enumerate(args.zones):
            if not zone:
                yield f"zones[{index}]", "Required value"


def stand_in(name: str) -> type[Plugin]:
    bases = tuple(POINTS[point] for point in POINTS_OF[name].split())
    args = ARGS.get(name, NoArgs)
    return type(name, bases, {"name": name, "args_type": args, "check_args": classmethod(_check)})


_ALL = [stand_in(name) for name in POINTS_OF]

Load = Callable[..., Configuration]


@pytest.fixture
def registry() -> Registry:
    return Registry(_ALL)


@pytest.fixture
def load(registry: Registry) -> Load:
    """Loads the text of a KubeSchedulerConfiguration v1, given without its first two lines."""

    def load(text: str, version: str = "v1") -> Configuration:
        head = (
            f"apiVersion: kubescheduler.config.k8s.io/{version}\nkind: KubeSchedulerConfiguration\n"
        )
        return load_config(head + text, registry)

    return load
