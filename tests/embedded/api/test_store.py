"""What the store does with an object's metadata: names, versions, generations, finalizers, preconditions."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.embedded.api.speaking import fresh_store, pod

from bayplan.embedded.deleting import DeleteOptions
from bayplan.embedded.entries import ChangeType
from bayplan.embedded.objects import Object
from bayplan.embedded.selecting import Selection
from bayplan.embedded.store import Store, WriteOptions
from bayplan.errors import RequestRefused
from bayplan.model.selectors import parse_selector
from bayplan.testing.virtual_time import VirtualClock

STATUS = WriteOptions(subresource="status")


def test_a_new_object_gets_what_the_server_gives() -> None:
    made = fresh_store().create("pods", pod("web"), "default")
    meta = made["metadata"]
    assert meta["namespace"] == "default"
    assert meta["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert meta["generation"] == 1
    assert len(meta["uid"]) == 36
    assert (made["kind"], made["apiVersion"]) == ("Pod", "v1")


def test_what_a_client_says_of_the_servers_fields_is_not_heard() -> None:
    given = pod("web")
    given["metadata"] |= {
        "uid": "mine",
        "generation": 9,
        "deletionTimestamp": "2020-01-01T00:00:00Z",
    }
    given["status"] = {"phase": "Running"}
    made = fresh_store().create("pods", given, "default")
    assert made["metadata"]["uid"] != "mine"
    assert made["metadata"]["generation"] == 1
    assert "deletionTimestamp" not in made["metadata"]
    assert made["status"]["phase"] == "Pending"


def test_a_node_keeps_the_status_it_is_created_with() -> None:
    node = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4"}}}
    assert fresh_store().create("nodes", node)["status"]["allocatable"] == {"cpu": "4"}


def test_names_are_generated() -> None:
    store = fresh_store()
    given = pod("") | {"metadata": {"generateName": "web-"}}
    names = {store.create("pods", given, "default")["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("web-") and len(name) == 9 for name in names)


def test_every_write_has_a_higher_version() -> None:
    store = fresh_store()
    versions = [
        int(
            store.create("configmaps", {"metadata": {"name": name}}, "default")["metadata"][
                "resourceVersion"
            ]
        )
        for name in "abc"
    ]
    assert versions == sorted(set(versions))
    assert versions[-1] == store.version


def test_a_write_that_changes_nothing_is_none() -> None:
    store = fresh_store()
    store.create("configmaps", {"metadata": {"name": "a"}, "data": {"x": "1"}}, "default")
    before = store.version
    store.update("configmaps", store.get("configmaps", "a", "default"))
    assert store.version == before


def test_two_writers_from_one_state_conflict() -> None:
    store = fresh_store()
    store.create("configmaps", {"metadata": {"name": "a"}}, "default")
    mine, theirs = store.get("configmaps", "a", "default"), store.get("configmaps", "a", "default")
    store.update("configmaps", mine | {"data": {"who": "me"}})
    with pytest.raises(RequestRefused) as caught:
        store.update("configmaps", theirs | {"data": {"who": "them"}})
    assert caught.value.code == 409
    assert caught.value.message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


def test_an_update_for_an_earlier_object_of_the_name_conflicts() -> None:
    store = fresh_store()
    store.create("configmaps", {"metadata": {"name": "a"}}, "default")
    with pytest.raises(RequestRefused, match="UID in precondition: gone"):
        store.update("configmaps", {"metadata": {"name": "a", "uid": "gone"}}, "default")


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        pytest.param(
            "leases.coordination.k8s.io",
            {"spec": {"holderIdentity": "a"}},
            "metadata.resourceVersion: Invalid value: 0: must be specified for an update",
            id="a lease is never overwritten blindly",
        )
    ],
)
def test_some_kinds_want_a_version(kind: str, body: Object, said: str) -> None:
    store = fresh_store()
    given = {"metadata": {"name": "a"}, **body}
    store.create(kind, given, "default")
    with pytest.raises(RequestRefused, match="is invalid") as caught:
        store.update(kind, given, "default")
    assert said in caught.value.message


def test_status_and_spec_are_written_apart() -> None:
    store = fresh_store()
    store.create("pods", pod("web"), "default")
    given = store.get("pods", "web", "default")
    given["metadata"]["labels"] = {"a": "b"}
    given["status"] = {"phase": "Running"}
    assert store.update("pods", given)["status"]["phase"] == "Pending"

    given = store.get("pods", "web", "default")
    given["spec"]["containers"][0]["image"] = "app:2"
    given["status"] = {"phase": "Running"}
    updated = store.update("pods", given, options=STATUS)
    assert updated["status"] == {"phase": "Running"}
    assert updated["spec"]["containers"][0]["image"] == "app:1"
    assert updated["metadata"]["labels"] == {"a": "b"}


def test_generation_counts_changes_of_the_spec_alone() -> None:
    store = fresh_store()
    store.create("pods", pod("web"), "default")

    def change(field: str, value: Any) -> int:
        given = store.get("pods", "web", "default")
        if field == "label":
            given["metadata"]["labels"] = {"a": value}
        else:
            given["spec"]["containers"][0]["image"] = value
        return int(store.update("pods", given)["metadata"]["generation"])

    assert change("label", "b") == 1
    assert change("image", "app:2") == 2


def test_a_dry_run_writes_nothing() -> None:
    store = fresh_store()
    before = store.version
    made = store.create("pods", pod("web"), "default", WriteOptions(dry_run=True))
    assert made["metadata"]["name"] == "web"
    assert store.find("pods", "web", "default") is None
    assert store.version == before


# Deletion


def test_a_pod_that_is_nowhere_goes_at_once() -> None:
    store = fresh_store()
    store.create("pods", pod("web"), "default")
    _, gone = store.delete("pods", "web", "default")
    assert gone
    assert store.find("pods", "web", "default") is None


def test_a_pod_on_a_node_has_its_grace_period() -> None:
    store = fresh_store()
    store.create("pods", pod("web", nodeName="n1"), "default")
    left, gone = store.delete("pods", "web", "default")
    assert not gone
    assert left["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:30Z"
    assert left["metadata"]["deletionGracePeriodSeconds"] == 30
    assert left["metadata"]["generation"] == 2

    shorter, _ = store.delete("pods", "web", "default", DeleteOptions(grace_s=5))
    assert shorter["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:05Z"
    longer, _ = store.delete("pods", "web", "default", DeleteOptions(grace_s=50))
    assert longer == shorter

    store.delete("pods", "web", "default", DeleteOptions(grace_s=0))
    assert store.find("pods", "web", "default") is None


def test_a_finalizer_holds_an_object_until_it_is_taken_away() -> None:
    store = fresh_store()
    held = {"metadata": {"name": "a", "finalizers": ["example.com/hold"]}}
    store.create("configmaps", held, "default")
    left, gone = store.delete("configmaps", "a", "default")
    assert not gone
    assert "deletionTimestamp" in left["metadata"]

    left["metadata"]["finalizers"] = ["example.com/hold", "example.com/more"]
    with pytest.raises(RequestRefused, match="no new finalizers can be added"):
        store.update("configmaps", left)
    left["metadata"]["finalizers"] = []
    store.update("configmaps", left)
    assert store.find("configmaps", "a", "default") is None


def test_a_pod_with_a_finalizer_and_no_grace_waits_for_the_finalizer_alone() -> None:
    store = fresh_store()
    held = pod("web", nodeName="n1")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    store.create("pods", held, "default")
    left, _ = store.delete("pods", "web", "default", DeleteOptions(grace_s=0))
    assert left["metadata"]["deletionGracePeriodSeconds"] == 0
    left["metadata"]["finalizers"] = []
    store.update("pods", left)
    assert store.find("pods", "web", "default") is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param(DeleteOptions(uid="other"), "the UID in the precondition (other)", id="uid"),
        pytest.param(
            DeleteOptions(version="1"), "the ResourceVersion in the precondition (1)", id="version"
        ),
    ],
)
def test_preconditions_of_a_deletion(options: DeleteOptions, said: str) -> None:
    store = fresh_store()
    store.create("pods", pod("web"), "default")
    with pytest.raises(RequestRefused) as caught:
        store.delete("pods", "web", "default", options)
    assert caught.value.code == 409
    assert said in caught.value.message
    assert store.find("pods", "web", "default") is not None


def test_foreground_deletion_waits_for_the_garbage_collector() -> None:
    store = fresh_store()
    store.create("configmaps", {"metadata": {"name": "a"}}, "default")
    left, gone = store.delete("configmaps", "a", "default", DeleteOptions(propagation="Foreground"))
    assert not gone
    assert left["metadata"]["finalizers"] == ["foregroundDeletion"]


def test_many_go_by_selection() -> None:
    store = fresh_store()
    for name, tier in (("a", "x"), ("b", "x"), ("c", "y")):
        made = {"metadata": {"name": name, "labels": {"tier": tier}}}
        store.create("configmaps", made, "default")
    gone = store.delete_all("configmaps", Selection("default", parse_selector("tier=x")))
    assert [one["metadata"]["name"] for one in gone] == ["a", "b"]
    assert [one["metadata"]["name"] for one in store.list("configmaps")] == ["c"]


# Listening


def test_a_watcher_in_the_process_sees_every_change() -> None:
    store = fresh_store()
    seen: list[tuple[ChangeType, str]] = []
    end = store.watch("pods", lambda kind, obj: seen.append((kind, obj["metadata"]["name"])))
    store.create("pods", pod("web"), "default")
    store.mutate("pods", "web", lambda obj: obj["status"].update(phase="Running"), "default")
    store.delete("pods", "web", "default")
    end()
    store.create("pods", pod("unseen"), "default")
    assert seen == [
        (ChangeType.ADDED, "web"),
        (ChangeType.MODIFIED, "web"),
        # Seen going, then gone.
        (ChangeType.MODIFIED, "web"),
        (ChangeType.DELETED, "web"),
    ]


def test_what_a_listener_writes_is_heard_after_what_it_heard() -> None:
    store = fresh_store()
    order: list[str] = []

    def answer(kind: ChangeType, obj: Object) -> None:
        if obj["metadata"]["name"] == "a" and kind is ChangeType.ADDED:
            store.create("configmaps", {"metadata": {"name": "b"}}, "default")

    store.watch("configmaps", answer)
    store.watch("configmaps", lambda _, obj: order.append(obj["metadata"]["name"]))
    store.create("configmaps", {"metadata": {"name": "a"}}, "default")
    assert order == ["a", "b"]


# Namespaces


def test_nothing_is_created_in_a_namespace_that_is_not_there() -> None:
    with pytest.raises(RequestRefused, match='namespaces "nowhere" not found'):
        fresh_store().create("pods", pod("web"), "nowhere")


def test_first_namespaces_stay() -> None:
    with pytest.raises(RequestRefused, match="this namespace may not be deleted"):
        fresh_store().delete("namespaces", "default")


def test_an_object_is_where_its_url_says() -> None:
    given = pod("web")
    given["metadata"]["namespace"] = "kube-system"
    with pytest.raises(RequestRefused, match="does not match the namespace sent on the request"):
        fresh_store().create("pods", given, "default")


def test_a_listener_that_fails_does_not_keep_others_from_hearing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = fresh_store()
    heard: list[str] = []

    def fail(_kind: ChangeType, _obj: Object) -> None:
        raise RuntimeError("broken on purpose")

    store.watch("configmaps", fail)
    store.watch("configmaps", lambda _, obj: heard.append(obj["metadata"]["name"]))
    store.create("configmaps", {"metadata": {"name": "a"}}, "default")
    assert heard == ["a"]
    assert "A listener failed" in caplog.text


def test_a_generated_name_that_is_taken_is_made_up_again() -> None:
    class Stubborn(Random):
        """Makes up the same name twice before it thinks of another."""

        drawn = 0

        def randrange(self, *_: Any) -> int:
            self.drawn += 1
            return 0 if self.drawn <= 10 else 1

    store = Store(VirtualClock(), rng=Stubborn(1))
    store.seed()
    given = {"metadata": {"generateName": "a-"}}
    names = [store.create("configmaps", given, "default")["metadata"]["name"] for _ in range(2)]
    assert names == ["a-bbbbb", "a-ccccc"]
