"""Deployments, ReplicaSets, Jobs and StatefulSets: pods appear, are replaced and go."""

from __future__ import annotations

from typing import Any

from bayplan.embedded.deleting import DeleteOptions
from bayplan.embedded.objects import Object, copy_of
from tests.embedded.cluster.world import POD_SPEC, SELECTOR, TEMPLATE, World, lives


def status_of(world: World, resource: str, name: str) -> Object:
    found: Object = world.get(resource, name)["status"]
    return found


async def until_still(world: World, rounds: int = 12) -> None:
    """Bind whatever is pending until nothing changes any more."""
    for _ in range(rounds):
        world.bind_all()
        await world.settle(1)


def test_a_replica_set_has_its_pods() -> None:
    async def test(world: World) -> None:
        world.create(
            "replicasets.apps",
            "web",
            spec={"replicas": 3, "selector": SELECTOR, "template": TEMPLATE},
        )
        await until_still(world, 2)
        owner = world.get("replicasets.apps", "web")["metadata"]["uid"]
        pods = world.pods()
        assert len(pods) == 3
        assert all(pod["metadata"]["name"].startswith("web-") for pod in pods)
        assert {pod["metadata"]["ownerReferences"][0]["uid"] for pod in pods} == {owner}
        assert status_of(world, "replicasets.apps", "web") == {
            "replicas": 3,
            "fullyLabeledReplicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
            "observedGeneration": 1,
        }
        world.store.delete("pods", pods[0]["metadata"]["name"], "default")
        await until_still(world, 3)
        assert len(world.pods()) == 3

    lives(test)


def test_the_useless_go_first() -> None:
    async def test(world: World) -> None:
        spec = {"replicas": 3, "selector": SELECTOR, "template": TEMPLATE}
        world.create("replicasets.apps", "web", spec=spec)
        await world.settle()
        first, second, _ = (pod["metadata"]["name"] for pod in world.pods())
        world.bind(first)
        world.bind(second)
        await world.settle(1)
        world.scale("replicasets.apps", "web", replicas=2)
        await world.settle(1)
        assert sorted(world.phases()) == sorted([first, second])
        world.scale("replicasets.apps", "web", replicas=0)
        await world.settle(2)
        assert world.pods() == []
        assert status_of(world, "replicasets.apps", "web")["replicas"] == 0

    lives(test)


def test_many_replicas() -> None:
    async def test(world: World) -> None:
        spec = {"replicas": 175, "selector": SELECTOR, "template": TEMPLATE}
        world.create("replicasets.apps", "web", spec=spec)
        await world.settle(1)
        assert len(world.pods()) == 175
        world.scale("replicasets.apps", "web", replicas=20)
        await world.settle(1)
        assert len(world.pods()) == 20

    lives(test)


def deploy(world: World, **spec: Any) -> None:
    base: Object = {"replicas": 4, "selector": SELECTOR, "template": TEMPLATE}
    world.create("deployments.apps", "web", spec=base | spec)


def new_template() -> Object:
    changed: Object = copy_of(TEMPLATE)
    changed["spec"]["containers"][0]["image"] = "app:2"
    return changed


def test_a_deployment_comes_up() -> None:
    async def test(world: World) -> None:
        deploy(world)
        await until_still(world, 3)
        status = status_of(world, "deployments.apps", "web")
        assert status["availableReplicas"] == status["updatedReplicas"] == status["replicas"] == 4
        assert status["observedGeneration"] == 1
        conditions = {one["type"]: one["reason"] for one in status["conditions"]}
        assert conditions == {
            "Available": "MinimumReplicasAvailable",
            "Progressing": "NewReplicaSetAvailable",
        }
        labels = world.pods()[0]["metadata"]["labels"]
        assert set(labels) == {"app", "pod-template-hash"}

    lives(test)


def revision_of(world: World) -> str:
    notes = world.get("deployments.apps", "web")["metadata"]["annotations"]
    return str(notes["deployment.kubernetes.io/revision"])


def test_a_rolling_update_keeps_enough_pods() -> None:
    async def test(world: World) -> None:
        deploy(world)
        await until_still(world, 3)
        least, most = 4, 4
        world.scale("deployments.apps", "web", template=new_template())
        for _ in range(60):
            world.bind_all()
            await world.settle(0.1)
            pods = [pod for pod in world.pods() if "deletionTimestamp" not in pod["metadata"]]
            least = min(least, sum(pod["status"]["phase"] == "Running" for pod in pods))
            most = max(most, len(pods))
        images = [pod["spec"]["containers"][0]["image"] for pod in world.pods()]
        assert images == ["app:2"] * 4
        assert (least, most) == (3, 5)
        sets = world.store.list("replicasets.apps", "default")
        assert sorted(one["spec"]["replicas"] for one in sets) == [0, 4]
        assert revision_of(world) == "2"
        world.scale("deployments.apps", "web", template=TEMPLATE)
        await until_still(world)
        assert revision_of(world) == "3"
        sets = world.store.list("replicasets.apps", "default")
        assert sorted(one["spec"]["replicas"] for one in sets) == [0, 4]

    lives(test)


def test_recreate_waits_for_the_old_pods() -> None:
    async def test(world: World) -> None:
        deploy(world, strategy={"type": "Recreate"})
        await until_still(world, 3)
        world.scale("deployments.apps", "web", template=new_template())
        seen = set()
        for _ in range(60):
            world.bind_all()
            await world.settle(0.1)
            seen.add(frozenset(pod["spec"]["containers"][0]["image"] for pod in world.pods()))
        assert frozenset({"app", "app:2"}) not in seen
        assert [pod["spec"]["containers"][0]["image"] for pod in world.pods()] == ["app:2"] * 4

    lives(test)


