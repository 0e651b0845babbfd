"""Nodes promised to others, judged together, give what they give one by one: verdicts, victims, words."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.cluster.cluster import Cluster
from bayplan.cycle.attempt import attempt
from bayplan.cycle.desk import Desk
from bayplan.cycle.evaluation import Evaluation
from bayplan.cycle.outcome import Outcome, Unplaced
from bayplan.cycle.preempt import DryRunEngine
from bayplan.cycle.promised import turned_down_by_promises
from bayplan.testing import make_desk, make_node, make_pod

#: Amounts of CPU; the last is what no sum survives.
CPU = st.sampled_from(["1", "1", "2", "1500m", "3", "9223372036854775807m"])
PODS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(0, 2),
        CPU,
        st.booleans(),
        st.sampled_from(["on", "promised"]),
    ),
    min_size=4,
    max_size=14,
)


class OneByOne(Desk):
    """A desk whose dry runs know no batches: every node on a clone of the state."""

    def engine(self, evaluation: Evaluation) -> DryRunEngine:
        engine = super().engine(evaluation)
        engine.batch = lambda pod, state: None  # type: ignore[method-assign]
        return engine


def cluster_of(pods: list[tuple[int, int, str, bool, str]]) -> Cluster:
    cluster = Cluster()
    for i in range(3):
        cluster.put(make_node(f"n{i}").capacity(cpu="4", pods="4").build())
    for number, (node, priority, cpu, port, how) in enumerate(pods):
        pod = make_pod(f"p{number}").uid(f"u{number}").priority(priority).requests(cpu=cpu)
        if port:
            pod.host_port(80)
        place = pod.on if how == "on" else pod.nominated
        cluster.put(place(f"n{node}").build())
    return cluster


def said(outcome: Outcome) -> Any:
    if not isinstance(outcome, Unplaced):
        return outcome
    made = outcome.nominated
    found = None if made is None else (made.node, [v.key for v in made.victims], made.violations)
    return outcome.message, found


@settings(max_examples=300)
@given(pods=PODS, priority=st.integers(1, 2), cpu=CPU, port=st.booleans())
def test_together_as_one_by_one(
    pods: list[tuple[int, int, str, bool, str]], priority: int, cpu: str, port: bool
) -> None:
    cluster = cluster_of(pods)
    coming = make_pod("new").uid("new").priority(priority).requests(cpu=cpu)
    if port:
        coming.host_port(80)
    info = cluster.info(coming.build())
    # Two desks with dice of the same seed.
    together, alone = make_desk(cluster), make_desk(cluster)
    alone.__class__ = OneByOne
    first, second = attempt(info, together), attempt(info, alone)
    if isinstance(first, Unplaced):
        assert said(first) == said(second)
    else:
        assert type(first) is type(second)
        assert first.decision.overrides == second.decision.overrides  # type: ignore[union-attr]
        lines = first.decision.picture().lines()  # type: ignore[union-attr]
        assert lines == second.decision.picture().lines()  # type: ignore[union-attr]


#: What happens between two attempts: pods arrive, leave, are promised a node or lose it, nodes are replaced.
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["on", "promised", "gone", "node"]),
        st.integers(0, 5),
        st.integers(0, 2),
        st.integers(0, 2),
        CPU,
    ),
    max_size=12,
)


@settings(max_examples=300)
@given(steps=STEPS, priority=st.integers(1, 2), mine=st.integers(-1, 2))
def test_what_is_kept_from_attempt_to_attempt_is_what_a_fresh_look_gives(
    steps: list[tuple[str, int, int, int, str]], priority: int, mine: int
) -> None:
    cluster = cluster_of([])
    coming = make_pod("new").uid("new").priority(priority).requests(cpu="1")
    info = cluster.info(coming.build())
    keeps = make_desk(cluster)
    for how, number, node, rank, cpu in steps:
        name = f"p{number}"
        cluster.remove_pod("default", name)
        if how == "node":
            capacity = {"cpu": "4", "pods": str(rank + 1)}
            cluster.put(make_node(f"n{node}").capacity(**capacity).build())
        elif how != "gone":
            # A name that was given up is another pod's now.
            pod = make_pod(name).uid(f"{name}-{node}{rank}{cpu}").priority(rank).requests(cpu=cpu)
            place = pod.on if how == "on" else pod.nominated
            cluster.put(place(f"n{node}").build())
        if mine >= 0:
            cluster.nominations.put(info, f"n{mine}")
        alone = make_desk(cluster)
        alone.__class__ = OneByOne
        kept, fresh = keeps.classes.evaluation(info), alone.classes.evaluation(info)
        known = turned_down_by_promises(info, kept, keeps)
        assert known == turned_down_by_promises(info, fresh, alone)
