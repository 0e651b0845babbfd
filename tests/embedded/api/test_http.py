"""The server as clients meet it: verbs, bodies, patches, forms of answers, discovery, reviews, tokens."""

from __future__ import annotations

import io
import json
import ssl
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from tests.embedded.api.speaking import MERGE, PODS, TABLE, Speaker, pod, speaking, with_api

from bayplan.embedded.server import EmbeddedApi, EmbeddedOptions
from bayplan.testing.virtual_time import run

MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str = "a", **data: str) -> dict[str, object]:
    return {"metadata": {"name": name}, "data": data}


def test_the_life_of_an_object() -> None:
    async def work(speaker: Speaker) -> None:
        made = await speaker.post(MAPS, config_map(x="1"))
        assert (made.status, made.body["kind"]) == (201, "ConfigMap")
        again = await speaker.post(MAPS, config_map())
        assert (again.status, again.body["reason"]) == (409, "AlreadyExists")
        changed = await speaker.call("PUT", f"{MAPS}/a", made.body | {"data": {"x": "2"}})
        assert (changed.status, changed.body["data"]) == (200, {"x": "2"})
        stale = await speaker.call("PUT", f"{MAPS}/a", made.body | {"data": {"x": "3"}})
        assert (stale.status, stale.body["reason"]) == (409, "Conflict")
        gone = await speaker.call("DELETE", f"{MAPS}/a")
        assert gone.body["status"] == "Success"
        assert gone.body["details"]["uid"] == made.body["metadata"]["uid"]
        missing = await speaker.get(f"{MAPS}/a")
        assert missing.status == 404
        assert missing.body["details"] == {"name": "a", "kind": "configmaps"}
        assert missing.message == 'configmaps "a" not found'

    with_api(work)


def test_many_are_deleted_at_once() -> None:
    async def work(speaker: Speaker) -> None:
        for name in "abc":
            made = config_map(name)
            made["metadata"] = {"name": name, "labels": {"keep": str(name == "c").lower()}}
            await speaker.post(MAPS, made)
        gone = await speaker.call("DELETE", f"{MAPS}?labelSelector=keep%3Dfalse")
        assert [one["metadata"]["name"] for one in gone.body["items"]] == ["a", "b"]
        assert await speaker.names(MAPS) == ["c"]

    with_api(work)


@pytest.mark.parametrize(
    ("content_type", "patch", "expected"),
    [
        pytest.param(MERGE, {"data": {"x": None, "y": "2"}}, {"y": "2"}, id="merge"),
        pytest.param(
            "application/json-patch+json",
            [{"op": "add", "path": "/data/z", "value": "3"}],
            {"x": "1", "z": "3"},
            id="json",
        ),
        pytest.param(
            "application/strategic-merge-patch+json",
            {"data": {"y": "2"}},
            {"x": "1", "y": "2"},
            id="strategic",
        ),
    ],
)
def test_patches(content_type: str, patch: object, expected: object) -> None:
    async def work(speaker: Speaker) -> None:
        await speaker.post(MAPS, config_map(x="1"))
        reply = await speaker.call("PATCH", f"{MAPS}/a", patch, content_type)
        assert (reply.status, reply.body["data"]) == (200, expected)

    with_api(work)


def test_a_patch_may_say_which_version_it_means() -> None:
    async def work(speaker: Speaker) -> None:
        await speaker.post(MAPS, config_map(x="1"))
        patch = {"metadata": {"resourceVersion": "1"}, "data": {"x": "2"}}
        assert (await speaker.call("PATCH", f"{MAPS}/a", patch, MERGE)).status == 409

    with_api(work)


def test_server_side_apply_creates_owns_and_conflicts() -> None:
    async def work(speaker: Speaker) -> None:
        async def apply(manager: str, value: str, more: str = "") -> tuple[int, str]:
            body = {"apiVersion": "v1", "kind": "ConfigMap", **config_map(x=value)}
            path = f"{MAPS}/a?fieldManager={manager}{more}"
            reply = await speaker.call("PATCH", path, body, "application/apply-patch+yaml")
            return reply.status, reply.body.get("message", "")

        assert await apply("one", "1") == (201, "")
        status, said = await apply("two", "2")
        assert status == 409
        assert 'conflict with "one"' in said
        assert (await apply("two", "2", "&force=true"))[0] == 200

    with_api(work)


