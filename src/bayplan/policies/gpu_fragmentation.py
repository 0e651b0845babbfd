"""GPUFragmentation: pods go where they leave the fewest GPUs of no use to the pods that are yet to come.

Fragmentation gradient descent (Weng et al., USENIX ATC 2023). A typical pod finds a node's idle GPUs of no use as far as
they are smaller than what it asks for, and altogether where the node lacks the CPU, the memory or the number of
devices that it needs. The sum over typical pods, weighed by how common they are, is the node's fragmentation.

Reads:  ``alibabacloud.com/gpu-milli`` and ``gpu-count`` of the pod (annotations or requests), what is left of each device
        of each node, its free CPU and memory. ``typicalPods`` tells what pods are to be expected; where it is empty
        the 32 most common kinds among the placed pods stand for them, counted anew after ``updateEvery`` changes.
Says:   turns down nodes without so many devices with so much left. As score, how little the pod adds to the node's
        fragmentation (or how much it takes off): 100 for the best node, 0 where it strands half a GPU more. Among nodes
        that are nearly as good the one with the least CPU left: whole GPUs are stranded at last by a lack of CPU. A pod gets the
        fullest devices that have room; which these are stands in its annotation ``alibabacloud.com/gpu-index``, put there by
        the binding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec
import numpy as np

from bayplan import (
    Action,
    ClusterView,
    CycleState,
    FilterPlugin,
    Mask,
    NodeInfo,
    Nodes,
    PodInfo,
    Reads,
    Rejected,
    Resource,
    ScorePlugin,
    Scores,
    WakeOn,
)

TOO_LITTLE: Final = Rejected("Insufficient GPU devices")
#: More kinds of pods than this change the scores by less than a hundredth.
MOST_KINDS: Final = 32
#: A node that strands so many thousandths more than the best one gets 0. Between them by the root, not in proportion: which
#: of the good ones is best is worth more of the hundred steps than how bad the bad ones are.
RANGE: Final = 500
#: So many thousandths of a CPU left over weigh as much as one thousandth of a GPU stranded. From 2,000 to 7,000 the openb
#: trace fills equally well; without it 0.5 % of its GPUs end up whole and idle on nodes without CPU.
CPU_PER_GPU: Final = 4000
#: Larger than what is left of any device.
NO_ROOM: Final = 1 << 20


class TypicalPod(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A kind of pod, and how common it is."""

    cpu_milli: int
    gpu_milli: int
    gpu_count: int = 1
    memory_bytes: int = 0
    weight: int = 1
    #: Labels of the nodes that it can run on, each with the values that will do: GPU models, for one.
    node_labels: Mapping[str, tuple[str, ...]] = {}


def _is_among(values: tuple[str, ...], value: str) -> bool:
    return value in values


