"""Pods over HTTP: defaults, what may not be changed, binding and eviction."""

from __future__ import annotations

from typing import Any

import pytest
from tests.embedded.api.speaking import (
    MERGE,
    PODS,
    STRATEGIC,
    Speaker,
    fresh_store,
    pod,
    with_api,
)

from bayplan.embedded.objects import Object
from bayplan.errors import RequestRefused


def test_a_pod_is_filled_in_as_kubernetes_does() -> None:
    spec = fresh_store().create("pods", pod("a"), "default")["spec"]
    assert spec["schedulerName"] == "default-scheduler"
    assert spec["restartPolicy"] == "Always"
    assert spec["terminationGracePeriodSeconds"] == 30
    assert spec["priority"] == 0
    assert spec["preemptionPolicy"] == "PreemptLowerPriority"
    assert [one["key"] for one in spec["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]
    assert spec["containers"][0]["imagePullPolicy"] == "IfNotPresent"


def test_requests_follow_limits() -> None:
    given = pod("a")
    given["spec"]["containers"][0]["resources"] = {
        "limits": {"cpu": "2", "memory": "1Gi"},
        "requests": {"cpu": "1"},
    }
    made = fresh_store().create("pods", given, "default")
    resources = made["spec"]["containers"][0]["resources"]
    assert resources["requests"] == {"cpu": "1", "memory": "1Gi"}
    assert made["status"]["qosClass"] == "Burstable"


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        pytest.param({}, "BestEffort", id="nothing"),
        pytest.param({"requests": {"nvidia.com/gpu": "1"}}, "BestEffort", id="no cpu, no memory"),
        pytest.param({"requests": {"cpu": "1"}}, "Burstable", id="requests alone"),
        pytest.param({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed", id="limits of both"),
    ],
)
def test_quality_of_service(resources: Object, expected: str) -> None:
    given = pod("a")
    given["spec"]["containers"][0]["resources"] = resources
    assert fresh_store().create("pods", given, "default")["status"]["qosClass"] == expected


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param({"containers": []}, "spec.containers: Required value", id="no containers"),
        pytest.param(
            {"containers": [{"name": "A", "image": "x"}]},
            'spec.containers[0].name: Invalid value: "A": a lowercase RFC 1123 label',
            id="container name",
        ),
        pytest.param(
            {"containers": [{"name": "a"}]},
            "spec.containers[0].image: Required value",
            id="no image",
        ),
        pytest.param(
            {"restartPolicy": "Sometimes"},
            'spec.restartPolicy: Unsupported value: "Sometimes"',
            id="restart policy",
        ),
        pytest.param(
            {"tolerations": [{"key": "a", "tolerationSeconds": 3}]},
            "effect must be 'NoExecute' when `tolerationSeconds` is set",
            id="toleration",
        ),
        pytest.param(
            {
                "topologySpreadConstraints": [
                    {"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
                ]
            },
            "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
            id="skew",
        ),
        pytest.param(
            {"schedulingGates": [{"name": "a"}, {"name": "a"}]},
            'spec.schedulingGates[1]: Duplicate value: "a"',
            id="gates",
        ),
        pytest.param(
            {
                "containers": [
                    {
                        "name": "a",
                        "image": "x",
                        "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
                    }
                ]
            },
            "must be less than or equal to cpu limit of 1",
            id="more requested than allowed",
        ),
        pytest.param(
            {"nodeSelector": {"a b": "c"}}, "spec.nodeSelector: Invalid value", id="selector"
        ),
    ],
)
def test_what_no_pod_may_be(change: Object, said: str) -> None:
    with pytest.raises(RequestRefused) as caught:
        fresh_store().create("pods", pod("a", **change), "default")
    assert (caught.value.code, caught.value.reason) == (422, "Invalid")
    assert caught.value.message.startswith('Pod "a" is invalid: ')
    assert said in caught.value.message


def test_an_amount_that_is_none_cannot_be_read() -> None:
    given = pod("a")
    given["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "much"}}
    with pytest.raises(RequestRefused, match="quantities must match") as caught:
        fresh_store().create("pods", given, "default")
    assert caught.value.code == 400


# Changes


@pytest.mark.parametrize(
    ("patch", "allowed"),
    [
        pytest.param({"containers": [{"name": "main", "image": "app:2"}]}, True, id="image"),
        pytest.param({"activeDeadlineSeconds": 5}, True, id="deadline"),
        pytest.param({"nodeName": "n1"}, False, id="node"),
        pytest.param({"priority": 7}, False, id="priority"),
        pytest.param(
            {"nodeSelector": {"a": "b"}}, False, id="node selector of a pod without gates"
        ),
    ],
)
def test_what_of_a_pod_may_be_changed(patch: Object, allowed: bool) -> None:
    async def work(speaker: Speaker) -> None:
        speaker.api.store.create("pods", pod("a"), "default")
        reply = await speaker.call("PATCH", f"{PODS}/a", {"spec": patch}, STRATEGIC)
        assert reply.status == (200 if allowed else 422), reply.body
        if not allowed:
            assert "pod updates may not change fields other than" in reply.message

    with_api(work)


def test_tolerations_are_added_and_never_taken_away() -> None:
    async def work(speaker: Speaker) -> None:
        speaker.api.store.create("pods", pod("a"), "default")
        current = (await speaker.get(f"{PODS}/a")).body
        current["spec"]["tolerations"].append({"key": "x", "operator": "Exists"})
        assert (await speaker.call("PUT", f"{PODS}/a", current)).status == 200
        current = (await speaker.get(f"{PODS}/a")).body
        current["spec"]["tolerations"] = []
        reply = await speaker.call("PUT", f"{PODS}/a", current)
        assert "existing toleration can not be modified" in reply.message

    with_api(work)


def test_gates_are_taken_away_and_a_gated_pod_may_get_narrower() -> None:
    async def work(speaker: Speaker) -> None:
        gated = pod("a", schedulingGates=[{"name": "wait"}], nodeSelector={"a": "b"})
        speaker.api.store.create("pods", gated, "default")

        async def change(**spec: Any) -> int:
            return (await speaker.call("PATCH", f"{PODS}/a", {"spec": spec}, MERGE)).status

        assert await change(nodeSelector={"c": "d"}) == 200
        assert await change(nodeSelector={"a": "other"}) == 422
        assert await change(schedulingGates=[{"name": "wait"}, {"name": "more"}]) == 422
        assert await change(schedulingGates=None) == 200
        assert await change(nodeSelector={"e": "f"}) == 422

    with_api(work)


# Parts


def test_a_pod_is_resized_by_way_of_its_subresource() -> None:
    async def work(speaker: Speaker) -> None:
        given = pod("a")
        given["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
        speaker.api.store.create("pods", given, "default")
        resources: Object = {"requests": {"cpu": "2"}}
        container: Object = {"name": "main", "resources": resources}
        patch = {"spec": {"containers": [container]}}
        assert (await speaker.call("PATCH", f"{PODS}/a", patch, STRATEGIC)).status == 422
        resized = await speaker.call("PATCH", f"{PODS}/a/resize", patch, STRATEGIC)
        assert resized.body["spec"]["containers"][0]["resources"] == resources
        assert resized.body["metadata"]["generation"] == 2
        both = {"cpu": "2", "memory": "1Gi"}
        container["resources"] = {"limits": both, "requests": both}
        refused = await speaker.call("PATCH", f"{PODS}/a/resize", patch, STRATEGIC)
        assert "Pod QOS Class may not change as a result of resizing" in refused.message

    with_api(work)


def test_ephemeral_containers_come_and_stay() -> None:
    async def work(speaker: Speaker) -> None:
        speaker.api.store.create("pods", pod("a"), "default")
        path = f"{PODS}/a/ephemeralcontainers"
        patch = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "tools:1"}]}}
        added = await speaker.call("PATCH", path, patch, STRATEGIC)
        assert [one["name"] for one in added.body["spec"]["ephemeralContainers"]] == ["debug"]
        removed = await speaker.call("PATCH", path, {"spec": {"ephemeralContainers": []}}, MERGE)
        assert removed.status == 422

    with_api(work)


