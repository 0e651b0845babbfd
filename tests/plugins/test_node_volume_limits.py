"""NodeVolumeLimits against the rules, one node and one volume at a time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.answers import Asked, said
from tests.storage_objects import (
    make_attachment,
    make_claim,
    make_class,
    make_csi_node,
    make_volume,
    pod_with,
)

from bayplan.cluster.audit import check
from bayplan.cluster.cluster import Cluster
from bayplan.framework.events import Hint
from bayplan.framework.status import SKIP, Code, Rejected, unresolvable
from bayplan.model.pod import Pod
from bayplan.plugins.node_volume_limits import NodeVolumeLimits
from bayplan.testing import make_node

FULL = "node(s) exceed max volume count"
#: Two drivers, and the one that has taken over Google's disks.
A, B, GCE = "a.example.com", "b.example.com", "pd.csi.storage.gke.io"
ZONE = "topology.kubernetes.io/zone"


def csi(driver: str, handle: str) -> dict[str, Any]:
    return {"csi": {"driver": driver, "volumeHandle": handle}}


def disk(name: str) -> dict[str, Any]:
    return {"gcePersistentDisk": {"pdName": name}}


# --- the rules -----------------------------------------------------------------------------------------------------------

#: Driver and handle.
Found = tuple[str, str]

VOLUMES = {
    "a1": make_volume("a1", **csi(A, "1")),
    "a2": make_volume("a2", **csi(A, "2")),
    "a2-again": make_volume("a2-again", **csi(A, "2")),
    "b1": make_volume("b1", **csi(B, "1")),
    "disk": make_volume("disk", labels={ZONE: "z"}, **disk("d")),
    "nfs": make_volume("nfs", nfs={"server": "s", "path": "/"}),
    "blank": make_volume("blank", **csi(A, "")),
}
#: What is counted of the volumes above; nothing of the last two.
COUNTED: dict[str, Found] = {
    "a1": (A, "1"),
    "a2": (A, "2"),
    "a2-again": (A, "2"),
    "b1": (B, "1"),
    "disk": (GCE, "d in zone z"),
}
#: Class to the driver that will make a claim's volume, after migration.
DRIVERS = {"a": A, "old": GCE}


class P(NamedTuple):
    """A pod: names of claims, ``ephemeral:data``, or ``disk:x``."""

    name: str
    refs: tuple[str, ...]

    def build(self, node: str = "") -> Pod:
        return pod_with(self.name, *(_written(ref) for ref in self.refs), node=node)


def _written(ref: str) -> dict[str, Any] | str:
    return disk(ref.removeprefix("disk:")) if ref.startswith("disk:") else ref


class NotTheirsError(Exception):
    """A claim of a generic ephemeral volume belongs to somebody else."""


@dataclass
class World:
    """What there is, by name and by node."""

    #: Volume, class and whether the pod it is named after owns it.
    claims: dict[str, tuple[str, str, bool]]
    limits: list[dict[str, int | None] | None]
    pods: list[list[P]]
    #: Attacher and volume by node.
    attachments: list[list[tuple[str, str | None]]] = field(default_factory=list)

    def volumes(self, pod: P, *, placed: bool) -> set[Found]:
        """LookupError where a claim of the pending pod does not exist."""
        found: set[Found] = set()
        for ref in pod.refs:
            kind, _, rest = ref.rpartition(":")
            claim = f"{pod.name}-{rest}" if kind == "ephemeral" else rest
            if kind == "disk":
                found.add((GCE, rest))
            elif claim in self.claims:
                volume, storage_class, owned = self.claims[claim]
                if kind == "ephemeral" and not owned:
                    what = f"PVC default/{claim} was not created for pod default/{pod.name}"
                    raise NotTheirsError(f"{what} (pod is not owner)")
                if volume in COUNTED:
                    found.add(COUNTED[volume])
                elif volume not in VOLUMES and storage_class in DRIVERS:
                    found.add((DRIVERS[storage_class], f"of claim {claim}"))
            elif not placed:
                missing = f'persistentvolumeclaim "{claim}" not found'
                raise LookupError(f"looking up PVC default/{claim}: {missing}")
        return found

    def verdict(self, pod: P, node: int) -> str:
        limits = {
            driver: limit
            for driver, limit in (self.limits[node] or {}).items()
            if limit is not None
        }
        try:
            new = self.volumes(pod, placed=False)
            if not new or not limits:
                return ""
            used = set[Found]().union(*(self.volumes(p, placed=True) for p in self.pods[node]))
        except (LookupError, NotTheirsError) as error:
            return str(error)
        attached = {
            (attacher, COUNTED.get(volume, (A, ""))[1])
            for attacher, volume in self.attachments[node]
            if volume in VOLUMES and volume not in {"disk", "nfs"}
        }
        there = Counter(driver for driver, _ in used | attached)
        more = Counter(driver for driver, _ in new - used)
        full = any(there[d] + number > limits.get(d, 99) for d, number in more.items())
        return FULL if full else ""


# --- random worlds -------------------------------------------------------------------------------------------------------

NAMES = [f"c{i}" for i in range(6)]
CLAIMS = st.dictionaries(
    st.sampled_from([*NAMES, *(f"p{i}-data" for i in range(4)), "probe-data"]),
    st.tuples(
        st.sampled_from([*VOLUMES, "gone", "", ""]),
        st.sampled_from(["a", "old", "gone"]),
        st.sampled_from([True, True, True, False]),
    ),
    min_size=4,
)
REFS = st.lists(
    st.sampled_from([*NAMES, "ephemeral:data", "disk:d", "disk:e"]), max_size=4, unique=True
).map(tuple)
LIMITS = st.one_of(
    st.none(),
    st.dictionaries(st.sampled_from([A, B, GCE]), st.sampled_from([None, 0, 1, 2, 3])),
)
ATTACHED = st.tuples(st.sampled_from([A, B, GCE]), st.sampled_from([*VOLUMES, "gone", None]))
NODES = st.lists(
    st.tuples(LIMITS, st.lists(ATTACHED, max_size=2), st.lists(REFS, max_size=3)),
    min_size=1,
    max_size=4,
)


def a_world(claims: dict[str, Any], nodes: list[Any]) -> World:
    number = iter(range(99))
    pods = [[P(f"p{next(number)}", refs) for refs in placed] for _, _, placed in nodes]
    return World(claims, [limits for limits, _, _ in nodes], pods, [held for _, held, _ in nodes])


def objects_of(world: World) -> list[Any]:
    found: list[Any] = [
        *VOLUMES.values(),
        make_class("a", A),
        make_class("old", "kubernetes.io/gce-pd"),
    ]
    for name, (volume, storage_class, owned) in world.claims.items():
        owner = f"uid-{name.removesuffix('-data')}" if owned else ""
        found.append(make_claim(name, storage_class, volume=volume, owner=owner))
    for i, pods in enumerate(world.pods):
        found.append(make_node(f"n{i}").build())
        limits = world.limits[i]
        if limits is not None:
            found.append(make_csi_node(f"n{i}", limits))
        found += [pod.build(f"n{i}") for pod in pods]
        held = world.attachments[i]
        found += [make_attachment(f"{i}-{j}", f"n{i}", v, a) for j, (a, v) in enumerate(held)]
    return found


def assert_same_words(words: str, expected: str) -> None:
    """Of several pods on a node whose claims are not theirs, any may be named."""
    not_theirs = "was not created for"
    assert words == expected or (not_theirs in words and not_theirs in expected)


@settings(max_examples=300)
@given(CLAIMS, NODES, REFS, st.randoms(use_true_random=False))
def test_like_a_volume_at_a_time(
    claims: dict[str, Any], nodes: list[Any], refs: tuple[str, ...], chance: Random
) -> None:
    world, pod = a_world(claims, nodes), P("probe", refs)
    asked = Asked(NodeVolumeLimits(), pod.build())
    objects = objects_of(world)
    chance.shuffle(objects)
    for obj in objects:
        asked.tell(obj)
    names = [make_node(f"n{i}").build() for i in range(len(world.pods))]
    got = asked.filter()
    for i, node in enumerate(names):
        assert_same_words(got[asked.row(node)], world.verdict(pod, i))
    check(asked.cluster)


@settings(max_examples=300)
@given(CLAIMS, NODES, REFS, REFS, st.data())
def test_supposing_that_pods_go_and_come(
    claims: dict[str, Any],
    nodes: list[Any],
    refs: tuple[str, ...],
    more: tuple[str, ...],
    data: st.DataObject,
) -> None:
    world, pod = a_world(claims, nodes), P("probe", refs)
    asked = Asked(NodeVolumeLimits(), pod.build(), *objects_of(world))
    before = asked.filter()
    if asked.plugin.prefilter(asked.pod, asked.cluster.view, asked.state) is SKIP:
        return
    rows = np.array(data.draw(st.permutations(range(len(nodes)))), np.intp)
    trial = asked.cluster.view.trial(rows)
    for i, row in enumerate(rows.tolist()):
        if world.pods[row]:
            victim = data.draw(st.sampled_from(world.pods[row]))
            world.pods[row].remove(victim)
            trial.remove_pod(i, asked.cluster.info(victim.build(f"n{row}")))
    world.pods[int(rows[0])].append(P("new", more))
    trial.add_pod(0, asked.cluster.info(P("new", more).build()))
    answer = asked.plugin.filter(asked.pod, trial, asked.state)
    for words, row in zip(said(asked.plugin, answer, len(rows)), rows.tolist(), strict=True):
        assert_same_words(words, world.verdict(pod, row))
    assert asked.filter() == before, "the what-if leaked"


# --- corner cases --------------------------------------------------------------------------------------------------------


def a_node_with(limit: int, *pods: Pod) -> tuple[Any, ...]:
    node = make_node("n").build()
    return node, make_csi_node("n", {A: limit}), make_class("a", A), *VOLUMES.values(), *pods


def rejections(pod: Pod, *objects: Any) -> Rejected | None:
    """The one thing that is said of the only node."""
    asked = Asked(NodeVolumeLimits(), pod, *objects)
    (words,) = asked.filter()
    if not words:
        return None
    answer = asked.plugin.filter(asked.pod, asked.cluster.view.nodes, asked.state)
    if isinstance(answer, Rejected):
        return answer
    outcomes = [asked.plugin.rejection] if isinstance(answer, np.ndarray) else answer.outcomes
    found: Rejected
    (found,) = (outcome for outcome in outcomes if outcome.message == words)
    return found


CLAIM = make_claim("c", "a", volume="a1")


@pytest.mark.parametrize(
    ("pod", "objects", "rejected"),
    [
        pytest.param(
            pod_with("web", "c"), (*a_node_with(0), CLAIM), Rejected(FULL), id="eviction may help"
        ),
        pytest.param(
            pod_with("web", "c"),
            a_node_with(9),
            unresolvable('looking up PVC default/c: persistentvolumeclaim "c" not found'),
            id="no such claim",
        ),
        pytest.param(
            pod_with("web", ""),
            a_node_with(9),
            Rejected("PersistentVolumeClaim had no name", code=Code.ERROR),
            id="a claim without name",
        ),
        pytest.param(
            pod_with("web", {"azureDisk": {"diskURI": "u", "kind": "Shared"}}),
            a_node_with(9),
            Rejected(
                "converting volume(v0) from inline to csi:"
                " kind(Shared) is not supported in csi migration",
                code=Code.ERROR,
            ),
            id="an in-tree volume that has no CSI form",
        ),
        pytest.param(
            pod_with("web", {"azureDisk": {"diskURI": "u", "kind": "Shared"}}),
            (make_node("n").build(),),
            None,
            id="nobody translates it where there is no CSINode",
        ),
        pytest.param(
            pod_with("web", "c"),
            (
                *a_node_with(1),
                CLAIM,
                make_claim("d", "a", volume="a1"),
                pod_with("p", "d", node="n"),
            ),
            None,
            id="another claim of the same volume takes no more room",
        ),
        pytest.param(
            pod_with("web", "c"),
            (*a_node_with(1), CLAIM, make_attachment("x", "n", "a1", A)),
            Rejected(FULL),
            id="an attachment of the same volume does, until a pod there uses it",
        ),
        pytest.param(
            pod_with("web", "c"),
            (
                *a_node_with(0),
                CLAIM,
                make_claim("d", "a", volume="a1"),
                make_attachment("x", "n", "a2", A),
                pod_with("p", "d", node="n"),
            ),
            None,
            id="a node over its limit takes a pod that brings nothing new",
        ),
    ],
)
def test_filter(pod: Pod, objects: tuple[Any, ...], rejected: Rejected | None) -> None:
    assert rejections(pod, *objects) == rejected


@pytest.mark.parametrize(
    ("volume", "skips"),
    [
        pytest.param("c", False, id="a claim"),
        pytest.param("ephemeral:data", False, id="a generic ephemeral volume"),
        pytest.param(disk("d"), False, id="a disk that a driver has taken over"),
        pytest.param({"emptyDir": {}}, True, id="something local"),
        pytest.param(
            {"nfs": {"server": "s", "path": "/"}}, True, id="what no driver has taken over"
        ),
    ],
)
def test_a_pod_without_attachable_volumes_is_skipped(volume: Any, skips: bool) -> None:
    asked = Asked(NodeVolumeLimits(), pod_with("web", volume))
    answer = asked.plugin.prefilter(asked.pod, asked.cluster.view, asked.state)
    assert (answer is SKIP) is skips


# --- what may cure a rejection -------------------------------------------------------------------------------------------


def woken(number: int, old: Any, new: Any, *volumes: Any) -> bool:
    hint = NodeVolumeLimits().wakes_on()[number].hint
    assert hint is not None
    return hint(Cluster().info(pod_with("web", *(volumes or ("c",)))), old, new) is Hint.QUEUE


@pytest.mark.parametrize(
    ("before", "after", "wakes"),
    [
        pytest.param({A: 1}, {A: 2}, True, id="more of a driver"),
        pytest.param({A: 2}, {A: 1}, False, id="less of a driver"),
        pytest.param({A: 2}, {A: 2}, False, id="the same"),
        pytest.param({A: 2}, {A: 2, B: 1}, True, id="a limit for another driver"),
        pytest.param({A: 2}, {A: None}, False, id="no limit any more"),
    ],
)
def test_a_changed_limit(before: Any, after: Any, wakes: bool) -> None:
    assert woken(1, make_csi_node("n", before), make_csi_node("n", after)) is wakes


@pytest.mark.parametrize(
    ("gone", "wakes"),
    [
        pytest.param(pod_with("p", "c", node="n"), True, id="with a claim"),
        pytest.param(pod_with("p", "ephemeral:x", node="n"), True, id="with an ephemeral volume"),
        pytest.param(pod_with("p", disk("d"), node="n"), True, id="with a disk"),
        pytest.param(pod_with("p", {"emptyDir": {}}, node="n"), False, id="with something local"),
        pytest.param(pod_with("p", "c"), False, id="that was nowhere"),
    ],
)
def test_a_deleted_pod(gone: Pod, wakes: bool) -> None:
    assert woken(2, gone, None) is wakes


def test_a_new_claim_wakes_its_pod() -> None:
    assert woken(3, None, make_claim("c"))
    assert not woken(3, None, make_claim("d"))
    assert not woken(3, None, make_claim("c", namespace="elsewhere"))
    assert woken(3, None, make_claim("web-data"), "ephemeral:data")


def test_a_detached_volume_wakes_pods_that_may_need_its_driver() -> None:
    gone = make_attachment("x", "n", "a1", A)
    assert woken(4, gone, None, "c"), "which driver a claim needs is not known here"
    assert not woken(4, gone, None, disk("d"))
    assert woken(4, make_attachment("x", "n", "disk", GCE), None, disk("d"))
