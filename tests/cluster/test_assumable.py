from __future__ import annotations

from tests.storage_objects import make_claim

from bayplan.cluster.assumable import Assumable
from bayplan.model.storage import PersistentVolumeClaim

KEY = "default/c"


def claim(version: str, size: str = "1Gi") -> PersistentVolumeClaim:
    return make_claim("c", version=version, size=size)


def shown(objects: Assumable[PersistentVolumeClaim]) -> tuple[str, str]:
    """What is asked for: as it will be, and as the API server has it."""
    found = (objects.get(KEY), objects.confirmed(KEY))
    return tuple(str(one.spec.resources.requests["storage"]) if one else "" for one in found)  # type: ignore[return-value]


def with_assumption() -> Assumable[PersistentVolumeClaim]:
    objects = Assumable[PersistentVolumeClaim]()
    objects.put(KEY, claim("1"))
    assert objects.assume(KEY, claim("1", "2Gi")) == ""
    return objects


def test_what_is_assumed_stands_in_front_of_what_is_shown() -> None:
    objects = with_assumption()
    assert shown(objects) == ("2Gi", "1Gi")
    assert objects.is_assumed(KEY)
    assert [one.spec.resources.requests["storage"] for one in objects] == ["2Gi"]
    assert len(objects) == 1


def test_it_outlasts_the_same_version_and_no_other() -> None:
    objects = with_assumption()
    before = objects.put(KEY, claim("1"))
    assert before is not None
    assert before.spec.resources.requests["storage"] == "2Gi", "as it was seen until now"
    assert shown(objects) == ("2Gi", "1Gi")
    objects.put(KEY, claim("2"))
    assert shown(objects) == ("1Gi", "1Gi")


def test_objects_without_a_version_are_taken_for_newer_ones() -> None:
    objects = Assumable[PersistentVolumeClaim]()
    objects.put(KEY, claim(""))
    assert objects.assume(KEY, claim("", "2Gi")) == ""
    objects.put(KEY, claim(""))
    assert shown(objects) == ("1Gi", "1Gi")


def test_it_is_given_up_for_the_version_it_was_made_for() -> None:
    objects = with_assumption()
    assert not objects.restore(KEY, "2")
    assert objects.restore(KEY, "1")
    assert not objects.restore(KEY, "1")
    assert shown(objects) == ("1Gi", "1Gi")


def test_what_stands_against_assuming() -> None:
    objects = Assumable[PersistentVolumeClaim]()
    assert objects.assume(KEY, claim("1")) == '"default/c" not found'
    objects.put(KEY, claim("2"))
    out_of_sync = '"default/c" is out of sync (stored: 2, assume: 1)'
    assert objects.assume(KEY, claim("1")) == out_of_sync
    assert not objects.is_assumed(KEY)


def test_an_object_that_is_deleted_is_gone_for_both() -> None:
    objects = with_assumption()
    objects.remove(KEY)
    assert shown(objects) == ("", "")
    assert list(objects.audit("claim")) == []
