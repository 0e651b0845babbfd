"""VolumeRestrictions against upstream's rules, pod by pod."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.storage_objects import make_claim, pod_with

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.view import Nodes
from bayplan.framework.events import Hint
from bayplan.framework.runner import index_of
from bayplan.framework.state import CycleState
from bayplan.framework.status import SKIP, Rejected, unresolvable
from bayplan.plugins.volume_restrictions import VolumeRestrictions
from bayplan.testing.builders import make_node

DISK = "node(s) had no available disk"
IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode"
    " already in-use by another pod"
)
ONCE = ("ReadWriteOncePod",)

Volume = dict[str, Any]


def gce(name: str, *, read_only: bool = False) -> Volume:
    return {"gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def aws(name: str, *, read_only: bool = False) -> Volume:
    return {"awsElasticBlockStore": {"volumeID": name, "readOnly": read_only}}


def iscsi(iqn: str, *, read_only: bool = False) -> Volume:
    return {"iscsi": {"targetPortal": "t", "iqn": iqn, "lun": 0, "readOnly": read_only}}


def rbd(monitors: str, pool: str = "p", image: str = "i", *, read_only: bool = False) -> Volume:
    return {
        "rbd": {"monitors": list(monitors), "pool": pool, "image": image, "readOnly": read_only}
    }


def reasons(cluster: Cluster, pod: Any, nodes: Nodes, state: CycleState) -> list[str]:
    plugin, outcomes = VolumeRestrictions(), list[Rejected]()
    index = index_of(plugin, plugin.filter(pod, nodes, state), len(nodes), outcomes)
    numbers = np.broadcast_to(index, len(nodes)).tolist()
    return [outcomes[number - 1].message if number else "" for number in numbers]


@pytest.mark.parametrize(
    ("wanted", "held", "collide"),
    [
        pytest.param(gce("a"), gce("a"), True, id="the same Google disk"),
        pytest.param(gce("a"), gce("b"), False, id="another Google disk"),
        pytest.param(
            gce("a", read_only=True), gce("a", read_only=True), False, id="both only read"
        ),
        pytest.param(gce("a", read_only=True), gce("a"), True, id="the holder writes"),
        pytest.param(gce("a"), gce("a", read_only=True), True, id="the newcomer writes"),
        pytest.param(aws("a", read_only=True), aws("a", read_only=True), True, id="Amazon's never"),
        pytest.param(gce("a"), aws("a"), False, id="names of different clouds"),
        pytest.param(iscsi("q"), iscsi("q"), True, id="the same iSCSI target"),
        pytest.param(
            iscsi("q", read_only=True), iscsi("q", read_only=True), False, id="iSCSI to read"
        ),
        pytest.param(rbd("ab"), rbd("bc"), True, id="one Ceph monitor in common"),
        pytest.param(rbd("ab"), rbd("cd"), False, id="no Ceph monitor in common"),
        pytest.param(rbd("a", pool="q"), rbd("a"), False, id="another Ceph pool"),
        pytest.param(rbd("a", image="j"), rbd("a"), False, id="another Ceph image"),
        pytest.param(rbd(""), rbd(""), False, id="no Ceph monitors at all"),
        pytest.param(rbd("a", read_only=True), rbd("a", read_only=True), False, id="Ceph to read"),
    ],
)
def test_disks(wanted: Volume, held: Volume, collide: bool) -> None:
    cluster, state = Cluster(), CycleState()
    cluster.put(make_node("a").build())
    cluster.put(make_node("b").build())
    cluster.put(pod_with("holder", held, node="a"))
    pod = cluster.info(pod_with("web", wanted))
    assert VolumeRestrictions().prefilter(pod, cluster.view, state) is None
    expected = [DISK if collide else "", ""]
    assert reasons(cluster, pod, cluster.view.nodes, state) == expected


def test_a_pod_without_disks_or_contended_claims_is_skipped() -> None:
    cluster = Cluster()
    cluster.put(make_claim("free", modes=ONCE))
    cluster.put(make_claim("shared"))
    cluster.put(make_node("a").build())
    cluster.put(pod_with("other", "shared", node="a"))
    volumes: tuple[Any, ...] = ("free", "shared", "ephemeral:data", {"emptyDir": {}})
    for volume in volumes:
        pod = cluster.info(pod_with("web", volume))
        assert VolumeRestrictions().prefilter(pod, cluster.view, CycleState()) is SKIP


def test_a_claim_has_to_exist() -> None:
    cluster = Cluster()
    cluster.put(make_claim("data", namespace="elsewhere"))
    answer = VolumeRestrictions().prefilter(
        cluster.info(pod_with("web", "data")), cluster.view, CycleState()
    )
    assert answer == unresolvable('persistentvolumeclaim "data" not found')


def contended() -> tuple[Cluster, Any, CycleState]:
    """A claim for one pod at a time, held on node b; node a has a disk of the pod's."""
    cluster, state = Cluster(), CycleState()
    cluster.put(make_claim("data", modes=ONCE))
    cluster.put(make_node("a").build())
    cluster.put(make_node("b").build())
    cluster.put(pod_with("disk", gce("d"), node="a"))
    cluster.put(pod_with("holder", "data", node="b"))
    pod = cluster.info(pod_with("web", "data", gce("d")))
    assert VolumeRestrictions().prefilter(pod, cluster.view, state) is None
    return cluster, pod, state