# Binding


def test_a_binding_puts_a_pod_on_a_node() -> None:
    async def work(speaker: Speaker) -> None:
        made = speaker.api.store.create("pods", pod("a"), "default")
        binding = {
            "metadata": {
                "name": "a",
                "uid": made["metadata"]["uid"],
                "annotations": {"bayplan.io/schedulerLatency": "3ms"},
            },
            "target": {"kind": "Node", "name": "n1"},
        }
        reply = await speaker.post(f"{PODS}/a/binding", binding)
        assert (reply.status, reply.body["status"]) == (201, "Success")
        bound = (await speaker.get(f"{PODS}/a")).body
        assert bound["spec"]["nodeName"] == "n1"
        assert bound["metadata"]["annotations"] == {"bayplan.io/schedulerLatency": "3ms"}
        (condition,) = bound["status"]["conditions"]
        assert (condition["type"], condition["status"]) == ("PodScheduled", "True")
        assert bound["metadata"]["generation"] == 1

    with_api(work)


def test_a_binding_ends_a_nomination() -> None:
    async def work(speaker: Speaker) -> None:
        store = speaker.api.store
        store.create("pods", pod("a"), "default")
        store.mutate(
            "pods", "a", lambda obj: obj["status"].update(nominatedNodeName="n1"), "default"
        )
        await speaker.post(f"{PODS}/a/binding", {"target": {"name": "n2"}})
        assert "nominatedNodeName" not in store.get("pods", "a", "default")["status"]

    with_api(work)