def test_unknown_fields_are_warned_of_or_refused() -> None:
    async def work(speaker: Speaker) -> None:
        given = pod("a", replica=3)
        strict = await speaker.post(f"{PODS}?fieldValidation=Strict", given)
        assert strict.status == 400
        assert 'strict decoding error: unknown field "spec.replica"' in strict.message
        warned = await speaker.post(PODS, given)
        assert warned.status == 201
        assert warned.headers["Warning"] == '299 - "unknown field \\"spec.replica\\""'
        assert "replica" not in warned.body["spec"]

    with_api(work)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(b"{", "the request body cannot be read", id="broken"),
        pytest.param(b"[]", "the request body is not an object", id="a list"),
        pytest.param(b"", "the request has no body", id="nothing"),
        pytest.param(
            b'{"apiVersion":"apps/v1","kind":"Deployment"}',
            "does not match the expected API version (v1, Kind=Pod)",
            id="another kind",
        ),
        pytest.param(
            b'{"metadata":{"name":"a"},"spec":{"containers":"none"}}',
            "cannot be handled as a Pod",
            id="wrong type",
        ),
        pytest.param(
            b'{"metadata":{"name":7}}', "cannot be handled as a Pod", id="a number for a name"
        ),
    ],
)
def test_bodies_that_cannot_be_read(body: bytes, said: str) -> None:
    async def work(speaker: Speaker) -> None:
        reply = await speaker.call("POST", PODS, body)
        assert (reply.status, reply.body["reason"]) == (400, "BadRequest")
        assert said in reply.message

    with_api(work)


def test_formats_that_nobody_speaks() -> None:
    async def work(speaker: Speaker) -> None:
        unread = await speaker.call("POST", PODS, b"<pod/>", "text/xml")
        assert unread.status == 415
        refused = await speaker.get(PODS, accept="application/vnd.kubernetes.protobuf")
        assert refused.status == 406
        both = await speaker.get(
            PODS, accept="application/vnd.kubernetes.protobuf,application/json"
        )
        assert both.status == 200

    with_api(work)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("GET", "/api/v1/nothing", 404, id="no such kind"),
        pytest.param("GET", "/nowhere", 404, id="no such path"),
        pytest.param("POST", "/api/v1/pods", 405, id="a pod without a namespace"),
        pytest.param("PUT", PODS, 405, id="update of a list"),
        pytest.param("GET", f"{PODS}/a/nothing", 404, id="no such subresource"),
        pytest.param("GET", f"{PODS}/..%2F..%2Fsecrets", 404, id="a name with slashes in it"),
    ],
)
def test_requests_that_lead_nowhere(method: str, path: str, status: int) -> None:
    async def work(speaker: Speaker) -> None:
        body = pod("a") if method != "GET" else None
        reply = await speaker.call(method, path, body)
        assert reply.status == status
        assert path == "/nowhere" or reply.body["kind"] == "Status"

    with_api(work)


def test_what_is_too_large_is_refused() -> None:
    async def work(speaker: Speaker) -> None:
        raw = io.BytesIO(json.dumps(config_map(x="x" * (3 << 20))).encode())
        async with speaker.session.post(MAPS, data=raw) as response:
            assert response.status == 413

    with_api(work)


def test_a_controller_may_finish_a_namespace() -> None:
    async def work(speaker: Speaker) -> None:
        store = speaker.api.store
        store.create("namespaces", {"metadata": {"name": "team"}})
        store.create("pods", pod("a", nodeName="n1"), "team")
        await speaker.call("DELETE", "/api/v1/namespaces/team")
        left = (await speaker.get("/api/v1/namespaces/team")).body
        assert left["status"]["phase"] == "Terminating"
        left["spec"]["finalizers"] = []
        done = await speaker.call("PUT", "/api/v1/namespaces/team/finalize", left)
        assert done.status == 200
        assert (await speaker.get("/api/v1/namespaces/team")).status == 404

    with_api(work)


# Forms


def test_a_table_has_a_row_for_each_object() -> None:
    async def work(speaker: Speaker) -> None:
        speaker.api.store.create("pods", pod("a", nodeName="n1"), "default")
        table = (await speaker.get(PODS, accept=TABLE)).body
        (row,) = table["rows"]
        assert row["cells"] == [
            "a",
            "0/1",
            "Pending",
            "0",
            "0s",
            "<none>",
            "n1",
            "<none>",
            "<none>",
        ]
        assert row["object"]["kind"] == "PartialObjectMetadata"
        assert row["object"]["metadata"]["name"] == "a"

    with_api(work)


