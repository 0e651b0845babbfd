from __future__ import annotations

import pytest

from bayplan.bench.workload import USUAL, UnknownWorkload, load, names


def test_the_usual_ones_are_there() -> None:
    assert set(USUAL) <= set(names())


def test_an_unknown_one_is_told_what_there_is() -> None:
    with pytest.raises(
        UnknownWorkload, match=r"no workload 'basics': there are affinity, .*, basic,"
    ):
        load("basics")


@pytest.mark.parametrize("name", names())
def test_every_pod_has_a_shape(name: str) -> None:
    workload = load(name)
    used = [pods.pod for pods in (*workload.before, *workload.measured)]
    used += [what.pod for what in workload.meanwhile if what.pod]
    for pod in used:
        workload.shape(pod)
    assert set(workload.pods) <= set(used)


def test_measured_pods_are_in_one_namespace() -> None:
    for name in names():
        spaces = {pods.namespace for pods in load(name).measured}
        assert len(spaces) <= 1, name


def test_the_numbers_of_the_record() -> None:
    workload = load("antiaffinity")
    assert workload.node_count == 5000
    assert workload.measured_count == 2000
    assert [pods.count for pods in workload.before] == [1000]


def test_cut_and_scaled() -> None:
    spread = load("spread")
    assert spread.cut().measured_count == 2500
    assert load("basic").cut().measured_count == 10_000
    small = spread.scaled(50)
    assert (small.node_count, small.measured_count, small.cut().measured_count) == (50, 50, 25)
    assert load("node-inclusion").scaled(50).node_count == 50