def test_everything_goes_with_the_deployment() -> None:
    async def test(world: World) -> None:
        deploy(world)
        await until_still(world, 3)
        world.store.delete("deployments.apps", "web", "default")
        await world.settle(3)
        assert world.pods() == []
        assert world.store.list("replicasets.apps", "default") == []

    lives(test)


def test_a_foreground_deletion_ends_last() -> None:
    async def test(world: World) -> None:
        deploy(world)
        await until_still(world, 3)
        world.store.delete(
            "deployments.apps", "web", "default", DeleteOptions(propagation="Foreground")
        )
        await world.settle(0.3)
        assert not world.gone("deployments.apps", "web")
        assert len(world.pods()) == 4
        await world.settle(3)
        assert world.pods() == []
        assert world.gone("deployments.apps", "web")

    lives(test)


def test_orphans_stay() -> None:
    async def test(world: World) -> None:
        deploy(world)
        await until_still(world, 3)
        world.store.delete(
            "deployments.apps", "web", "default", DeleteOptions(propagation="Orphan")
        )
        await world.settle(3)
        assert world.gone("deployments.apps", "web")
        (left,) = world.store.list("replicasets.apps", "default")
        assert "ownerReferences" not in left["metadata"]
        assert len(world.pods()) == 4

    lives(test)


def job(world: World, **spec: Any) -> None:
    template = {"spec": POD_SPEC | {"restartPolicy": "Never"}}
    world.create("jobs.batch", "work", spec={"template": template} | spec)


def test_a_job_completes() -> None:
    async def test(world: World) -> None:
        job(world, completions=5, parallelism=2)
        most = 0
        for _ in range(40):
            world.bind_all()
            await world.settle(1)
            most = max(most, sum(phase == "Running" for phase in world.phases().values()))
        status = status_of(world, "jobs.batch", "work")
        assert most == 2
        assert status["succeeded"] == 5
        assert "active" not in status or status["active"] == 0
        assert [one["type"] for one in status["conditions"]] == ["Complete"]
        assert status["completionTime"] > status["startTime"]
        assert list(world.phases().values()) == ["Succeeded"] * 5
        world.store.delete("jobs.batch", "work", "default", DeleteOptions(propagation="Background"))
        await world.settle(1)
        assert world.pods() == []

    lives(test)


def test_an_indexed_job_numbers_its_pods() -> None:
    async def test(world: World) -> None:
        job(world, completions=3, parallelism=3, completionMode="Indexed")
        await world.settle()
        found = {
            pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]: pod["spec"][
                "hostname"
            ]
            for pod in world.pods()
        }
        assert found == {"0": "work-0", "1": "work-1", "2": "work-2"}

    lives(test)


def test_a_job_gives_up() -> None:
    async def test(world: World) -> None:
        job(world, backoffLimit=1)
        for _ in range(3):
            await world.settle()
            for pod in world.pods():
                if pod["status"]["phase"] == "Pending":
                    world.store.mutate(
                        "pods",
                        pod["metadata"]["name"],
                        lambda pod: pod["status"].update(phase="Failed"),
                        "default",
                    )
        status = status_of(world, "jobs.batch", "work")
        assert [(one["type"], one["reason"]) for one in status["conditions"]] == [
            ("Failed", "BackoffLimitExceeded")
        ]
        assert status["failed"] == 2

    lives(test)


def test_a_suspended_job_has_no_pods() -> None:
    async def test(world: World) -> None:
        job(world, parallelism=2, completions=2, suspend=True)
        await world.settle()
        assert world.pods() == []
        world.scale("jobs.batch", "work", suspend=False)
        await world.settle()
        assert len(world.pods()) == 2
        world.scale("jobs.batch", "work", suspend=True)
        await world.settle()
        assert world.pods() == []

    lives(test)


def test_a_stateful_set_goes_step_by_step() -> None:
    async def test(world: World) -> None:
        claim = {
            "metadata": {"name": "data"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
        world.create(
            "statefulsets.apps",
            "db",
            spec={
                "replicas": 2,
                "serviceName": "db",
                "selector": SELECTOR,
                "template": TEMPLATE,
                "volumeClaimTemplates": [claim],
            },
        )
        await world.settle()
        assert world.phases() == {"db-0": "Pending"}
        await until_still(world, 4)
        assert world.phases() == {"db-0": "Running", "db-1": "Running"}
        claims = world.store.list("persistentvolumeclaims", "default")
        assert [one["metadata"]["name"] for one in claims] == ["data-db-0", "data-db-1"]
        world.scale("statefulsets.apps", "db", template=new_template())
        await until_still(world, 8)
        assert [pod["spec"]["containers"][0]["image"] for pod in world.pods()] == ["app:2"] * 2
        world.scale("statefulsets.apps", "db", replicas=1)
        await world.settle(2)
        assert world.phases() == {"db-0": "Running"}
        status = status_of(world, "statefulsets.apps", "db")
        assert (status["replicas"], status["readyReplicas"], status["updatedReplicas"]) == (1, 1, 1)

    lives(test)


def test_a_quota_stops_a_workload_for_a_while() -> None:
    async def test(world: World) -> None:
        world.create("resourcequotas", "few", spec={"hard": {"pods": "2"}})
        spec = {"replicas": 4, "selector": SELECTOR, "template": TEMPLATE}
        world.create("replicasets.apps", "web", spec=spec)
        await world.settle(5)
        assert len(world.pods()) == 2
        world.store.delete("resourcequotas", "few", "default")
        await world.settle(60)
        assert len(world.pods()) == 4

    lives(test)
