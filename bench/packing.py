"""``python -m bench.packing``: how many gangs of the openb cluster get placed, with the solver and without.

The trace has no jobs in it, so gangs are made of it: its pods in the order of their creation are cut into runs of 2, 4, 8
or 16 that follow each other, the size drawn anew each time. What is created together is what a job is as near as the
trace can say: some members ask for eight GPUs, some for one, some for none. A pod that shares a GPU asks for a whole one, as
in ``bayplan bench``. Gangs come in random order, those who do not fit are dropped, none leaves, until what has been asked
for comes to so many percent of all GPUs. Nodes are 16 to a rack in the trace's order; ``--topology rack`` wants each gang
that fits into one rack at all to be in one.

Printed: of the gangs that came, the share that was placed, and the same of those that came in the last tenth of the load; the
share of all GPUs allocated at the end; how often the solver was asked and found a way. Means over the seeds.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import mean

from bayplan.bench.openb import GPU, trace_nodes, trace_pods
from bayplan.bench.workload import PodShape
from bayplan.cluster.cluster import Cluster
from bayplan.cluster.podinfo import PodInfo
from bayplan.cycle.desk import Desk
from bayplan.cycle.gang import GangPlaced, attempt_gang
from bayplan.cycle.gang_puzzle import question_of
from bayplan.cycle.gang_room import room_of
from bayplan.cycle.gang_solver import Limits, solve
from bayplan.cycle.gang_trial import Member
from bayplan.model.pod_group import Group, GroupApi, GroupKey, GroupTopology
from bayplan.testing import make_desk, make_node, make_pod

RACK = "bench/rack"
RACK_SIZE = 16
SIZES = (2, 4, 8, 16)

Gang = list[PodShape]


@dataclass(frozen=True)
class Setting:
    """What is tried."""

    load: float
    one_rack: bool
    #: The solver's; 0: it is not asked.
    effort: float


@dataclass
class Run:
    """What came of one order of the gangs."""

    came: int = 0
    placed: int = 0
    late: int = 0
    late_placed: int = 0
    asked: int = 0
    solved: int = 0
    allocated: float = 0.0
    #: Seconds of each question, from the failed attempt to the answer.
    thought_s: list[float] = field(default_factory=list)


def main() -> None:
    """A line for each topology, load and way of placing."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--loads", type=float, nargs="+", default=[0.9, 1.0])
    parser.add_argument("--topology", nargs="+", default=["none", "rack"])
    parser.add_argument("--effort", type=float, default=1.0)
    chosen = parser.parse_args()
    print(
        "| topology | load | solver | gangs placed | of the last tenth | GPUs allocated | asked, solved | s a question |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for topology in chosen.topology:
        for load in chosen.loads:
            for effort in (0.0, chosen.effort):
                setting = Setting(load, topology == "rack", effort)
                runs = [run(setting, seed) for seed in range(chosen.seeds)]
                print(line(setting, runs), flush=True)


def line(setting: Setting, runs: list[Run]) -> str:
    """A line of the table."""
    placed = mean(run.placed / run.came for run in runs)
    late = mean(run.late_placed / max(run.late, 1) for run in runs)
    thought = [seconds for run in runs for seconds in run.thought_s]
    asked, solved = mean(run.asked for run in runs), mean(run.solved for run in runs)
    cells = [
        "one rack" if setting.one_rack else "none",
        f"{setting.load:.0%}",
        "yes" if setting.effort else "no",
        f"{placed:.2%}",
        f"{late:.2%}",
        f"{mean(run.allocated for run in runs):.2%}",
        f"{asked:.0f}, {solved:.0f}" if setting.effort else "",
        f"{mean(thought):.2f}" if thought else "",
    ]
    return f"| {' | '.join(cells)} |"


def run(setting: Setting, seed: int) -> Run:
    """Let gangs come until they have asked for so much of the GPUs."""
    cluster, total = nodes()
    desk = make_desk(cluster, seed=seed)
    dice, found, asked_for, held = random.Random(seed), Run(), 0, 0
    for number, gang in enumerate(endless(dice)):
        wants = sum(gpus(shape) for shape in gang)
        if asked_for + wants > setting.load * total:
            break
        asked_for += wants
        is_late = asked_for > (setting.load - 0.1) * total
        done = place(gang, number, setting, desk, found)
        found.came, found.placed = found.came + 1, found.placed + done
        if is_late:
            found.late, found.late_placed = found.late + 1, found.late_placed + done
        held += wants * done
    found.allocated = held / total
    return found


def place(gang: Gang, number: int, setting: Setting, desk: Desk, found: Run) -> bool:
    """One gang: in the members' order, then by the solver."""
    cluster, key = desk.cluster, GroupKey("default", f"gang-{number}")
    topology = GroupTopology(RACK) if setting.one_rack and fits_a_rack(gang) else None
    group = Group(key, GroupApi.COSCHEDULING, min_member=len(gang), topology=topology)
    cluster.gangs.put(group)
    members = [Member(info(cluster, key, i, shape), desk) for i, shape in enumerate(gang)]
    if isinstance(attempt_gang(group, members, cluster), GangPlaced):
        return True
    done = setting.effort > 0 and think(group, members, setting.effort, desk, found)
    if not done:
        cluster.gangs.remove(key, group.api)
    return done


def think(group: Group, members: list[Member], effort: float, desk: Desk, found: Run) -> bool:
    """Ask the solver, as ``bayplan run`` does, and try what it says."""
    start = time.perf_counter()
    room = room_of((member.pod, desk) for member in members)
    question = question_of(room, desk.view, len(members), group.topology)
    if question is None:
        return False
    found.asked += 1
    solution = solve(question.puzzle, Limits(effort))
    found.thought_s.append(time.perf_counter() - start)
    plan = question.plan(solution)
    if not plan:
        return False
    done = isinstance(attempt_gang(group, members, desk.cluster, plan=plan), GangPlaced)
    found.solved += done
    return done


def info(cluster: Cluster, key: GroupKey, number: int, shape: PodShape) -> PodInfo:
    """A member, as the API server would send it."""
    pod = make_pod(f"{key.name}-{number}").requests(shape.requests)
    pod.label("scheduling.x-k8s.io/pod-group", key.name)
    pod.manifest["spec"] |= shape.spec
    return cluster.info(pod.build())


def gpus(shape: PodShape) -> int:
    """How many a member asks for."""
    return int(shape.requests.get(GPU, "0"))


def fits_a_rack(gang: Gang) -> bool:
    """Whether it can be asked to be in one rack: half of what an ordinary one has."""
    return sum(map(gpus, gang)) <= RACK_SIZE * 4


def nodes() -> tuple[Cluster, int]:
    """The trace's nodes with nothing on them, and their GPUs."""
    cluster, total = Cluster(), 0
    for number, (name, capacity, labels) in enumerate(
        trace_nodes("openb_node_list_all_node.csv.gz")
    ):
        total += int(capacity.get(GPU, "0"))
        node = make_node(name).capacity(capacity).labels(labels)
        cluster.put(node.label(RACK, f"rack-{number // RACK_SIZE}").build())
    return cluster, total


def endless(dice: random.Random) -> Iterator[Gang]:
    """The trace's gangs in random order, again and again."""
    shapes = [shape for _, shape in trace_pods("openb_pod_list_default.csv.gz")]
    while True:
        gangs, start = [], 0
        while start < len(shapes):
            size = dice.choice(SIZES)
            gangs.append(shapes[start : start + size])
            start += size
        dice.shuffle(gangs)
        yield from gangs


if __name__ == "__main__":
    main()