def test_metadata_alone() -> None:
    async def work(speaker: Speaker) -> None:
        speaker.api.store.create("pods", pod("a"), "default")
        accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
        found = (await speaker.get(PODS, accept=accept)).body
        assert found["kind"] == "PartialObjectMetadataList"
        assert set(found["items"][0]) == {"kind", "apiVersion", "metadata"}

    with_api(work)


def test_one_event_has_two_faces() -> None:
    async def work(speaker: Speaker) -> None:
        event = {
            "metadata": {"name": "a.1"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "bayplan",
            "reportingInstance": "one",
            "action": "Binding",
            "reason": "Scheduled",
            "regarding": {"kind": "Pod", "name": "a", "namespace": "default"},
            "note": "placed",
            "type": "Normal",
        }
        path = "/apis/events.k8s.io/v1/namespaces/default/events"
        made = await speaker.post(path, event)
        assert (made.status, made.body["note"]) == (201, "placed")
        selector = "fieldSelector=involvedObject.name%3Da,involvedObject.kind%3DPod"
        core = await speaker.get(f"/api/v1/namespaces/default/events?{selector}")
        (found,) = core.body["items"]
        assert found["message"] == "placed"
        assert found["involvedObject"]["name"] == "a"
        assert found["reportingComponent"] == "bayplan"
        other = await speaker.get(f"{path}?fieldSelector=regarding.name%3Da")
        assert other.body["items"][0]["regarding"]["name"] == "a"

        patch = {"series": {"count": 3, "lastObservedTime": "2026-01-01T00:01:00.000000Z"}}
        changed = await speaker.call("PATCH", f"{path}/a.1", patch, MERGE)
        assert (changed.status, changed.body["series"]["count"]) == (200, 3)
        cells = (await speaker.get("/api/v1/events", accept=TABLE)).body["rows"][0]["cells"]
        assert cells[1:4] == ["Normal", "Scheduled", "pod/a"]

    with_api(work)


def test_scale() -> None:
    async def work(speaker: Speaker) -> None:
        path = "/apis/apps/v1/namespaces/default/deployments"
        template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("")["spec"]}
        spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
        await speaker.post(path, {"metadata": {"name": "web"}, "spec": spec})
        scale = await speaker.get(f"{path}/web/scale")
        assert scale.body["spec"] == {"replicas": 2}
        assert scale.body["status"]["selector"] == "app=web"
        changed = await speaker.call("PATCH", f"{path}/web/scale", {"spec": {"replicas": 5}}, MERGE)
        assert changed.body["spec"] == {"replicas": 5}
        deployment = (await speaker.get(f"{path}/web")).body
        assert deployment["spec"]["replicas"] == 5
        assert deployment["metadata"]["generation"] == 2

    with_api(work)


# What the API says about itself


def test_both_forms_of_discovery_name_the_same_resources() -> None:
    async def work(speaker: Speaker) -> None:
        plain: set[str] = set()
        groups = (await speaker.get("/apis")).body["groups"]
        paths = ["/api/v1"]
        paths += [f"/apis/{one['groupVersion']}" for group in groups for one in group["versions"]]
        for path in paths:
            found = (await speaker.get(path)).body
            plain |= {f"{found['groupVersion']}/{one['name']}" for one in found["resources"]}

        accept = (
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
        )
        nested: set[str] = set()
        for root in ("/api", "/apis"):
            reply = await speaker.get(root, accept=accept)
            assert "as=APIGroupDiscoveryList" in reply.headers["Content-Type"]
            for group in reply.body["items"]:
                for version in group["versions"]:
                    name = group["metadata"].get("name")
                    prefix = f"{name}/{version['version']}" if name else version["version"]
                    for one in version["resources"]:
                        nested.add(f"{prefix}/{one['resource']}")
                        below = one.get("subresources", [])
                        nested |= {
                            f"{prefix}/{one['resource']}/{sub['subresource']}" for sub in below
                        }
        assert nested == plain
        assert {
            "v1/pods",
            "v1/pods/binding",
            "v1/pods/eviction",
            "apps/v1/deployments/scale",
        } <= plain

    with_api(work)


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/etcd"])
def test_health(path: str) -> None:
    async def work(speaker: Speaker) -> None:
        reply = await speaker.get(path)
        assert (reply.status, reply.body) == (200, "ok")

    with_api(work)