class GPUFragmentation(FilterPlugin, ScorePlugin):
    """Keeps idle GPUs usable."""

    reads = Reads.USAGE | Reads.ALLOCATABLE | Reads.LABELS | Reads.ALL_PODS
    rejection = TOO_LITTLE

    typical_pods: tuple[TypicalPod, ...] = ()
    update_every: int = 500

    @classmethod
    def check_args(cls, args: Any) -> Iterator[tuple[str, str]]:
        for i, pod in enumerate(args.typical_pods):
            if not 0 < pod.gpu_milli <= 1000 or pod.gpu_count < 1 or pod.cpu_milli < 0:
                yield f"typicalPods[{i}]", "Invalid value: gpuMilli is from 1 to 1000 per device"
            if not 0 < pod.weight <= 1_000_000:
                yield f"typicalPods[{i}].weight", "Invalid value: from 1 to 1000000"
        if args.update_every < 1:
            yield "updateEvery", f"Invalid value: {args.update_every}: must be at least 1"

    def setup(self) -> None:
        self._expect(self.typical_pods)
        self._period = -1

    def _expect(self, kinds: tuple[TypicalPod, ...]) -> None:
        self._kinds = kinds
        self._by_label = any(kind.node_labels for kind in kinds)
        self._weight = sum(kind.weight for kind in kinds)
        self._by_milli = sorted(kinds, key=lambda kind: kind.gpu_milli)

    def stamp(self, pod: PodInfo, view: ClusterView, state: CycleState) -> Any:
        """While the same pods are typical, verdicts and scores hold."""
        if not self.typical_pods:
            self._learn(view)
        return self._kinds

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Mask | None:
        share = pod.gpu_share
        if not share.devices:
            return None
        mask: Mask = (nodes.device_free() >= share.milli).sum(axis=0) >= share.devices
        return mask

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        share = pod.gpu_share
        if not share.devices or sum(f >= share.milli for f in node.device_free) >= share.devices:
            return None
        return TOO_LITTLE

    # --- all nodes
    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores | int:
        free = nodes.device_free()
        if not self._kinds or not len(free):
            return 0
        cpu, memory = nodes.free("cpu"), nodes.free("memory")
        then, share = free, pod.gpu_share
        if share.devices:
            fits = free >= share.milli
            order = np.argsort(np.where(fits, free, NO_ROOM), axis=0, kind="stable")
            then = free.copy()
            each = np.arange(free.shape[1])
            for device in order[: share.devices]:
                then[device, each] -= np.where(fits[device, each], share.milli, 0)
        left_cpu = cpu - pod.requests.get("cpu", 0)
        left_memory = memory - pod.requests.get("memory", 0)
        wanted = self._wanted(nodes)
        saved = self._useless(free, cpu, memory, wanted)
        saved -= self._useless(then, left_cpu, left_memory, wanted)
        scores: Scores = saved * CPU_PER_GPU - left_cpu * self._weight
        return scores

    def _wanted(self, nodes: Nodes) -> dict[tuple[str, tuple[str, ...]], Any]:
        """For each label that a typical pod wants of its node, the nodes that have it."""
        wanted = {label for kind in self._kinds for label in kind.node_labels.items()}
        return {
            (key, values): nodes.by_label(key, partial(_is_among, values)) > 0
            for key, values in sorted(wanted)
        }

    def _useless(self, free: Any, cpu: Any, memory: Any, wanted: Mapping[Any, Any]) -> Any:
        """Each node's fragmentation: thousandths that are of no use, times the weight of the pods that think so."""
        total = free.sum(axis=0) * self._weight
        milli, enough, usable = -1, 0, 0
        for kind in self._by_milli:
            if kind.gpu_milli != milli:
                milli = kind.gpu_milli
                fits = free >= milli
                enough, usable = fits.sum(axis=0, dtype=np.int64), (free * fits).sum(axis=0)
            runs = (enough >= kind.gpu_count) & (cpu >= kind.cpu_milli)
            if kind.memory_bytes:
                runs &= memory >= kind.memory_bytes
            for label in kind.node_labels.items():
                runs &= wanted[label]
            total -= runs * usable * kind.weight
        return total

    # --- one node
    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        free, share = node.device_free, pod.gpu_share
        cpu, memory = node.free["cpu"], node.free["memory"]
        then = list(free)
        for _, device in sorted((f, i) for i, f in enumerate(free) if f >= share.milli)[
            : share.devices
        ]:
            then[device] -= share.milli
        left_cpu = cpu - pod.requests.get("cpu", 0)
        left_memory = memory - pod.requests.get("memory", 0)
        labels = node.labels if self._by_label else {}
        saved = self._useless_on(free, cpu, memory, labels)
        saved -= self._useless_on(then, left_cpu, left_memory, labels)
        return saved * CPU_PER_GPU - left_cpu * self._weight

    def _useless_on(
        self, free: Sequence[int], cpu: int, memory: int, labels: Mapping[str, str]
    ) -> int:
        total = 0
        for kind in self._kinds:
            usable = [f for f in free if f >= kind.gpu_milli]
            runs = cpu >= kind.cpu_milli and memory >= kind.memory_bytes
            runs &= all(labels.get(key, "") in values for key, values in kind.node_labels.items())
            if not runs or len(usable) < kind.gpu_count:
                usable = []
            total += kind.weight * (sum(free) - sum(usable))
        return total

    def normalize(self, raw: Scores, feasible: Mask, state: CycleState) -> Scores:
        if not self._kinds or not feasible.any():
            return np.zeros_like(raw)
        behind = int(raw[feasible].max()) - raw
        whole = RANGE * CPU_PER_GPU * self._weight
        lost = 100 * np.sqrt(np.clip(behind / whole, 0.0, 1.0))
        return 100 - lost.astype(np.int64)

    def wakes_on(self) -> Sequence[WakeOn]:
        return (
            WakeOn(Resource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE),
            WakeOn(Resource.ASSIGNED_POD, Action.DELETE),
        )

    def _learn(self, view: ClusterView) -> None:
        period = view.versions(Reads.ALL_PODS)[0] // self.update_every
        if period == self._period:
            return
        self._period = period
        kinds = Counter(view.gpu_sharers())
        common = sorted(kinds.items(), key=lambda kind: (-kind[1], kind[0]))[:MOST_KINDS]
        self._expect(
            tuple(
                TypicalPod(cpu, share.milli, share.devices, memory, weight)
                for (cpu, memory, share), weight in common
            )
        )
