"""On the real thing: whatever these find is true of Kubernetes, not of an imitation."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from bayplan.errors import ApiError, NotFound, TimedOut, Unreachable
from bayplan.testing import make_node, make_pod
from bayplan.testing.control_plane import (
    Api,
    Binaries,
    ControlPlane,
    History,
    Obj,
    wait_until,
)
from bayplan.testing.control_plane.api import query

NOBODY_WAITS_S = 30.0


@pytest.fixture(scope="module")
def plane(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("plane"), binaries) as plane:
        yield plane


def pod(name: str) -> Obj:
    return make_pod(name).image("none").manifest


def config_map(name: str) -> Obj:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def answer(api: Api, path: str) -> int:
    """The status of a GET."""
    try:
        api.get(path)
    except ApiError as refused:
        return refused.status
    return 200


def test_it_is_kubernetes(plane: ControlPlane) -> None:
    assert plane.admin.get("/version")["gitVersion"].startswith("v1.")


def test_a_pod_is_bound_by_a_stock_scheduler(plane: ControlPlane) -> None:
    if not plane.binaries.has("kube-scheduler"):
        pytest.skip("no kube-scheduler: run `make kube`")
    plane.admin.create(make_node("n1").manifest)
    with History(plane.admin, "/api/v1/pods") as pods:
        plane.admin.create(pod("web"))
        scheduler = plane.start_scheduler()
        bound = pods.wait(lambda objects: objects["default/web"]["spec"].get("nodeName"), "node")
        scheduler.stop()

    assert bound["default/web"]["spec"]["nodeName"] == "n1"
    assert [event.type for event in pods.events] == ["ADDED", "MODIFIED"]


def test_a_user_may_do_what_a_role_says_and_no_more(plane: ControlPlane) -> None:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
    role["name"] = "system:kube-scheduler"
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "viewer"}
    plane.admin.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "viewer"},
            "roleRef": role,
            "subjects": [subject],
        }
    )
    with plane.user("viewer").api() as api:
        wait_until(lambda: answer(api, "/api/v1/nodes") == 200, "permission")
        with pytest.raises(ApiError, match='User "viewer" cannot create resource "configmaps"'):
            api.create(config_map("not-mine"))


def test_a_token_is_rotated_while_the_one_before_is_good(plane: ControlPlane) -> None:
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "robot", "namespace": "kube-system"},
    }
    plane.admin.create(account)
    robot = plane.service_account("robot")
    with robot.api() as old:
        robot.rotate()
        with robot.api() as new:
            # The account has no role: the API server knows who asks, and says no.
            assert (answer(old, "/api/v1/nodes"), answer(new, "/api/v1/nodes")) == (403, 403)
            robot.revoke_old()
            assert len(plane.admin.items("/api/v1/namespaces/kube-system/secrets")) == 1


def test_the_api_server_comes_back_with_all_it_had(plane: ControlPlane) -> None:
    plane.admin.create(config_map("kept"))
    url = plane.url
    with History(plane.admin, "/api/v1/namespaces/default/configmaps") as history:
        plane.stop_api()
        with pytest.raises(Unreachable) as none:
            plane.admin.get("/api/v1/namespaces")
        plane.start_api()
        plane.admin.create(config_map("later"))
        found = history.wait(lambda objects: "default/later" in objects, "new object")

    assert none.value.refused
    assert plane.url == url
    assert "default/kept" in found


def test_nobody_gets_the_port_while_the_api_server_is_away(plane: ControlPlane) -> None:
    port = int(plane.url.rpartition(":")[2])
    plane.stop_api()
    try:
        with socket.socket() as thief, pytest.raises(OSError, match="in use"):
            thief.bind(("127.0.0.1", port))
    finally:
        plane.start_api()


def test_a_second_api_server_acts_while_the_first_is_away(plane: ControlPlane) -> None:
    with History(plane.admin, "/api/v1/namespaces/default/configmaps") as history:
        plane.admin.create(config_map("short-lived"))
        history.wait(lambda objects: "default/short-lived" in objects, "object")
        plane.stop_api()
        with plane.second_api() as other:
            other.delete(config_map("short-lived"))
            other.create(config_map("meanwhile"))
            plane.etcd.compact()
        plane.start_api()
        found = history.wait(lambda objects: "default/meanwhile" in objects, "new object")

    assert "default/short-lived" not in found
    assert [event.type for event in history.events if event.key == "default/short-lived"][-1] == (
        "DELETED"
    )


def test_a_watch_from_before_the_compaction_is_refused(plane: ControlPlane) -> None:
    before = plane.admin.create(config_map("old"))["metadata"]["resourceVersion"]
    plane.admin.create(config_map("newer"))
    plane.stop_api()
    plane.etcd.compact()
    plane.start_api()

    path = query("/api/v1/configmaps", watch=1, resourceVersion=before)
    with plane.admin.lines(path, NOBODY_WAITS_S) as lines:
        first = next(iter(lines))

    assert first["type"] == "ERROR"
    assert first["object"]["code"] == 410


def test_waiting_in_vain_says_for_what(plane: ControlPlane) -> None:
    with (
        History(plane.admin, "/api/v1/nodes") as nodes,
        pytest.raises(TimedOut, match=r"/api/v1/nodes: no such node within 0\.1 s"),
    ):
        nodes.wait(lambda objects: "no-such-node" in objects, "such node", 0.1)


def test_a_history_ends_with_a_refusal(plane: ControlPlane) -> None:
    with (
        pytest.raises(NotFound),
        History(plane.admin, "/apis/example.com/v1/nothing"),
    ):
        pass


def test_a_kind_that_the_server_lacks_is_named(plane: ControlPlane) -> None:
    unknown = {"apiVersion": "v1", "kind": "Ship", "metadata": {"name": "x"}}
    with pytest.raises(NotFound, match="no Ship in v1"):
        plane.admin.create(unknown)


def test_its_files_stay_and_its_processes_do_not(binaries: Binaries, tmp_path: Path) -> None:
    with ControlPlane(tmp_path, binaries) as plane:
        program = plane.start("program", ["/bin/sh", "-c", "echo hello; sleep 1000"])

    assert not program.running
    assert (tmp_path / "logs" / "kube-apiserver.log").is_file()
    with pytest.raises(Unreachable):
        plane.admin.get("/version")
