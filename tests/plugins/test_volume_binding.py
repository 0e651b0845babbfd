"""VolumeBinding against the rules, one node and one claim at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.answers import Asked
from tests.storage_objects import (
    DRIVER,
    HOST,
    ZONE,
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    make_volume,
    pod_with,
    required,
)

from bayplan.cluster.audit import check
from bayplan.cluster.claims import SELECTED_NODE
from bayplan.framework.status import SKIP, Code, Rejected, unresolvable
from bayplan.plugins.volume_binding import VolumeBinding
from bayplan.testing import make_node

OUT_OF_REACH = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"

ONCE, MANY = "ReadWriteOnce", "ReadWriteMany"
#: Classes whose claims wait for a pod; of the last the driver tells what room it has.
WAITING = ("static", "zoned", "anywhere", "tracked")
Node = dict[str, str]


# --- the rules -----------------------------------------------------------------------------------------------------------


@dataclass
class V:
    """A volume; sizes are in MiB. ``nodes`` are the labels of which a node needs one, all nodes where there are none."""

    name: str
    storage_class: str
    size: int
    nodes: list[tuple[str, str]]
    modes: list[str]
    gold: bool
    block: bool
    state: str
    #: The claim that it is promised to, and whether the promise is to one of that name, to this one or to another.
    claim: str
    uid: str

    def build(self) -> Any:
        terms: list[dict[str, Sequence[str]]] = [{key: [value]} for key, value in self.nodes]
        claim_uid = {"any": "", "this": f"uid-{self.claim}", "other": "uid-old"}[self.uid]
        return make_volume(
            self.name,
            self.storage_class,
            size=f"{self.size}Mi",
            nodes=required(*terms) if terms else None,
            modes=self.modes,
            labels={"tier": "gold"} if self.gold else {},
            phase="Released" if self.state == "Released" else "Available",
            deleted=self.state == "deleted",
            claim=self.claim,
            claim_uid=claim_uid,
            volumeMode="Block" if self.block else None,
            csi={"driver": DRIVER, "volumeHandle": self.name},
        )

    def reaches(self, node: Node) -> bool:
        return not self.nodes or any(node.get(key) == value for key, value in self.nodes)


@dataclass
class C:
    """A claim."""

    name: str
    storage_class: str
    size: int
    modes: list[str]
    gold: bool
    block: bool
    #: A volume's name; bound, or only wished for.
    volume: str = ""
    bound: bool = True
    selected: str = ""
    state: str = ""

    def build(self) -> Any:
        return make_claim(
            self.name,
            self.storage_class,
            size=f"{self.size}Mi",
            modes=self.modes,
            volume=self.volume,
            bound=self.bound,
            phase="Lost" if self.state == "Lost" else "",
            deleted=self.state == "deleted",
            annotations={SELECTED_NODE: self.selected} if self.selected else {},
            selector={"matchLabels": {"tier": "gold"}} if self.gold else None,
            volumeMode="Block" if self.block else None,
        )


@dataclass
class World:
    """What there is, by name."""

    nodes: list[Node]
    volumes: dict[str, V]
    claims: dict[str, C]
    #: Whether the driver tells what room it has, and for which nodes: labels (None: for nobody) and MiB or nothing.
    tracks: bool | None
    pools: list[tuple[Node | None, int | None, int | None]] = field(default_factory=list)

    def problem(self, refs: Sequence[str]) -> str:
        """What stands against a pod as a whole."""
        for ref in refs:
            claim = self.claims.get(ref)
            if claim is None:
                return f'persistentvolumeclaim "{ref}" not found'
            if claim.state == "Lost":
                return f'persistentvolumeclaim "{ref}" bound to non-existent persistentvolume "{claim.volume}"'
            if claim.state == "deleted":
                return f'persistentvolumeclaim "{ref}" is being deleted'
        for claim in (self.claims[ref] for ref in refs):
            is_bound = claim.volume and claim.bound
            if not is_bound and (claim.volume or claim.storage_class not in WAITING):
                return IMMEDIATE
        return ""

    def verdict(self, refs: Sequence[str], node: Node) -> str:
        claims = [self.claims[ref] for ref in refs]
        reasons = []
        for claim in claims:
            if claim.volume and claim.volume not in self.volumes:
                reasons.append(GONE)
                break
            if claim.volume and not self.volumes[claim.volume].reaches(node):
                reasons.append(OUT_OF_REACH)
                break
        reasons.append(self.undecided(claims, node)[0])
        listed = (OUT_OF_REACH, NO_VOLUME, NO_SPACE, GONE)
        return ", ".join(reason for reason in listed if reason in reasons)

    def undecided(
        self, claims: list[C], node: Node
    ) -> tuple[str, list[tuple[str, str]], list[str]]:
        """What is wrong; which volumes go to which claims; for which claims one has to be made."""
        waiting = [claim for claim in claims if not claim.volume]
        if any(claim.selected not in {"", node[HOST]} for claim in waiting):
            return NO_VOLUME, [], []
        chosen: list[tuple[str, str]] = []
        to_make = [claim for claim in waiting if claim.selected]
        for claim in sorted((c for c in waiting if not c.selected), key=lambda c: c.size):
            volume = self.match(claim, node, {name for name, _ in chosen})
            if volume is None:
                to_make.append(claim)
            else:
                chosen.append((volume.name, claim.name))
        for claim in to_make:
            if claim.storage_class == "static":
                return NO_VOLUME, [], []
            if claim.storage_class == "zoned" and node.get(ZONE) != "z1":
                return NO_VOLUME, [], []
            if claim.storage_class == "tracked" and self.tracks and not self.has_room(claim, node):
                return NO_SPACE, [], []
        return "", chosen, [claim.name for claim in to_make]

    def match(self, claim: C, node: Node, taken: set[str]) -> V | None:
        fitting = [
            volume
            for volume in sorted(self.volumes.values(), key=lambda v: v.name)
            if volume.storage_class == claim.storage_class
            and volume.name not in taken
            and volume.size >= claim.size
            and volume.block == claim.block
            and volume.state != "deleted"
        ]
        for volume in fitting:
            if volume.claim == claim.name and volume.uid != "other":
                return volume if volume.reaches(node) else None
        free = [
            volume
            for volume in fitting
            if not volume.claim
            and volume.state != "Released"
            and (volume.gold or not claim.gold)
            and set(claim.modes) <= set(volume.modes)
            and volume.reaches(node)
        ]
        return min(free, key=lambda v: v.size, default=None)

    def has_room(self, claim: C, node: Node) -> bool:
        return any(
            labels is not None and labels.items() <= node.items() and (limit or 0) >= claim.size
            for labels, maximum, capacity in self.pools
            for limit in [capacity if maximum is None else maximum]
        )

    def objects(self) -> list[Any]:
        topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": ["z1"]}]}]
        found: list[Any] = [
            make_class("static", "kubernetes.io/no-provisioner"),
            make_class("zoned", "z.example.com", allowedTopologies=topologies),
            make_class("anywhere", "any.example.com"),
            make_class("tracked", DRIVER),
            make_class("now", DRIVER, "Immediate"),
        ]
        if self.tracks is not None:
            found.append(make_driver(storage_capacity=self.tracks))
        for i, (labels, maximum, capacity) in enumerate(self.pools):
            topology = None if labels is None else {"matchLabels": labels}
            sizes = {"maximumVolumeSize": maximum, "capacity": capacity}
            written = {key: f"{size}Mi" for key, size in sizes.items() if size is not None}
            found.append(make_capacity(f"pool{i}", "tracked", topology, **written))
        found += [make_node(node[HOST]).labels(node).build() for node in self.nodes]
        found += [volume.build() for volume in self.volumes.values()]
        return found + [claim.build() for claim in self.claims.values()]


# --- random worlds -------------------------------------------------------------------------------------------------------

SIZES = st.sampled_from([500, 1000, 1024, 2048])
MODES = st.sampled_from([[ONCE], [ONCE], [ONCE, MANY]])
REACH = st.lists(
    st.sampled_from([(ZONE, "z1"), (ZONE, "z2"), (HOST, "n0"), (HOST, "n1")]), max_size=2
)
RARELY = st.sampled_from([False, False, False, True])
CLAIM_NAMES = [f"c{i}" for i in range(4)]
VOLUME_NAMES = [f"v{i}" for i in range(6)]
STATES = st.sampled_from(["Available"] * 6 + ["Released", "deleted"])
WORLDS = st.builds(
    World,
    st.lists(st.sampled_from([{}, {ZONE: "z1"}, {ZONE: "z2"}]), min_size=1, max_size=4).map(
        lambda drawn: [{HOST: f"n{i}", **labels} for i, labels in enumerate(drawn)]
    ),
    st.dictionaries(
        st.sampled_from(VOLUME_NAMES),
        st.builds(
            V,
            st.just(""),
            st.sampled_from(WAITING),
            SIZES,
            REACH,
            MODES,
            st.booleans(),
            RARELY,
            STATES,
            st.sampled_from(["", "", *CLAIM_NAMES]),
            st.sampled_from(["any", "this", "other"]),
        ),
        min_size=3,
    ),
    st.dictionaries(
        st.sampled_from(CLAIM_NAMES),
        st.builds(
            C,
            st.just(""),
            st.sampled_from([*(12 * WAITING), "now", "gone", ""]),
            SIZES,
            MODES,
            RARELY,
            RARELY,
            st.sampled_from([""] * 8 + VOLUME_NAMES),
            st.sampled_from([True] * 30 + [False]),
            st.sampled_from([""] * 9 + ["n0", "n1", "elsewhere"]),
            st.sampled_from([""] * 40 + ["Lost", "deleted"]),
        ),
        min_size=3,
    ),
    st.sampled_from([True, True, False, None]),
    st.lists(
        st.tuples(
            st.sampled_from([None, {}, {ZONE: "z1"}, {HOST: "n1"}]),
            st.sampled_from([None, 1000, 2048]),
            st.sampled_from([None, 500, 1024]),
        ),
        max_size=3,
    ),
)
REFS = st.lists(st.sampled_from(CLAIM_NAMES), min_size=1, max_size=3)


def named(world: World) -> World:
    for volume, named_volume in world.volumes.items():
        named_volume.name = volume
    for claim, named_claim in world.claims.items():
        named_claim.name = claim
    return world


def said_of_nodes(asked: Asked, world: World) -> list[str]:
    words = asked.filter()
    row_of = asked.cluster.nodes.row_of
    return [words[row_of[node[HOST]]] for node in world.nodes]


def expected(world: World, refs: Sequence[str]) -> list[str]:
    return [expected_of(world, refs, node) for node in world.nodes]


@settings(max_examples=400)
@given(WORLDS.map(named), REFS, st.randoms(use_true_random=False))
def test_like_a_claim_at_a_time(world: World, refs: list[str], chance: Random) -> None:
    asked = Asked(VolumeBinding(), pod_with("web", *refs))
    objects = world.objects()
    chance.shuffle(objects)
    for obj in objects:
        asked.tell(obj)
    assert said_of_nodes(asked, world) == expected(world, refs)
    check(asked.cluster)


# --- deciding ------------------------------------------------------------------------------------------------------------


@dataclass
class Handle:
    """As much of the handle as Reserve needs."""

    view: Any


@settings(max_examples=400)
@given(WORLDS.map(named), REFS.map(lambda refs: list(dict.fromkeys(refs))), st.data())
def test_what_is_reserved_is_what_was_found_and_the_next_pod_sees_it(
    world: World, refs: list[str], data: st.DataObject
) -> None:
    asked = Asked(VolumeBinding(), pod_with("web", *refs), *world.objects())
    asked.plugin.handle = Handle(asked.cluster.view)
    before = asked.filter()
    fitting = [node for node in world.nodes if not expected_of(world, refs, node)]
    if not fitting or all(world.claims[ref].volume for ref in refs):
        return
    node: Node = data.draw(st.sampled_from(fitting))
    assert asked.plugin.reserve(asked.pod, node[HOST], asked.state) is None
    decision = asked.cluster.storage.decisions[asked.pod.key]
    _, bindings, to_make = world.undecided([world.claims[ref] for ref in refs], node)
    assert sorted((v.name, c.name) for v, c in decision.bindings) == sorted(bindings)
    assert sorted(claim.name for claim in decision.provisions) == sorted(to_make)
    check(asked.cluster)

    for volume, claim in bindings:
        world.volumes[volume].claim, world.volumes[volume].uid = claim, "this"
    for claim in to_make:
        world.claims[claim].selected = node[HOST]
    others: list[str] = data.draw(REFS)
    asked.pod = asked.cluster.info(pod_with("other", *others))
    asked.forget_everything()
    assert said_of_nodes(asked, world) == expected(world, others)

    asked.pod = asked.cluster.info(pod_with("web", *refs))
    asked.plugin.unreserve(asked.pod, node[HOST], asked.state)
    assert asked.cluster.storage.decisions == {}
    asked.forget_everything()
    assert asked.filter() == before
    check(asked.cluster)


def expected_of(world: World, refs: Sequence[str], node: Node) -> str:
    return world.problem(refs) or world.verdict(refs, node)


def test_reserve_judges_anew() -> None:
    asked = Asked(
        VolumeBinding(),
        pod_with("web", "c"),
        make_node("n").build(),
        make_class("wait", "kubernetes.io/no-provisioner"),
        make_claim("c"),
        make_volume("v"),
    )
    asked.plugin.handle = Handle(asked.cluster.view)
    assert asked.filter() == [""]
    asked.cluster.put(make_volume("v", claim="somebody"))
    assert asked.plugin.reserve(asked.pod, "n", asked.state) == unresolvable(NO_VOLUME)
    asked.cluster.remove_node("n")
    gone = asked.plugin.reserve(asked.pod, "n", asked.state)
    assert gone == Rejected('node "n" not found', code=Code.ERROR)


# --- corner cases --------------------------------------------------------------------------------------------------------

GCE: dict[str, Any] = {"gcePersistentDisk": {"pdName": "d"}}
GCE_PLUGIN, GCE_ZONE = "kubernetes.io/gce-pd", "topology.gke.io/zone"


@pytest.mark.parametrize(
    ("volume", "objects", "answer"),
    [
        pytest.param({"emptyDir": {}}, [], SKIP, id="no claims"),
        pytest.param(
            "ephemeral:data",
            [],
            unresolvable(
                "waiting for ephemeral volume controller to create the persistentvolumeclaim"
                ' "web-data"'
            ),
            id="an ephemeral volume whose claim is not there yet",
        ),
        pytest.param(
            "ephemeral:data",
            [make_claim("web-data", owner="uid-other")],
            unresolvable(
                "PVC default/web-data was not created for pod default/web (pod is not owner)"
            ),
            id="an ephemeral volume whose claim is somebody else's",
        ),
        pytest.param(
            "ephemeral:data",
            [make_claim("web-data", owner="uid-web"), make_class("wait")],
            None,
            id="an ephemeral volume with its claim",
        ),
        pytest.param(
            "c",
            [make_claim("c"), make_class("wait", mode=None)],
            Rejected('VolumeBindingMode not set for StorageClass "wait"', code=Code.ERROR),
            id="a class without mode",
        ),
        pytest.param(
            "c",
            [
                make_claim(
                    "c", "wait", annotations={"volume.beta.kubernetes.io/storage-class": ""}
                ),
                make_class("wait"),
            ],
            unresolvable(IMMEDIATE),
            id="the old annotation overrides the class",
        ),
    ],
)
def test_prefilter(volume: Any, objects: list[Any], answer: Any) -> None:
    asked = Asked(VolumeBinding(), pod_with("web", volume), *objects)
    assert asked.plugin.prefilter(asked.pod, asked.cluster.view, asked.state) == answer


@pytest.mark.parametrize(
    ("migrated", "words"),
    [
        pytest.param([], [OUT_OF_REACH, ""], id="Kubernetes' own labels count"),
        pytest.param([GCE_PLUGIN], ["", OUT_OF_REACH], id="the driver's labels count"),
    ],
)
def test_volumes_of_a_plugin_that_a_driver_has_taken_over(
    migrated: list[str], words: list[str]
) -> None:
    asked = Asked(
        VolumeBinding(),
        pod_with("web", "c"),
        make_node("a").label(GCE_ZONE, "z1").build(),
        make_node("b").zone("z1").build(),
        *(make_csi_node(name, migrated=migrated) for name in "ab"),
        make_claim("c", volume="v"),
        make_volume("v", claim="c", nodes=required({ZONE: ["z1"]}), **GCE),
    )
    assert asked.filter() == words


def test_a_volume_that_has_no_csi_form_is_an_error_where_its_driver_has_taken_over() -> None:
    asked = Asked(
        VolumeBinding(),
        pod_with("web", "c"),
        make_node("a").build(),
        make_node("b").build(),
        make_csi_node("a", migrated=[GCE_PLUGIN]),
        make_claim("c", volume="v"),
        make_volume("v", claim="c", labels={ZONE: "here__there"}, **GCE),
    )
    words, nothing = asked.filter()
    assert words.startswith("could not translate pv: failed to get region from zones: ")
    assert nothing == ""


def test_a_selector_that_cannot_be_read_is_an_error() -> None:
    bad = {"matchExpressions": [{"key": "tier", "operator": "In", "values": []}]}
    asked = Asked(
        VolumeBinding(),
        pod_with("web", "c"),
        make_node("a").build(),
        make_class("wait"),
        make_claim("c", selector=bad),
    )
    (words,) = asked.filter()
    assert words.startswith("error creating internal label selector for claim: default/c: ")


def test_eviction_cures_nothing() -> None:
    asked = Asked(
        VolumeBinding(),
        pod_with("web", "c"),
        make_node("a").build(),
        make_claim("c", volume="gone"),
    )
    assert asked.filter() == [GONE]
    answer = asked.plugin.filter(asked.pod, asked.cluster.view.nodes, asked.state)
    assert [outcome.code for outcome in answer.outcomes] == [Code.UNRESOLVABLE]


def test_volumes_rank_no_nodes() -> None:
    asked = Asked(VolumeBinding(), pod_with("web", "c"), make_node("a").build())
    nodes = asked.cluster.view.nodes
    assert asked.plugin.prescore(asked.pod, nodes, np.ones(1, np.bool_), asked.state) is SKIP
    assert asked.plugin.score(asked.pod, nodes, asked.state) == 0


@pytest.mark.parametrize(
    ("args", "complaints"),
    [
        pytest.param({}, [], id="nothing said"),
        pytest.param({"bind_timeout_seconds": 0}, [], id="no waiting"),
        pytest.param(
            {"bind_timeout_seconds": -1},
            [
                (
                    "bindTimeoutSeconds",
                    "Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value",
                )
            ],
            id="less than no time",
        ),
        pytest.param(
            {"shape": ()},
            [
                (
                    "shape",
                    "Invalid value: []: unexpected field `shape`, remove it or turn on the feature"
                    " gate StorageCapacityScoring",
                )
            ],
            id="a feature that is off",
        ),
    ],
)
def test_arguments(args: dict[str, Any], complaints: list[tuple[str, str]]) -> None:
    made = VolumeBinding.args_type(**args)
    assert list(VolumeBinding.check_args(made)) == complaints
