"""Where the time of ``bayplan run`` goes: ``python -m bench.stages basic spread``, microseconds of CPU per bound pod.

Each workload of ``bayplan bench``, drained once on a real API server by a scheduler that is sampled (``bench.sampled``). One
column per workload, one line per stage; start-up is spread over the pods like everything else.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bayplan.bench import workload as workloads
from bayplan.bench.scene import Scene
from bayplan.bench.subjects import SUBJECTS, ours
from bayplan.bench.trial import Setting, prepare, run
from bayplan.bench.workload import Workload
from bayplan.clock import SystemClock
from bayplan.testing.control_plane import ControlPlane, Process

_SAMPLED = "ours, sampled"


def main() -> None:
    """Run the workloads that were named, and print the table."""
    found = {name: _stages(workloads.load(name).cut()) for name in sys.argv[1:] or ["basic"]}
    print(table(found))


def _stages(workload: Workload) -> dict[str, float]:
    """Microseconds per bound pod, by stage."""
    clock, scene = SystemClock(), Scene(workload)
    with tempfile.TemporaryDirectory(prefix="bayplan-stages-") as name:
        folder = Path(name)
        out = folder / "samples.json"

        def start(plane: ControlPlane, _: Workload) -> Process:
            return ours(plane, [sys.executable, "-m", "bench.sampled", str(out)])

        SUBJECTS[_SAMPLED] = start
        start_from = prepare(scene, "drain", folder / "prepared", clock)
        setting = Setting(scene, "drain", _SAMPLED)
        result = run(setting, start_from, folder / "run", clock, lambda _bound: None)
        if result.wrong:
            sys.exit(f"{workload.name}: {result.wrong[0]}")
        samples: dict[str, int] = json.loads(out.read_text(encoding="utf-8"))
    each = result.scheduler_cost.cpu_s / result.bound / sum(samples.values()) * 1e6
    return {stage: round(count * each, 1) for stage, count in samples.items()}


def table(found: Mapping[str, Mapping[str, float]]) -> str:
    """As Markdown, the costliest stage of the first workload first."""
    names = list(found)
    stages = sorted(
        {stage for stages in found.values() for stage in stages},
        key=lambda stage: -found[names[0]].get(stage, 0.0),
    )
    lines = [["µs per pod", *names], ["---", *["---:"] * len(names)]]
    lines += [
        [stage, *[f"{found[name].get(stage, 0.0):.0f}" for name in names]] for stage in stages
    ]
    lines.append(["**all**", *[f"**{sum(found[name].values()):.0f}**" for name in names]])
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


if __name__ == "__main__":
    main()
