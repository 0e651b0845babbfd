"""Server-side apply: who owns what, who is in whose way, and what goes when nobody wants it any more."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bayplan.embedded.builtin import builtin_kinds
from bayplan.embedded.kinds import Kind, Kinds
from bayplan.embedded.objects import Object, copy_of
from bayplan.embedded.patching import APPLY, JSON_PATCH, MERGE_PATCH, STRATEGIC, patch
from bayplan.embedded.patching.ownership import track
from bayplan.errors import RequestRefused

KINDS = Kinds(builtin_kinds())
T1, T2, T3 = (f"2026-01-01T00:00:0{second}Z" for second in (1, 2, 3))


def kind_of(api_version: str, name: str) -> Kind:
    found = KINDS.of(api_version, name)
    assert found is not None
    return found


DEPLOYMENT = kind_of("apps/v1", "Deployment")
CONFIG_MAP = kind_of("v1", "ConfigMap")
POD = kind_of("v1", "Pod")


def deployment(**changes: Any) -> Object:
    spec: Object = {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "a", "image": "x", "ports": [{"containerPort": 80}]}]},
        },
    }
    meta = {"name": "web", "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec | changes}


def config_map(**data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}


def applied(
    kind: Kind,
    current: Object | None,
    config: Object,
    manager: str = "a",
    time: str = T1,
    force: bool = False,
) -> Object:
    return patch(
        kind, APPLY, current, msgspec.json.encode(config), manager=manager, force=force, time=time
    )


def owners(obj: Object) -> dict[tuple[str, str], Any]:
    entries = obj["metadata"].get("managedFields", [])
    return {(one["manager"], one["operation"]): one["fieldsV1"] for one in entries}


def test_a_first_apply_owns_what_it_says() -> None:
    found = applied(DEPLOYMENT, None, deployment())
    assert owners(found) == {
        ("a", "Apply"): {
            "f:spec": {
                "f:replicas": {},
                "f:selector": {},
                "f:template": {
                    "f:metadata": {"f:labels": {"f:app": {}}},
                    "f:spec": {
                        "f:containers": {
                            'k:{"name":"a"}': {
                                ".": {},
                                "f:image": {},
                                "f:name": {},
                                "f:ports": {
                                    'k:{"containerPort":80,"protocol":"TCP"}': {
                                        ".": {},
                                        "f:containerPort": {},
                                    }
                                },
                            }
                        }
                    },
                },
            }
        }
    }
    del found["metadata"]["managedFields"]
    assert found == deployment()


def test_an_apply_that_changes_nothing_keeps_its_time() -> None:
    first = applied(CONFIG_MAP, None, config_map(x="1"))
    assert applied(CONFIG_MAP, first, config_map(x="1"), time=T2) == first


def test_what_is_no_longer_applied_goes() -> None:
    first = applied(CONFIG_MAP, None, config_map(x="1", y="2"))
    assert applied(CONFIG_MAP, first, config_map(x="1"), time=T2)["data"] == {"x": "1"}


def test_what_another_owns_stays() -> None:
    first = applied(CONFIG_MAP, None, config_map(x="1", y="2"))
    shared = applied(CONFIG_MAP, first, config_map(y="2"), manager="b", time=T2)
    left = applied(CONFIG_MAP, shared, config_map(x="1"), time=T3)
    assert left["data"] == {"x": "1", "y": "2"}
    assert owners(left) == {
        ("a", "Apply"): {"f:data": {"f:x": {}}},
        ("b", "Apply"): {"f:data": {"f:y": {}}},
    }


def test_a_container_goes_with_all_that_is_in_it() -> None:
    two = deployment()
    containers = two["spec"]["template"]["spec"]["containers"]
    containers.insert(0, {"name": "b", "image": "y"})
    first = applied(DEPLOYMENT, None, two)
    # Defaults belong to nobody.
    first["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = "Always"
    found = applied(DEPLOYMENT, first, deployment(), time=T2)
    assert [one["name"] for one in found["spec"]["template"]["spec"]["containers"]] == ["a"]


def test_items_keep_the_order_of_the_configuration() -> None:
    first = applied(DEPLOYMENT, None, deployment())
    items = first["spec"]["template"]["spec"]["containers"]
    items.append({"name": "injected", "image": "z"})
    config = deployment()
    wanted = config["spec"]["template"]["spec"]["containers"]
    wanted.insert(0, {"name": "first", "image": "f"})
    found = applied(DEPLOYMENT, first, config, time=T2)
    names = [one["name"] for one in found["spec"]["template"]["spec"]["containers"]]
    assert names == ["first", "a", "injected"]


def test_a_conflict_names_who_and_what() -> None:
    first = applied(DEPLOYMENT, None, deployment())
    scaled = copy_of(first)
    scaled["spec"]["replicas"] = 5
    track(DEPLOYMENT, first, scaled, manager="hpa", time=T2)
    with pytest.raises(RequestRefused) as caught:
        applied(DEPLOYMENT, scaled, deployment(), time=T3)
    who = 'conflict with "hpa" using apps/v1'
    assert (caught.value.code, caught.value.reason) == (409, "Conflict")
    assert caught.value.message == f"Apply failed with 1 conflict: {who}: .spec.replicas"
    assert caught.value.details == {
        "causes": [{"reason": "FieldManagerConflict", "message": who, "field": ".spec.replicas"}]
    }


def test_several_conflicts() -> None:
    first = applied(CONFIG_MAP, None, config_map(x="1", y="1"))
    with pytest.raises(RequestRefused) as caught:
        applied(CONFIG_MAP, first, config_map(x="2", y="2"), manager="b", time=T2)
    assert caught.value.message == (
        'Apply failed with 2 conflicts: conflicts with "a":\n- .data.x\n- .data.y'
    )


def test_force_takes_the_field() -> None:
    first = applied(CONFIG_MAP, None, config_map(x="1", y="1"))
    found = applied(CONFIG_MAP, first, config_map(x="2"), manager="b", time=T2, force=True)
    assert found["data"] == {"x": "2", "y": "1"}
    assert owners(found) == {
        ("a", "Apply"): {"f:data": {"f:y": {}}},
        ("b", "Apply"): {"f:data": {"f:x": {}}},
    }


def test_an_object_that_nobody_applied_belongs_to_its_past() -> None:
    found = applied(CONFIG_MAP, config_map(x="1"), config_map(x="1", y="2"), time=T2)
    assert owners(found) == {
        ("a", "Apply"): {"f:data": {"f:x": {}, "f:y": {}}},
        ("before-first-apply", "Update"): {"f:data": {".": {}, "f:x": {}}},
    }


def test_yaml_is_applied_too() -> None:
    raw = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  day: 2026-01-01\n"
    assert patch(CONFIG_MAP, APPLY, None, raw, manager="a")["data"] == {"day": "2026-01-01"}


def test_a_custom_resource_without_schema() -> None:
    widget = Kind("example.com", "v1", "widgets", "Widget", True)
    config = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"size": 1, "tags": ["a"]}}
    found = applied(widget, None, config | {"metadata": {"name": "w"}})
    assert owners(found) == {("a", "Apply"): {"f:spec": {"f:size": {}, "f:tags": {}}}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(
            {"apiVersion": "v2"}, "Incorrect version specified in apply patch", id="version"
        ),
        pytest.param(
            {"metadata": {"managedFields": []}}, "managedFields must be nil", id="managed"
        ),
        pytest.param({"metadata": {"name": "c", "resourceVersion": "7"}}, "modified", id="old"),
    ],
)
def test_what_cannot_be_applied(change: Object, message: str) -> None:
    with pytest.raises(RequestRefused, match=message):
        applied(CONFIG_MAP, None, config_map() | change)


def test_updates_take_over_what_they_change() -> None:
    created = config_map(x="1", y="2")
    track(CONFIG_MAP, None, created, manager="a", time=T1)
    changed = copy_of(created)
    changed["data"] = {"x": "9", "z": "3"}
    track(CONFIG_MAP, created, changed, manager="b", time=T2)
    assert owners(changed) == {
        ("a", "Update"): {"f:data": {}},
        ("b", "Update"): {"f:data": {"f:x": {}, "f:z": {}}},
    }


def test_a_status_has_owners_of_its_own() -> None:
    pod: Object = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a"}]}, "status": {}}
    track(POD, None, pod, manager="a", time=T1)
    bound = copy_of(pod)
    bound["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    track(POD, pod, bound, manager="kubelet", subresource="status", time=T2)
    entry = bound["metadata"]["managedFields"][1]
    assert (entry["manager"], entry["subresource"]) == ("kubelet", "status")
    assert entry["fieldsV1"] == {
        "f:status": {
            "f:conditions": {".": {}, 'k:{"type":"Ready"}': {".": {}, "f:status": {}, "f:type": {}}}
        }
    }


def test_a_client_may_forget_or_hand_over_fields() -> None:
    before = config_map(x="1")
    track(CONFIG_MAP, None, before, manager="a", time=T1)
    given = copy_of(before)
    given["metadata"]["managedFields"][0]["manager"] = "b"
    track(CONFIG_MAP, before, given, manager="c", time=T2)
    assert list(owners(given)) == [("b", "Update")]
    forgotten = copy_of(before)
    forgotten["metadata"]["managedFields"] = [{}]
    track(CONFIG_MAP, before, forgotten, manager="c", time=T2)
    assert "managedFields" not in forgotten["metadata"]


def test_many_updaters_become_one_past() -> None:
    obj = config_map()
    track(CONFIG_MAP, None, obj, manager="m", time=T1)
    for number in range(13):
        changed = copy_of(obj)
        changed.setdefault("data", {})[f"k{number}"] = "1"
        track(
            CONFIG_MAP, obj, changed, manager=f"m{number:02}", time=f"2026-01-01T00:01:{number:02}Z"
        )
        obj = changed
    managers = [name for name, _ in owners(obj)]
    assert len(managers) == 10
    assert managers[0] == "ancient-changes"
    assert managers[-1] == "m12"


@pytest.mark.parametrize(
    ("content_type", "raw", "options", "code", "message"),
    [
        pytest.param("text/plain", b"", {}, 415, "unknown format", id="no patch"),
        pytest.param(MERGE_PATCH, b"{", {}, 400, "decoding patch", id="no JSON"),
        pytest.param(MERGE_PATCH, b"[]", {}, 400, "is an object", id="no object"),
        pytest.param(MERGE_PATCH, b"{}", {"force": True}, 422, "for non-apply patch", id="force"),
        pytest.param(APPLY, b"{}", {}, 422, "is required for apply patch", id="no manager"),
        pytest.param(APPLY, b"- a", {"manager": "a"}, 400, "is an object", id="no map"),
        pytest.param(APPLY, b"a: [", {"manager": "a"}, 400, "decoding YAML", id="no YAML"),
        pytest.param(
            JSON_PATCH,
            b'[{"op":"replace","path":"","value":1}]',
            {},
            400,
            "no object",
            id="nothing",
        ),
    ],
)
def test_requests_that_are_refused(
    content_type: str, raw: bytes, options: Any, code: int, message: str
) -> None:
    with pytest.raises(RequestRefused, match=message) as caught:
        patch(CONFIG_MAP, content_type, config_map(), raw, **options)
    assert caught.value.code == code


def test_a_custom_resource_has_no_strategy() -> None:
    with pytest.raises(RequestRefused) as caught:
        patch(Kind("example.com", "v1", "widgets", "Widget", True), STRATEGIC, {}, b"{}")
    assert caught.value.code == 415


def test_the_current_object_is_left_alone() -> None:
    before = config_map(x="1")
    after = patch(CONFIG_MAP, MERGE_PATCH, before, b'{"data":{"x":null,"y":"2"}}')
    assert (before["data"], after["data"]) == ({"x": "1"}, {"y": "2"})
