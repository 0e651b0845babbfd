"""The openb trace as nodes and pods: a GPU cluster of 1,523 nodes and 8,152 pods (see traces/README.md).

kube-scheduler knows whole GPUs alone, so a pod that shares one asks for one here, and a pod that wants certain models has a
required node affinity. Used by ``scene``.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, Final

from bayplan.bench.workload import PodShape

GPU: Final = "nvidia.com/gpu"
MODEL: Final = "openb/gpu-model"
_PODS_PER_NODE: Final = "110"


def trace_nodes(file: str) -> Iterator[tuple[str, dict[str, str], dict[str, str]]]:
    """Names, capacities and labels."""
    for row in _rows(file):
        capacity = {
            "cpu": f"{row['cpu_milli']}m",
            "memory": f"{row['memory_mib']}Mi",
            "pods": _PODS_PER_NODE,
        }
        if int(row["gpu"]):
            capacity[GPU] = row["gpu"]
        yield row["sn"], capacity, {MODEL: row["model"]} if row["model"] else {}


def trace_pods(file: str) -> Iterator[tuple[str, PodShape]]:
    """Names and shapes, in the order of the trace."""
    for row in _rows(file):
        requests = {"cpu": f"{row['cpu_milli']}m", "memory": f"{row['memory_mib']}Mi"}
        if int(row["num_gpu"]):
            requests[GPU] = row["num_gpu"]
        yield row["name"], PodShape(requests=requests, spec=_wanting(row["gpu_spec"]))


def _wanting(models: str) -> dict[str, Any]:
    if not models:
        return {}
    term = {"key": MODEL, "operator": "In", "values": sorted(set(models.split("|")))}
    required = {"nodeSelectorTerms": [{"matchExpressions": [term]}]}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    }


def _rows(file: str) -> Iterator[dict[str, str]]:
    data = (files("bayplan.bench") / "traces" / file).read_bytes()
    return csv.DictReader(io.StringIO(gzip.decompress(data).decode()))