def test_a_claim_for_one_pod_is_taken_everywhere_and_disks_are_named_first() -> None:
    cluster, pod, state = contended()
    assert reasons(cluster, pod, cluster.view.nodes, state) == [DISK, IN_USE]
    assert reasons(cluster, pod, cluster.view.rows(np.array([1])), state) == [IN_USE]


def test_the_holder_is_supposed_gone() -> None:
    cluster, pod, state = contended()
    trial, what_if = cluster.view.trial(np.array([1])), state.clone()
    (holder,) = trial.pods_on(0)
    trial.remove_pod(0, holder)
    VolumeRestrictions().remove_pod(pod, holder, trial.node(0), cluster.view, what_if)
    assert reasons(cluster, pod, trial, what_if) == [""]
    VolumeRestrictions().add_pod(pod, holder, trial.node(0), cluster.view, what_if)
    assert reasons(cluster, pod, trial, what_if) == [IN_USE]
    assert reasons(cluster, pod, cluster.view.nodes, state) == [DISK, IN_USE], "the original"


def test_a_namesake_in_another_namespace_frees_the_claim_as_it_does_upstream() -> None:
    cluster, pod, state = contended()
    stranger = cluster.info(pod_with("stranger", "data", namespace="elsewhere"))
    VolumeRestrictions().remove_pod(pod, stranger, cluster.view.nodes.node(0), cluster.view, state)
    assert reasons(cluster, pod, cluster.view.nodes, state) == [DISK, ""]


def test_a_claim_is_not_in_use_on_a_node_that_is_gone() -> None:
    cluster = Cluster()
    cluster.put(make_claim("data", modes=ONCE))
    cluster.put(pod_with("holder", "data", node="nowhere"))
    pod, plugin = cluster.info(pod_with("web", "data")), VolumeRestrictions()
    assert plugin.prefilter(pod, cluster.view, CycleState()) is SKIP
    before = plugin.stamp(pod, cluster.view, CycleState())
    cluster.put(make_node("nowhere").build())
    assert plugin.stamp(pod, cluster.view, CycleState()) != before
    assert plugin.prefilter(pod, cluster.view, CycleState()) is None


def test_the_stamp_tells_of_the_pods_own_claims_only() -> None:
    cluster, plugin = Cluster(), VolumeRestrictions()
    cluster.put(make_claim("data", modes=ONCE))
    cluster.put(make_node("a").build())
    pod = cluster.info(pod_with("web", "data"))
    before = plugin.stamp(pod, cluster.view, CycleState())
    cluster.put(make_claim("other", modes=ONCE))
    cluster.put(pod_with("p", "other", node="a"))
    assert plugin.stamp(pod, cluster.view, CycleState()) == before
    cluster.put(pod_with("holder", "data", node="a"))
    assert plugin.stamp(pod, cluster.view, CycleState()) != before


# --- against upstream's loops --------------------------------------------------------------------------------------------

VOLUMES = st.one_of(
    st.builds(gce, st.sampled_from("ab"), read_only=st.booleans()),
    st.builds(aws, st.sampled_from("ab"), read_only=st.booleans()),
    st.builds(iscsi, st.sampled_from("qr"), read_only=st.booleans()),
    st.builds(
        rbd,
        st.sampled_from(("", "a", "ab", "bc")),
        st.sampled_from("pq"),
        st.sampled_from("ij"),
        read_only=st.booleans(),
    ),
)


def conflict(mine: Volume, other: Volume) -> bool:
    kind = next(iter(mine))
    if kind not in other:
        return False
    a, b = mine[kind], other[kind]
    if kind == "rbd":
        same = bool(set(a["monitors"]) & set(b["monitors"]))
        same = same and (a["pool"], a["image"]) == (b["pool"], b["image"])
    else:
        name = {"gcePersistentDisk": "pdName", "awsElasticBlockStore": "volumeID", "iscsi": "iqn"}
        same = a[name[kind]] == b[name[kind]]
    return same and not (kind != "awsElasticBlockStore" and a["readOnly"] and b["readOnly"])