def test_openapi_is_served_by_group() -> None:
    async def work(speaker: Speaker) -> None:
        index = (await speaker.get("/openapi/v3")).body["paths"]
        url = index["apis/apps/v1"]["serverRelativeURL"]
        document = (await speaker.get(url)).body
        assert "io.k8s.api.apps.v1.Deployment" in document["components"]["schemas"]

    with_api(work)


def test_a_document_that_has_not_changed_is_not_sent_again() -> None:
    async def work(speaker: Speaker) -> None:
        first = await speaker.get("/apis")
        headers = {"If-None-Match": first.headers["ETag"]}
        async with speaker.session.get("/apis", headers=headers) as second:
            assert second.status == 304

    with_api(work)


# Custom resources


def definition(**more: object) -> dict[str, Any]:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            }
        },
        "additionalPrinterColumns": [
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {
                "name": "Ready",
                "type": "string",
                "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
            },
        ],
    }
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget", "singular": "widget"},
        "versions": [version, version | {"name": "v2", "storage": False}],
    }
    return {"metadata": {"name": "widgets.example.com"}, "spec": spec | more}


CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"


def test_a_definition_makes_a_kind() -> None:
    async def work(speaker: Speaker) -> None:
        await speaker.post(CRDS, definition())
        made = (await speaker.get(f"{CRDS}/widgets.example.com")).body
        said = {one["type"]: one["status"] for one in made["status"]["conditions"]}
        assert said == {"NamesAccepted": "True", "Established": "True"}
        widget = {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {"name": "w"},
            "spec": {"size": 3},
            "status": {"conditions": []},
        }
        stored = await speaker.post(WIDGETS, widget)
        assert stored.status == 201
        assert "status" not in stored.body
        status = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        await speaker.call("PATCH", f"{WIDGETS}/w/status", status, MERGE)
        table = (await speaker.get(WIDGETS, accept=TABLE)).body
        assert [one["name"] for one in table["columnDefinitions"]] == ["Name", "Size", "Ready"]
        assert table["rows"][0]["cells"] == ["w", 3, "True"]
        other = (await speaker.get(f"{WIDGETS.replace('v1', 'v2')}/w")).body
        assert other["apiVersion"] == "example.com/v2"
        groups = (await speaker.get("/apis")).body["groups"]
        assert "example.com" in [one["name"] for one in groups]

        await speaker.call("DELETE", f"{CRDS}/widgets.example.com")
        assert (await speaker.get(WIDGETS)).status == 404

    with_api(work)


def test_a_watch_of_a_custom_kind() -> None:
    async def work(speaker: Speaker) -> None:
        await speaker.post(CRDS, definition())
        async with speaker.watch(f"{WIDGETS}?watch=1") as stream:
            await speaker.post(WIDGETS, {"metadata": {"name": "w"}})
            assert await stream.names(1) == ["ADDED w"]

    with_api(work)


def test_a_schema_fills_in_and_forbids() -> None:
    async def work(speaker: Speaker) -> None:
        size = {"type": "integer", "minimum": 1, "maximum": 9, "default": 2}
        kind = {"type": "string", "enum": ["round", "flat"], "default": "flat"}
        name = {"type": "string", "minLength": 2, "pattern": "^[a-z]+$"}
        tags = {"type": "array", "maxItems": 1, "items": {"type": "object", "required": ["key"]}}
        properties = {"size": size, "kind": kind, "name": name, "tags": tags}
        spec = {"type": "object", "properties": properties, "required": ["name"]}
        made = definition()
        made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = spec
        await speaker.post(CRDS, made)
        good = await speaker.post(WIDGETS, {"metadata": {"name": "w"}, "spec": {"name": "ab"}})
        assert good.body["spec"] == {"name": "ab", "size": 2, "kind": "flat"}
        wrong = {"size": 10, "kind": "odd", "tags": [{"key": "a"}, {}]}
        bad = await speaker.post(WIDGETS, {"metadata": {"name": "x"}, "spec": wrong})
        assert bad.status == 422
        causes = {one["field"]: one["message"] for one in bad.body["details"]["causes"]}
        assert causes == {
            "spec.name": "Required value",
            "spec.size": "Invalid value: 10: spec.size in body should be less than or equal to 9",
            "spec.kind": 'Unsupported value: "odd": supported values: "round", "flat"',
            "spec.tags": 'Invalid value: [{"key":"a"},{}]: spec.tags in body should be at most 1 items',
            "spec.tags[1].key": "Required value",
        }
        short = await speaker.post(WIDGETS, {"metadata": {"name": "y"}, "spec": {"name": "A"}})
        assert "should be at least 2 chars long" in short.message
        assert "should match '^[a-z]+$'" in short.message
        typed = await speaker.post(WIDGETS, {"metadata": {"name": "z"}, "spec": {"size": "big"}})
        assert typed.status in (400, 422)

    with_api(work)


