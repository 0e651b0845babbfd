"""What all objects share: keys, owners, times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest

from bayplan.model.groups import CoschedulingPodGroup
from bayplan.model.meta import (
    ObjectMeta,
    OwnerReference,
    controller_of,
    format_micro_time,
    format_time,
    is_controlled_by,
    kind_of,
)
from bayplan.model.node import Node
from bayplan.model.pod import Pod


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        pytest.param(ObjectMeta(name="web", namespace="default"), "default/web", id="namespaced"),
        pytest.param(ObjectMeta(name="n1"), "n1", id="not namespaced"),
    ],
)
def test_key(meta: ObjectMeta, expected: str) -> None:
    assert Pod(metadata=meta).key == expected


def test_shortcuts_read_the_metadata() -> None:
    meta = ObjectMeta(
        name="web",
        namespace="default",
        uid="u",
        labels={"a": "b"},
        annotations={"c": "d"},
        deletion_timestamp=datetime(2024, 1, 1, tzinfo=UTC),
    )
    pod = Pod(metadata=meta)
    assert (pod.name, pod.namespace, pod.uid) == ("web", "default", "u")
    assert (pod.labels, pod.annotations) == ({"a": "b"}, {"c": "d"})
    assert pod.is_terminating
    assert not Pod().is_terminating


def test_kind_is_the_name_of_the_class_unless_said() -> None:
    assert (Pod().kind, Node().kind) == ("Pod", "Node")
    assert kind_of(CoschedulingPodGroup) == "PodGroup"


def test_controller_is_the_first_owner_that_says_so() -> None:
    helper = OwnerReference(kind="Node", name="n", uid="1")
    owner = OwnerReference(kind="ReplicaSet", name="web", uid="2", controller=True)
    other = OwnerReference(kind="Job", name="other", uid="3", controller=True)
    meta = ObjectMeta(owner_references=(helper, owner, other))
    assert controller_of(meta) is owner
    assert is_controlled_by(meta, "2")
    assert not is_controlled_by(meta, "3")
    assert controller_of(ObjectMeta(owner_references=(helper,))) is None
    assert not is_controlled_by(ObjectMeta(), "")


def test_objects_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Pod().metadata.name = "other"  # type: ignore[misc]


def test_times_are_written_in_utc() -> None:
    moment = datetime(2024, 5, 1, 12, 0, 0, 250, tzinfo=timezone(timedelta(hours=2)))
    assert format_time(moment) == "2024-05-01T10:00:00Z"
    assert format_micro_time(moment) == "2024-05-01T10:00:00.000250Z"


def test_defaults_are_not_encoded() -> None:
    assert msgspec.json.encode(Pod()) == b'{"kind":"Pod"}'