@given(
    st.lists(
        st.lists(st.lists(VOLUMES, min_size=1, max_size=2), max_size=3), min_size=1, max_size=5
    ),
    st.lists(VOLUMES, min_size=1, max_size=3),
    st.data(),
)
def test_like_a_pod_at_a_time(
    held: list[list[list[Volume]]], wanted: list[Volume], data: st.DataObject
) -> None:
    cluster, state = Cluster(), CycleState()
    for row, pods in enumerate(held):
        cluster.put(make_node(f"n{row}").build())
        for number, volumes in enumerate(pods):
            cluster.put(pod_with(f"p{row}-{number}", *volumes, node=f"n{row}"))
    pod = cluster.info(pod_with("web", *wanted))
    assert VolumeRestrictions().prefilter(pod, cluster.view, state) is None

    def expected(row: int, gone: str = "") -> str:
        there = [
            volume
            for number, volumes in enumerate(held[row])
            for volume in volumes
            if f"p{row}-{number}" != gone
        ]
        return DISK if any(conflict(w, h) for w in wanted for h in there) else ""

    some = np.array(data.draw(st.permutations(range(len(held)))), np.intp)[::2]
    for nodes in (cluster.view.nodes, cluster.view.rows(some), cluster.view.trial(some)):
        assert reasons(cluster, pod, nodes, state) == [expected(row) for row in nodes.rows]
    trial, gone = cluster.view.trial(some), {}
    for i, row in enumerate(some.tolist()):
        if held[row]:
            victim = data.draw(st.sampled_from(trial.pods_on(i)))
            trial.remove_pod(i, victim)
            gone[row] = victim.name
    assert reasons(cluster, pod, trial, state) == [
        expected(row, gone.get(row, "")) for row in some.tolist()
    ]


EXCLUSIVE = {"solo", "lone"}
CLAIMS = st.sets(st.sampled_from(["solo", "lone", "shared"]), max_size=2)
HOLDERS = st.tuples(CLAIMS, st.sampled_from(["default", "default", "else"]), st.integers(0, 3))


@given(
    st.lists(HOLDERS, max_size=5),
    st.sets(st.sampled_from(["solo", "lone", "shared"]), min_size=1),
    st.data(),
)
def test_claims_for_one_pod_like_a_pod_at_a_time(
    held: list[tuple[set[str], str, int]], wanted: set[str], data: st.DataObject
) -> None:
    """Nodes 0 to 2 exist, node 3 does not. What is in use anywhere is in use everywhere."""
    cluster, state, plugin = Cluster(), CycleState(), VolumeRestrictions()
    for namespace in ("default", "else"):
        for name in EXCLUSIVE:
            cluster.put(make_claim(name, modes=ONCE, namespace=namespace))
        cluster.put(make_claim("shared", namespace=namespace))
    for row in range(3):
        cluster.put(make_node(f"n{row}").build())
    for number, (claims, namespace, row) in enumerate(held):
        there = pod_with(f"p{number}", *sorted(claims), node=f"n{row}", namespace=namespace)
        cluster.put(there)
    pod = cluster.info(pod_with("web", *sorted(wanted)))

    # Of pods in another namespace upstream takes namesakes for its own when they leave (see the test above).
    holders = [claims for claims, where, row in held if where == "default" and row < 3]
    # A claim in use counts once, by however many pods; a pod that leaves takes its own ones off.
    in_use = len(set[str]().union(*holders) & wanted & EXCLUSIVE)
    if plugin.prefilter(pod, cluster.view, state) is SKIP:
        assert in_use == 0
        return
    rows, node = cluster.view.rows(np.arange(3)), cluster.view.nodes.node(0)
    assert reasons(cluster, pod, rows, state) == [IN_USE if in_use > 0 else ""] * 3
    leaving: list[set[str]] = data.draw(st.permutations(holders))
    for claims in leaving:
        gone = cluster.info(pod_with("gone", *sorted(claims), node="n0"))
        plugin.remove_pod(pod, gone, node, cluster.view, state)
        in_use -= len(claims & wanted & EXCLUSIVE)
        assert reasons(cluster, pod, rows, state) == [IN_USE if in_use > 0 else ""] * 3


# --- hints ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("deleted", "hint"),
    [
        pytest.param(pod_with("x", "data"), Hint.QUEUE, id="it used the claim"),
        pytest.param(pod_with("x", gce("d")), Hint.QUEUE, id="it held the disk"),
        pytest.param(pod_with("x", "other"), Hint.SKIP, id="it used another claim"),
        pytest.param(pod_with("x", gce("e")), Hint.SKIP, id="it held another disk"),
        pytest.param(
            pod_with("x", "data", namespace="elsewhere"), Hint.SKIP, id="in another namespace"
        ),
    ],
)
def test_a_deleted_pod(deleted: Any, hint: Hint) -> None:
    pod = Cluster().info(pod_with("web", "data", gce("d")))
    wake = VolumeRestrictions().wakes_on()[0]
    assert wake.hint is not None
    assert wake.hint(pod, deleted, None) is hint


@pytest.mark.parametrize(
    ("claim", "hint"),
    [
        pytest.param(make_claim("data"), Hint.QUEUE, id="its own"),
        pytest.param(make_claim("other"), Hint.SKIP, id="another"),
        pytest.param(make_claim("data", namespace="elsewhere"), Hint.SKIP, id="a namesake"),
        pytest.param(make_claim("web-tmp"), Hint.SKIP, id="of an ephemeral volume"),
    ],
)
def test_a_new_claim(claim: Any, hint: Hint) -> None:
    pod = Cluster().info(pod_with("web", "data", "ephemeral:tmp"))
    wake = VolumeRestrictions().wakes_on()[2]
    assert wake.hint is not None
    assert wake.hint(pod, None, claim) is hint