def test_a_definition_is_checked() -> None:
    async def work(speaker: Speaker) -> None:
        wrong = definition()
        wrong["metadata"] = {"name": "gadgets.example.com"}
        reply = await speaker.post(CRDS, wrong)
        assert reply.status == 422
        assert 'must be spec.names.plural+"."+spec.group' in reply.message

    with_api(work)


# Who may


def test_a_foreign_name_does_not_lead_here() -> None:
    async def work(speaker: Speaker) -> None:
        async with speaker.session.get("/api/v1/nodes", headers={"Host": "evil.example"}) as reply:
            assert reply.status == 403
        port = speaker.api.url.rpartition(":")[2]
        headers = {"Host": f"localhost:{port}"}
        async with speaker.session.get("/api/v1/nodes", headers=headers) as reply:
            assert reply.status == 200

    with_api(work)


def test_a_token_opens_the_door() -> None:
    async def main() -> None:
        options = EmbeddedOptions(token="sesame", users={"guest-token": "guest"})
        async with EmbeddedApi(options) as api:
            async with speaking(api) as stranger:
                assert (await stranger.get("/api/v1/nodes")).status == 401
                assert (await stranger.get("/healthz")).status == 200
            async with speaking(api, "sesame") as friend:
                assert (await friend.get("/api/v1/nodes")).status == 200
                path = "/apis/authentication.k8s.io/v1/tokenreviews"
                good = await friend.post(path, {"spec": {"token": "guest-token"}})
                assert good.body["status"]["user"]["username"] == "guest"
                bad = await friend.post(path, {"spec": {"token": "guess"}})
                assert bad.body["status"]["error"] == "invalid bearer token"

    run(main())


def test_what_is_forbidden_is_told_in_reviews_too() -> None:
    async def work(speaker: Speaker) -> None:
        speaker.api.faults.forbid("create", "pods/binding")
        speaker.api.store.create("pods", pod("a"), "default")
        refused = await speaker.post(f"{PODS}/a/binding", {"target": {"name": "n"}})
        assert refused.status == 403
        assert refused.message == (
            'pods/binding "a" is forbidden: User "system:admin" cannot create resource "pods/binding" '
            'in API group "" in the namespace "default"'
        )
        attributes = {"verb": "create", "resource": "pods", "subresource": "binding"}
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        review = await speaker.post(path, {"spec": {"resourceAttributes": attributes}})
        assert review.body["status"]["allowed"] is False
        speaker.api.faults.allow("create", "pods/binding")
        review = await speaker.post(path, {"spec": {"resourceAttributes": attributes}})
        assert review.body["status"]["allowed"] is True

    with_api(work)


def test_a_kubeconfig_leads_here_over_tls(tmp_path: Path) -> None:
    async def main() -> None:
        async with EmbeddedApi(EmbeddedOptions(tls=True, token="sesame")) as api:
            path = api.write_kubeconfig(tmp_path / "kubeconfig")
            config = yaml.safe_load(path.read_text())
            assert path.stat().st_mode & 0o777 == 0o600
            assert config["clusters"][0]["cluster"]["server"] == api.url
            context = ssl.create_default_context(cadata=api.authority_pem.decode())
            headers = {"Authorization": f"Bearer {config['users'][0]['user']['token']}"}
            async with (
                aiohttp.ClientSession(headers=headers) as session,
                session.get(f"{api.url}/version", ssl=context) as reply,
            ):
                assert json.loads(await reply.read())["minor"] == "36"

    run(main())