@pytest.mark.parametrize(
    ("prepare", "binding", "status", "said"),
    [
        pytest.param(
            "bound",
            {"target": {"name": "n2"}},
            409,
            'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n1"',
            id="bound already",
        ),
        pytest.param(
            "deleted",
            {"target": {"name": "n2"}},
            409,
            "pod a is being deleted, cannot be assigned to a host",
            id="being deleted",
        ),
        pytest.param(
            "gated",
            {"target": {"name": "n2"}},
            409,
            "pod a has non-empty .spec.schedulingGates",
            id="gated",
        ),
        pytest.param(
            "",
            {"metadata": {"uid": "other"}, "target": {"name": "n2"}},
            409,
            "Precondition failed: UID in precondition: other, UID in object meta: ",
            id="another pod of the name",
        ),
        pytest.param("gone", {"target": {"name": "n2"}}, 404, 'pods "a" not found', id="gone"),
        pytest.param("", {"target": {}}, 500, "target.name: Required value", id="no node"),
        pytest.param(
            "",
            {"metadata": {"name": "b"}, "target": {"name": "n"}},
            400,
            "name in URL does not match name in Binding object",
            id="another name",
        ),
    ],
)
def test_bindings_that_are_refused(prepare: str, binding: Object, status: int, said: str) -> None:
    async def work(speaker: Speaker) -> None:
        store = speaker.api.store
        if prepare != "gone":
            gates = {"schedulingGates": [{"name": "wait"}]} if prepare == "gated" else {}
            given = pod("a", **gates)
            if prepare == "deleted":
                given["metadata"]["finalizers"] = ["example.com/hold"]
            store.create("pods", given, "default")
        if prepare == "bound":
            await speaker.post(f"{PODS}/a/binding", {"target": {"name": "n1"}})
        if prepare == "deleted":
            store.delete("pods", "a", "default")
        reply = await speaker.post(f"{PODS}/a/binding", binding)
        assert reply.status == status
        assert said in reply.message

    with_api(work)


def test_the_old_path_of_bindings() -> None:
    async def work(speaker: Speaker) -> None:
        speaker.api.store.create("pods", pod("a"), "default")
        path = "/api/v1/namespaces/default/bindings"
        reply = await speaker.post(path, {"metadata": {"name": "a"}, "target": {"name": "n1"}})
        assert reply.status == 201
        assert speaker.api.store.get("pods", "a", "default")["spec"]["nodeName"] == "n1"

    with_api(work)


