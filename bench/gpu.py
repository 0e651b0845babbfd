"""``python -m bench.gpu``: how much of the GPUs of the openb cluster gets used, by policy, over ten seeds.

The trace's pods come in random order, drawn again until they ask for 130 % of all GPUs; none leaves. A pod that does not
fit is dropped. Printed: the share of all GPU thousandths that is allocated when the pods so far have asked for 95, 100
and 130 %, beside what the authors of FGD published (hkust-adsl/kubernetes-scheduler-simulator). In ``gpuspec33`` a third of
the pods want certain models. ``--seeds 3 --pods default --only random`` for less.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bayplan.bench
from bayplan import CycleState, Nodes, PodInfo, ScorePlugin, Scores
from bayplan.bench.openb import MODEL, trace_nodes
from bayplan.cluster.cluster import Cluster
from bayplan.cycle.attempt import attempt
from bayplan.cycle.desk import Desk
from bayplan.cycle.outcome import Failed, Placed
from bayplan.plugins import default_registry
from bayplan.testing import PodBuilder, make_node, make_pod
from bayplan.testing.scheduler import desk_of_profile

#: Where the pod lists are.
TRACES = Path(bayplan.bench.__file__).parent / "traces"
MILLI, COUNT, GPU = "alibabacloud.com/gpu-milli", "alibabacloud.com/gpu-count", "nvidia.com/gpu"
MARKS = (0.95, 1.0, 1.3)
#: By list of pods and policy, the published means of ten seeds.
PUBLISHED = {
    ("default", "random"): "85.7 / 86.3 / 87.5",
    ("default", "best fit"): "92.8 / 92.9 / 93.1",
    ("default", "GPUFragmentation"): "94.9 / 95.2 / 95.4",
    ("gpuspec33", "random"): "80.9 / 83.9 / 86.5",
    ("gpuspec33", "best fit"): "76.8 / 80.4 / 93.1",
    ("gpuspec33", "GPUFragmentation"): "84.3 / 87.8 / 94.6",
}


class BestFit(ScorePlugin):
    """The published baseline: least CPU and GPU left, each as a share of the largest node's; no more than that."""

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores:
        left = self._share(nodes.free("cpu") - pod.requests.get("cpu", 0), nodes.allocatable("cpu"))
        free, share = nodes.device_free().sum(axis=0), pod.gpu_share
        left += self._share(free - share.devices * share.milli, 1000 * nodes.allocatable(GPU))
        scores: Scores = (100 * (1 - left / 2)).astype(np.int64)
        return np.clip(scores, 0, 100)

    def _share(self, left: NDArray[np.int64], offered: NDArray[np.int64]) -> NDArray[np.float64]:
        return left / max(int(offered.max()), 1)


def main() -> None:
    """One line per list and policy."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--pods", nargs="+", default=["default", "gpuspec33"])
    parser.add_argument("--only", default="", help="the policy with this label")
    chosen = parser.parse_args()
    print("| pods | policy | allocated at 95 / 100 / 130 % | published | |\n|---|---|---|---|---|")
    for pods in chosen.pods:
        rows = pod_rows(f"openb_pod_list_{pods}.csv.gz")
        for name, scores, args in policies(rows):
            if chosen.only not in ("", name):
                continue
            start = time.perf_counter()
            runs = [run(rows, scores, args, seed) for seed in range(chosen.seeds)]
            cells = " / ".join(
                f"{100 * mean(run[i] for run in runs):.2f}" for i in range(len(MARKS))
            )
            spent = f"{time.perf_counter() - start:.0f} s"
            print(
                f"| {pods} | {name} | {cells} | {PUBLISHED.get((pods, name), '')} | {spent} |",
                flush=True,
            )


def policies(rows: list[dict[str, str]]) -> Iterator[tuple[str, list[dict[str, str]], Any]]:
    """What is compared: label, scores, arguments."""
    kinds = Counter(
        (int(row["cpu_milli"]), int(row["gpu_milli"]), int(row["num_gpu"]), row["gpu_spec"])
        for row in rows
        if int(row["num_gpu"])
    )
    typical = [
        {
            "cpuMilli": cpu,
            "gpuMilli": milli,
            "gpuCount": count,
            "nodeLabels": {MODEL: sorted(set(models.split("|")))} if models else {},
            "weight": weight,
        }
        for (cpu, milli, count, models), weight in kinds.most_common()
    ]
    yield "random", [], {}
    yield "best fit", [{"name": "BestFit"}], {}
    yield "GPUFragmentation", [{"name": "GPUFragmentation"}], {"typicalPods": typical}
    yield "GPUFragmentation, learning", [{"name": "GPUFragmentation"}], {}


def desk_of(cluster: Cluster, scores: list[dict[str, str]], args: Any, seed: int) -> Desk:
    """The default filters and GPUFragmentation's, and these scores alone."""
    registry = default_registry()
    registry.add(BestFit)
    profile = {
        "plugins": {
            "filter": {"enabled": [{"name": "GPUFragmentation"}]},
            "preScore": {"disabled": [{"name": "*"}]},
            "score": {"disabled": [{"name": "*"}], "enabled": scores},
        },
        "pluginConfig": [{"name": "GPUFragmentation", "args": args}],
    }
    return desk_of_profile(cluster, profile, registry, seed)


def run(
    rows: list[dict[str, str]], scores: list[dict[str, str]], args: Any, seed: int
) -> list[float]:
    """GPU allocation at each mark."""
    cluster, gpus = nodes(), 0
    gpus = 1000 * sum(cluster.nodes.device_count(row) for row in range(len(cluster.nodes.row_of)))
    desk = desk_of(cluster, scores, args, seed)
    dice, arrived, allocated = random.Random(seed), 0, 0
    found: list[float] = []
    number, order = 0, list(rows)
    while True:
        dice.shuffle(order)
        for row in order:
            share = int(row["gpu_milli"]) * int(row["num_gpu"])
            arrived += share
            while len(found) < len(MARKS) and arrived > MARKS[len(found)] * gpus:
                found.append(allocated / gpus)
            if len(found) == len(MARKS):
                return found
            info = cluster.info(pod(f"p{number}", row).build())
            number += 1
            outcome = attempt(info, desk)
            if isinstance(outcome, Failed):
                raise outcome.error
            if isinstance(outcome, Placed):
                cluster.assume(info, outcome.node)
                allocated += share


def pod(name: str, row: dict[str, str]) -> PodBuilder:
    """A pod of the trace."""
    built = make_pod(name).requests(cpu=f"{row['cpu_milli']}m", memory=f"{row['memory_mib']}Mi")
    if int(row["num_gpu"]):
        built.annotation(MILLI, row["gpu_milli"]).annotation(COUNT, row["num_gpu"])
    if row["gpu_spec"]:
        values = sorted(set(row["gpu_spec"].split("|")))
        term = {"matchExpressions": [{"key": MODEL, "operator": "In", "values": values}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        built.manifest["spec"]["affinity"] = {"nodeAffinity": required}
    return built


def nodes() -> Cluster:
    """The trace's nodes, nothing on them."""
    cluster = Cluster()
    for name, capacity, labels in trace_nodes("openb_node_list_all_node.csv.gz"):
        cluster.put(make_node(name).capacity({**capacity, "pods": "1000"}).labels(labels).build())
    return cluster


def pod_rows(file: str) -> list[dict[str, str]]:
    """The trace's pods."""
    with gzip.open(TRACES / file, "rt", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


if __name__ == "__main__":
    main()
