"""Which devices a pod gets, and that they come back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.audit import audit
from bayplan.cluster.columns import Rows
from bayplan.cluster.devices import COUNT, GPU, INDEX, MILLI, Devices, Share, fullest, share_of
from bayplan.testing import make_cluster, make_node, make_pod


@pytest.mark.parametrize(
    ("annotations", "requests", "share"),
    [
        ({}, {}, (0, 0)),
        ({MILLI: "300"}, {}, (1, 300)),
        ({MILLI: "300", COUNT: "2"}, {}, (2, 300)),
        ({}, {MILLI: 300, COUNT: 2}, (2, 300)),
        ({MILLI: "5000"}, {}, (1, 1000)),
        ({MILLI: "many"}, {}, (0, 0)),
        ({COUNT: "2"}, {}, (0, 0)),
    ],
)
def test_what_a_pod_asks_for(
    annotations: dict[str, str], requests: dict[str, int], share: tuple[int, int]
) -> None:
    assert share_of(annotations, requests) == share


@pytest.mark.parametrize(
    ("free", "share", "devices"),
    [
        ([1000, 400, 500], Share(1, 450), (2,)),
        ([1000, 400, 500], Share(2, 450), (0, 2)),
        ([1000, 400, 400], Share(1, 400), (1,)),
        ([1000, 400, 500], Share(3, 450), ()),
        ([], Share(1, 1), ()),
    ],
)
def test_the_fullest_devices_that_have_room(
    free: Sequence[int], share: Share, devices: tuple[int, ...]
) -> None:
    assert fullest(free, share) == devices


def test_what_a_pod_has_got_stands_on_it() -> None:
    devices = Devices(Rows())
    devices.place("ns/a", Share(2, 300), {}, 0, 4)
    devices.place("ns/b", Share(1, 700), {INDEX: "3"}, 0, 4)
    assert devices.free(0, 4) == [700, 700, 1000, 300]
    assert devices.note("ns/a") == {INDEX: "0-1"}
    assert devices.note("ns/c") == {}


def test_a_pod_that_does_not_fit_takes_nothing() -> None:
    devices = Devices(Rows())
    devices.place("ns/a", Share(2, 300), {}, 0, 1)
    assert devices.free(0, 1) == [1000]
    assert devices.held == {}


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3), st.integers(1, 1000)), max_size=30))
def test_what_goes_gives_back_what_it_took(steps: list[tuple[int, int, int]]) -> None:
    devices = Devices(Rows())
    for pod, count, milli in steps:
        key = f"ns/{pod}"
        if key in devices.held:
            devices.displace(key)
        else:
            devices.place(key, Share(count, milli), {}, 0, 4)
        right = [1000] * 4
        for held in devices.held.values():
            for device in held.devices:
                right[device] -= held.milli
        assert devices.free(0, 4) == right
        assert min(right) >= 0


def test_a_recount_finds_what_is_wrong() -> None:
    pod = make_pod("p").annotation(MILLI, "300").on("n").build()
    cluster = make_cluster(make_node("n").capacity({GPU: "2"}), pod)
    assert audit(cluster) == []
    devices = cluster.nodes.devices
    devices.taken[0].data[0] = 250
    assert audit(cluster) == ["node n: 250 of GPU 0 is taken, counted 300"]
    devices.taken[0].data[0] = 300
    devices.held["default/p"] = devices.held["default/p"]._replace(row=7)
    assert audit(cluster)[0] == "pod default/p holds GPUs of a node that it is not on"
