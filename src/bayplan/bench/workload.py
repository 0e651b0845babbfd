"""Workloads as small data files: what is there before, what is measured, what goes on meanwhile.

The files are beside this one; the numbers in their first lines are those of ``docs/performance.md``. Read by ``scene``.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

import msgspec
import yaml

from bayplan.errors import BayplanError

_FOLDER: Final = files("bayplan.bench") / "workloads"

#: What is run where nothing is asked for; the first five have a bar of their own.
USUAL: Final = ("basic", "spread", "affinity", "antiaffinity", "mixed", "preemption")

#: What an ordinary pod asks for.
_SMALL: Final = {"cpu": "100m", "memory": "500Mi"}


class UnknownWorkload(BayplanError):
    """A name that no file has."""


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class NodeGroup(_Strict, frozen=True):
    """Nodes that differ in name and zone alone."""

    count: int
    #: Taken in turn; without any, nodes have no zone.
    zones: list[str] = []
    #: Beside, or in place of, 4 CPUs, 32Gi and 110 pods; ``{i}`` stands for the number of the node.
    capacity: dict[str, str] = {}
    taints: list[dict[str, str]] = []


class Namespaces(_Strict, frozen=True):
    """One namespace, or as many as ``{i}`` in its name is to count."""

    name: str
    count: int = 1
    labels: dict[str, str] = {}


class PodShape(_Strict, frozen=True):
    """Pods that differ in name alone."""

    labels: dict[str, str] = {}
    #: Requests and limits; ``{i}`` stands for the number of the pod.
    requests: dict[str, str] = msgspec.field(default_factory=lambda: dict(_SMALL))
    priority: int = 0
    #: Whatever else a pod's spec may hold.
    spec: dict[str, Any] = {}


class Pods(_Strict, frozen=True):
    """So many pods of one shape."""

    namespace: str
    count: int
    pod: str
    #: As many as take the stock scheduler about twenty seconds; 0: all.
    cut: int = 0
    #: So many of them make a gang; 0: each is for itself.
    gang: int = 0


class Meanwhile(_Strict, frozen=True):
    """What comes while the scheduler works: a pod, a service or a node."""

    every_ms: int
    namespace: str = ""
    pod: str = ""
    #: The service's selector.
    service: dict[str, str] = {}
    #: The node's capacity.
    node: dict[str, str] = {}
    #: Whether the last one goes when the next one comes.
    again: bool = False


class Trace(_Strict, frozen=True):
    """Nodes and pods out of a recorded cluster: files in ``traces``."""

    nodes: str
    pods: str


class Workload(_Strict, frozen=True):
    """One file, or a smaller version of it."""

    name: str = ""
    nodes: list[NodeGroup] = msgspec.field(default_factory=lambda: [NodeGroup(count=5000)])
    namespaces: list[Namespaces] = []
    pods: dict[str, PodShape] = {}
    before: list[Pods] = []
    measured: list[Pods] = []
    meanwhile: list[Meanwhile] = []
    #: How many pods each measured one evicts.
    victims: int = 0
    trace: Trace | None = None
    #: So long without a single pod bound, and nothing more is expected.
    patience_s: float = 45.0

    def shape(self, name: str) -> PodShape:
        """The shape of that name; ``plain`` is always there."""
        return PodShape() if name == "plain" else self.pods[name]

    @property
    def node_count(self) -> int:
        return sum(group.count for group in self.nodes)

    @property
    def namespace(self) -> str:
        """Where the measured pods are: always one."""
        return self.measured[0].namespace if self.measured else "measured"

    @property
    def gang_size(self) -> int:
        """How many of the measured pods make a gang; 0 without any."""
        return max((pods.gang for pods in self.measured), default=0)

    @property
    def measured_count(self) -> int:
        return sum(pods.count for pods in self.measured)

    def cut(self) -> Workload:
        """With fewer measured pods, where the stock scheduler would take too long."""
        measured = [msgspec.structs.replace(p, count=p.cut or p.count) for p in self.measured]
        return msgspec.structs.replace(self, measured=measured)

    def scaled(self, nodes: int) -> Workload:
        """With about that many nodes, and pods in proportion."""
        factor = nodes / self.node_count

        def fewer(count: int, of: int = 1) -> int:
            return max(1, round(count * factor / of)) * of

        return msgspec.structs.replace(
            self,
            nodes=[msgspec.structs.replace(g, count=fewer(g.count)) for g in self.nodes],
            before=[msgspec.structs.replace(p, count=fewer(p.count)) for p in self.before],
            measured=[
                msgspec.structs.replace(
                    p, count=fewer(p.count, p.gang or 1), cut=fewer(p.cut) if p.cut else 0
                )
                for p in self.measured
            ],
        )


def names() -> list[str]:
    """All workloads there are."""
    found = (item.name for item in _FOLDER.iterdir())
    return sorted(name.removesuffix(".yaml") for name in found if name.endswith(".yaml"))


def load(name: str) -> Workload:
    """The workload of that name.

    Raises:
        UnknownWorkload: there is none.
    """
    if name not in names():
        raise UnknownWorkload(f"no workload {name!r}: there are {', '.join(names())}")
    raw = yaml.safe_load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return msgspec.convert({**raw, "name": name}, Workload)
