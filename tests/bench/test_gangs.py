from __future__ import annotations

from bayplan.bench.gangs import completed, groups_in, name_of, partial
from bayplan.bench.recorder import Seen
from bayplan.bench.scene import Scene
from bayplan.bench.workload import load
from bayplan.model import PodGroup, decode_as
from bayplan.model.pod import Pod
from bayplan.model.pod_group import group_of


def seen(bound: dict[int, float], count: int) -> dict[tuple[str, str], Seen]:
    return {("measured", f"measured-plain-{i}"): Seen(0.0, bound.get(i, 0.0)) for i in range(count)}


def test_a_gang_is_complete_with_its_last_member() -> None:
    pods = seen({0: 1.0, 1: 5.0, 2: 2.0, 3: 3.0}, count=6)
    assert completed(pods, size=2) == [3.0, 5.0]
    assert partial(pods, size=2) == []


def test_a_gang_in_part_is_found() -> None:
    assert partial(seen({0: 1.0, 4: 1.0, 5: 1.0}, count=6), size=2) == [
        "gang-0 has 1 of 2 members bound"
    ]


def test_the_last_gang_may_be_smaller() -> None:
    needs = [body["spec"]["schedulingPolicy"]["gang"] for _, body in groups_in("ns", 5, 2)]
    assert [need["minCount"] for need in needs] == [2, 2, 1]


def test_every_member_names_a_group_that_is_there() -> None:
    scene = Scene(load("gangs").scaled(20))
    groups = [decode_as(PodGroup, new.body) for new in scene.groups()]
    assert [group.min_count for group in groups] == [16] * 10
    names = {(group.namespace, group.name) for group in groups}
    pods = [decode_as(Pod, new.body) for new in scene.measured()]
    keys = [group_of(pod) for pod in pods]
    assert {key and (key.namespace, key.name) for key in keys} == names
    assert [key and key.name for key in keys] == [name_of(i, 16) for i in range(160)]


def test_the_numbers_of_the_record() -> None:
    workload = load("gangs")
    assert (workload.node_count, workload.measured_count, workload.gang_size) == (1000, 8000, 16)
    assert load("basic").gang_size == 0
