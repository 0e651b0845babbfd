"""The storage tables: what counts as a change, what pods use, what is decided; and random histories against recounts."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.storage_objects import (
    DRIVER,
    HOST,
    make_attachment,
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    make_volume,
    pod_with,
    required,
)

from bayplan.cluster.audit import audit
from bayplan.cluster.changes import Reads
from bayplan.cluster.cluster import Cluster
from bayplan.cluster.csi_migration import CSIVolume
from bayplan.cluster.volume_decisions import VolumeDecision, promise, select_node
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim
from bayplan.testing.builders import make_node

OBJECTS: dict[str, tuple[Any, Any]] = {
    "volume": (make_volume("v", version="1"), make_volume("v", size="2Gi", version="2")),
    "claim": (make_claim("c", version="1"), make_claim("c", volume="v", version="2")),
    "class": (make_class("wait"), make_class("wait", provisioner="other")),
    "driver": (make_driver(), make_driver(storage_capacity=True)),
    "capacity": (make_capacity("p", "wait", {}), make_capacity("p", "wait", {}, capacity="1Gi")),
    "CSI node": (make_csi_node("n"), make_csi_node("n", {DRIVER: 3})),
    "attachment": (make_attachment("a", "n", "v"), make_attachment("a", "m", "v")),
}


def version_of(cluster: Cluster) -> tuple[int, ...]:
    return cluster.journal.versions(Reads.STORAGE)


@pytest.mark.parametrize("kind", OBJECTS)
def test_a_change_is_told_and_a_repetition_is_not(kind: str) -> None:
    first, second = OBJECTS[kind]
    cluster = Cluster()
    seen = [version_of(cluster)]
    for obj, act in (
        (first, cluster.put),
        (first, cluster.put),
        (second, cluster.put),
        (second, cluster.remove),
        (second, cluster.remove),
    ):
        act(obj)
        seen.append(version_of(cluster))
    changed = [before != after for before, after in itertools.pairwise(seen)]
    assert changed == [True, False, True, True, False]
    assert audit(cluster) == []


def test_a_new_version_alone_is_no_change() -> None:
    cluster = Cluster()
    cluster.put(make_volume("v", version="1"))
    before = version_of(cluster)
    cluster.put(make_volume("v", version="2"))
    assert version_of(cluster) == before
    shown = cluster.storage.volumes.confirmed("v")
    assert shown is not None
    assert shown.metadata.resource_version == "2"


def test_storage_keeps_nothing_else() -> None:
    storage = Cluster().storage
    with pytest.raises(TypeError, match="Node"):
        storage.put(make_node("a").build())
    with pytest.raises(TypeError, match="Node"):
        storage.remove(make_node("a").build())


def test_the_smallest_free_volume_comes_first_and_promised_ones_are_no_longer_free() -> None:
    index = Cluster()
    for name, size in (("b", "2Gi"), ("a", "2048Mi"), ("c", "1Gi")):
        index.put(make_volume(name, size=size))
    index.put(make_volume("mine", claim="data"))
    index.put(make_volume("broken", phase="Failed"))
    index.put(make_volume("going", deleted=True))
    shelf = index.storage.index.free("wait")
    assert shelf is not None
    assert [one.name for one in shelf.volumes] == ["c", "a", "b"]
    promised = index.storage.index.promised("wait", "default/data")
    assert [one.name for one in promised] == ["mine"]


# --- decisions -----------------------------------------------------------------------------------------------------------


def decided() -> tuple[Cluster, VolumeDecision]:
    """Two claims that wait, a volume for one of them."""
    cluster = Cluster()
    cluster.put(make_volume("v", version="7"))
    cluster.put(make_claim("static", version="3"))
    cluster.put(make_claim("dynamic", version="4"))
    storage = cluster.storage
    volume, static = storage.volumes.get("v"), storage.claims.get("default/static")
    dynamic = storage.claims.get("default/dynamic")
    assert volume is not None
    assert static is not None
    assert dynamic is not None
    return cluster, VolumeDecision("n", [(volume, static)], [dynamic])


def test_what_is_assumed_is_seen_by_the_next_attempt_and_not_by_those_who_ask_the_server() -> None:
    cluster, decision = decided()
    before = version_of(cluster)
    assert cluster.storage.assume("default/p", decision) == ""
    assert version_of(cluster) != before
    volume, claim = cluster.storage.volumes.get("v"), cluster.storage.claims.get("default/dynamic")
    assert volume is not None
    assert claim is not None
    assert volume.spec.claim_ref is not None
    assert volume.spec.claim_ref.name == "static"
    assert claim.annotations["volume.kubernetes.io/selected-node"] == "n"
    assert cluster.storage.index.free("wait") is None
    shown = cluster.storage.volumes.confirmed("v")
    assert shown is not None
    assert shown.spec.claim_ref is None
    assert audit(cluster) == []


def test_giving_up_restores_what_was() -> None:
    cluster, decision = decided()
    cluster.storage.assume("default/p", decision)
    cluster.storage.give_up("default/p")
    cluster.storage.give_up("default/p")
    assert cluster.storage.decisions == {}
    assert not cluster.storage.volumes.is_assumed("v")
    assert not cluster.storage.claims.is_assumed("default/dynamic")
    assert cluster.storage.index.free("wait") is not None
    assert audit(cluster) == []


def test_what_the_server_shows_next_overrides_an_assumption() -> None:
    cluster, decision = decided()
    cluster.storage.assume("default/p", decision)
    cluster.put(make_volume("v", version="7"))
    assert cluster.storage.volumes.is_assumed("v"), "the same version again tells nothing new"
    cluster.put(make_volume("v", claim="other", version="8"))
    volume = cluster.storage.volumes.get("v")
    assert volume is not None
    assert volume.spec.claim_ref is not None
    assert volume.spec.claim_ref.name == "other"
    cluster.storage.give_up("default/p")
    assert cluster.storage.volumes.get("v") is volume
    assert audit(cluster) == []


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        pytest.param(
            lambda cluster: cluster.put(make_claim("dynamic", version="5")),
            '"default/dynamic" is out of sync (stored: 5, assume: 4)',
            id="a claim has changed since",
        ),
        pytest.param(
            lambda cluster: cluster.remove(make_claim("dynamic")),
            '"default/dynamic" not found',
            id="a claim is gone",
        ),
        pytest.param(
            lambda cluster: cluster.remove(make_volume("v")),
            '"v" not found',
            id="the volume is gone",
        ),
    ],
)
def test_a_decision_that_is_overtaken_leaves_nothing_behind(
    spoil: Callable[[Cluster], None], problem: str
) -> None:
    cluster, decision = decided()
    spoil(cluster)
    assert cluster.storage.assume("default/p", decision) == problem
    assert cluster.storage.decisions == {}
    assert not cluster.storage.volumes.is_assumed("v")
    assert audit(cluster) == []


def test_what_was_written_is_not_given_up() -> None:
    cluster, decision = decided()
    cluster.storage.assume("default/p", decision)
    cluster.storage.give_up("default/p", bound=1)
    assert cluster.storage.volumes.is_assumed("v")
    assert not cluster.storage.claims.is_assumed("default/dynamic")


@pytest.mark.parametrize(
    ("volume", "annotated"),
    [
        pytest.param(make_volume("v"), True, id="free"),
        pytest.param(make_volume("v", claim="c", claim_uid=""), False, id="promised by a user"),
        pytest.param(make_volume("v", claim="c", claim_uid="old"), True, id="of a dead namesake"),
    ],
)
def test_a_promise(volume: PersistentVolume, annotated: bool) -> None:
    promised = promise(volume, make_claim("c"))
    assert promised.spec.claim_ref is not None
    assert promised.spec.claim_ref.uid == "uid-c"
    assert ("pv.kubernetes.io/bound-by-controller" in promised.annotations) is annotated
    assert promise(promised, make_claim("c")) is promised


def test_selecting_a_node_keeps_the_other_annotations() -> None:
    claim = select_node(make_claim("c", annotations={"a": "b"}), "n")
    assert claim.annotations == {"a": "b", "volume.kubernetes.io/selected-node": "n"}


# --- volumes on nodes ----------------------------------------------------------------------------------------------------


def counts_of(cluster: Cluster, driver: str = DRIVER) -> list[int]:
    cluster.storage.attachments.refresh(cluster.nodes)
    counts: list[int] = cluster.storage.attachments.counts(driver)[
        : cluster.nodes.rows.used
    ].tolist()
    return counts


def test_a_volume_counts_once_per_node() -> None:
    cluster = Cluster()
    cluster.put(make_node("a").build())
    cluster.put(make_claim("c", volume="v"))
    cluster.put(make_volume("v", claim="c"))
    cluster.put(make_attachment("va", "a", "v"))
    for name in ("p", "q"):
        cluster.put(pod_with(name, "c", node="a"))
    assert counts_of(cluster) == [1]
    cluster.remove(pod_with("p", "c", node="a"))
    assert counts_of(cluster) == [1]
    cluster.remove(pod_with("q", "c", node="a"))
    assert counts_of(cluster) == [1], "still attached"
    cluster.remove(make_attachment("va", "a", "v"))
    assert counts_of(cluster) == [0]
    assert audit(cluster) == []


def test_a_claim_counts_as_its_class_until_it_has_a_volume() -> None:
    cluster = Cluster()
    cluster.put(make_node("a").build())
    cluster.put(pod_with("p", "c", node="a"))
    assert counts_of(cluster) == [0], "no claim yet"
    cluster.put(make_claim("c"))
    assert counts_of(cluster) == [0], "no class yet"
    cluster.put(make_class("wait"))
    assert counts_of(cluster) == [1]
    cluster.put(make_claim("c", volume="v"))
    assert counts_of(cluster) == [1], "its volume is not known yet"
    cluster.put(make_volume("v", claim="c", csi={"driver": "other", "volumeHandle": "h"}))
    assert counts_of(cluster) == [0]
    assert counts_of(cluster, "other") == [1]
    assert list(cluster.storage.attachments.rows_with(CSIVolume("other", "h"))) == [0]
    assert audit(cluster) == []


def test_attachments_find_a_node_that_comes_later_and_one_that_comes_back() -> None:
    cluster = Cluster()
    cluster.put(make_volume("v"))
    cluster.put(make_attachment("va", "b", "v"))
    cluster.put(make_csi_node("b", {DRIVER: 5}))
    cluster.put(make_node("a").build())
    assert counts_of(cluster) == [0]
    cluster.put(make_node("b").build())
    assert counts_of(cluster) == [0, 1]
    cluster.storage.csi_nodes.refresh(cluster.nodes)
    assert cluster.storage.csi_nodes.limits(DRIVER)[1] == 5
    cluster.remove(make_node("b").build())
    cluster.put(make_node("b").build())
    assert counts_of(cluster) == [0, 1]
    cluster.remove(make_node("a").build())
    cluster.remove(make_node("b").build())
    cluster.put(make_node("c").build())
    assert max(counts_of(cluster)) == 0
    assert audit(cluster) == []


# --- random histories ----------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(("a", "b", "c"))
CLAIM_NAMES = st.sampled_from(("c0", "c1", "c2", "p0-data", "p1-data"))
VOLUME_NAMES = st.sampled_from(("v0", "v1", "v2"))
CLASSES = st.sampled_from(("wait", "aws", "none"))


def volumes() -> st.SearchStrategy[PersistentVolume]:
    sources = st.sampled_from(
        (
            {"csi": {"driver": DRIVER, "volumeHandle": "h"}},
            {"csi": {"driver": "other", "volumeHandle": "h"}},
            {"awsElasticBlockStore": {"volumeID": "vol-1"}},
            {"hostPath": {"path": "/x"}},
        )
    )
    return st.builds(
        lambda name, cls, size, node, claim, phase, version, source: make_volume(
            name,
            cls,
            size=size,
            nodes=required({HOST: [node]}) if node else None,
            claim=claim,
            phase=phase,
            version=version,
            **source,
        ),
        VOLUME_NAMES,
        CLASSES,
        st.sampled_from(("1Gi", "2Gi")),
        st.one_of(st.just(""), NAMES),
        st.one_of(st.just(""), CLAIM_NAMES),
        st.sampled_from(("", "Available")),
        st.sampled_from(("", "1", "2")),
        sources,
    )


def claims() -> st.SearchStrategy[PersistentVolumeClaim]:
    return st.builds(
        lambda name, cls, volume, owner, version: make_claim(
            name, cls, volume=volume, owner=owner, version=version
        ),
        CLAIM_NAMES,
        CLASSES,
        st.one_of(st.just(""), VOLUME_NAMES),
        st.sampled_from(("", "uid-p0", "uid-p1")),
        st.sampled_from(("", "1", "2")),
    )


POD_VOLUMES = st.lists(
    st.one_of(
        st.sampled_from(("c0", "c1", "c2", "ephemeral:data")),
        st.sampled_from(
            (
                {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
                {"awsElasticBlockStore": {"volumeID": "vol-1"}},
                {"awsElasticBlockStore": {"volumeID": "aws://zone/nonsense"}},
                {"rbd": {"monitors": ["m", "n"], "image": "i"}},
            )
        ),
    ),
    min_size=1,
    max_size=3,
)

EVENTS = st.one_of(
    st.tuples(st.sampled_from(("put", "remove")), volumes()),
    st.tuples(st.sampled_from(("put", "remove")), claims()),
    st.tuples(
        st.sampled_from(("put", "remove")),
        st.builds(make_class, CLASSES, st.sampled_from((DRIVER, "kubernetes.io/aws-ebs"))),
    ),
    st.tuples(
        st.sampled_from(("put", "remove")),
        st.builds(
            lambda name, limit: make_csi_node(name, {DRIVER: limit}),
            NAMES,
            st.sampled_from((None, 0, 2)),
        ),
    ),
    st.tuples(
        st.sampled_from(("put", "remove")),
        st.builds(make_attachment, st.sampled_from(("x", "y")), NAMES, VOLUME_NAMES),
    ),
    st.tuples(
        st.sampled_from(("put", "put", "remove")),
        st.builds(lambda name: make_node(name).build(), NAMES),
    ),
    st.tuples(
        st.sampled_from(("put", "put", "remove")),
        st.builds(
            lambda name, vols, node: pod_with(name, *vols, node=node),
            st.sampled_from(("p0", "p1", "p2")),
            POD_VOLUMES,
            NAMES,
        ),
    ),
    st.tuples(st.just("decide"), st.tuples(VOLUME_NAMES, CLAIM_NAMES)),
    st.tuples(st.just("give up"), st.none()),
    st.tuples(st.just("look"), st.none()),
)


def act(cluster: Cluster, what: str, subject: Any) -> None:
    storage = cluster.storage
    match what:
        case "put":
            cluster.put(subject)
        case "remove":
            cluster.remove(subject)
        case "decide":
            storage.give_up("default/x")
            volume = storage.volumes.get(subject[0])
            claim = storage.claims.get(f"default/{subject[1]}")
            if volume is not None and claim is not None:
                storage.assume("default/x", VolumeDecision("a", [(volume, claim)], [claim]))
        case "give up":
            storage.give_up("default/x")
        case _:
            storage.attachments.refresh(cluster.nodes)
            storage.csi_nodes.refresh(cluster.nodes)


@given(st.lists(EVENTS, max_size=25))
def test_counts_kept_by_increments_equal_a_recount_after_every_event(
    events: list[tuple[str, Any]],
) -> None:
    cluster = Cluster()
    for what, subject in events:
        act(cluster, what, subject)
        assert audit(cluster) == []
    act(cluster, "look", None)
    assert audit(cluster) == []
    attachments, names = cluster.storage.attachments, cluster.nodes.names
    for row in range(cluster.nodes.rows.used):
        pods = [cluster.pods.info(pod, names[row]) for pod in cluster.pods.on_node(row)]
        alone = attachments.on_node(names[row], pods)
        for driver in (DRIVER, "other", "ebs.csi.aws.com"):
            assert attachments.counts(driver)[row] == alone.counts.get(driver, 0)
        assert attachments.errors.get(row, "") == alone.error


def test_the_audit_notices_a_wrong_count() -> None:
    cluster = Cluster()
    cluster.put(make_node("a").build())
    cluster.put(make_class("wait"))
    cluster.put(make_claim("c"))
    cluster.put(pod_with("p", "c", node="a"))
    cluster.put(make_csi_node("a", {DRIVER: 1}))
    act(cluster, "look", None)
    assert audit(cluster) == []
    cluster.storage.attachments.counts(DRIVER)[0] = 7
    cluster.storage.csi_nodes.limits(DRIVER)[0] = np.int64(9)
    cluster.storage.usage.claims["default/c"][0] = 2
    assert len(cluster.storage.audit(())) >= 3