# Eviction


def running(speaker: Speaker, name: str, *, ready: bool = True) -> None:
    store = speaker.api.store
    given = pod(name, nodeName="n1")
    given["metadata"]["labels"] = {"app": "web"}
    store.create("pods", given, "default")
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": str(ready)}]}
    store.mutate("pods", name, lambda obj: obj.update(status=status), "default")


def budget(speaker: Speaker, name: str = "pdb", **status: int) -> None:
    store = speaker.api.store
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    store.create(
        "poddisruptionbudgets.policy", {"metadata": {"name": name}, "spec": spec}, "default"
    )
    known = {"observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 1} | status
    store.mutate(
        "poddisruptionbudgets.policy", name, lambda obj: obj.update(status=known), "default"
    )


def test_an_eviction_deletes_and_says_why() -> None:
    async def work(speaker: Speaker) -> None:
        running(speaker, "a")
        assert (await speaker.post(f"{PODS}/a/eviction", {})).status == 201
        left = speaker.api.store.get("pods", "a", "default")
        assert "deletionTimestamp" in left["metadata"]
        condition = left["status"]["conditions"][-1]
        assert (condition["type"], condition["reason"]) == (
            "DisruptionTarget",
            "EvictionByEvictionAPI",
        )

    with_api(work)


def test_a_budget_with_room_is_used_up() -> None:
    async def work(speaker: Speaker) -> None:
        running(speaker, "a")
        running(speaker, "b")
        budget(speaker, disruptionsAllowed=1, currentHealthy=2)
        assert (await speaker.post(f"{PODS}/a/eviction", {})).status == 201
        left = speaker.api.store.get("poddisruptionbudgets.policy", "pdb", "default")["status"]
        assert left["disruptionsAllowed"] == 0
        assert list(left["disruptedPods"]) == ["a"]
        refused = await speaker.post(f"{PODS}/b/eviction", {})
        assert refused.status == 429
        assert (
            refused.message == "Cannot evict pod as it would violate the pod's disruption budget."
        )

    with_api(work)


def test_a_budget_without_room_says_what_it_needs() -> None:
    async def work(speaker: Speaker) -> None:
        running(speaker, "a")
        budget(speaker, disruptionsAllowed=0)
        refused = await speaker.post(f"{PODS}/a/eviction", {})
        assert (refused.status, refused.body["reason"]) == (429, "TooManyRequests")
        assert refused.body["details"]["causes"] == [
            {
                "reason": "DisruptionBudget",
                "message": "The disruption budget pdb needs 1 healthy pods and has 1 currently",
            }
        ]
        assert "deletionTimestamp" not in speaker.api.store.get("pods", "a", "default")["metadata"]

    with_api(work)


def test_a_budget_that_its_controller_has_not_seen_is_waited_for() -> None:
    async def work(speaker: Speaker) -> None:
        running(speaker, "a")
        budget(speaker, disruptionsAllowed=5, observedGeneration=0)
        refused = await speaker.post(f"{PODS}/a/eviction", {})
        assert (refused.status, refused.headers["Retry-After"]) == (429, "10")

    with_api(work)


def test_a_pending_pod_needs_no_budget() -> None:
    async def work(speaker: Speaker) -> None:
        given = pod("a")
        given["metadata"]["labels"] = {"app": "web"}
        speaker.api.store.create("pods", given, "default")
        budget(speaker, disruptionsAllowed=0)
        assert (await speaker.post(f"{PODS}/a/eviction", {})).status == 201

    with_api(work)


def test_several_budgets_for_one_pod_are_an_error() -> None:
    async def work(speaker: Speaker) -> None:
        running(speaker, "a")
        budget(speaker, "one", disruptionsAllowed=1)
        budget(speaker, "two", disruptionsAllowed=1)
        refused = await speaker.post(f"{PODS}/a/eviction", {})
        assert refused.status == 500
        assert "more than one PodDisruptionBudget" in refused.message

    with_api(work)
