"""Quotas, tolerations and fair queues on a whole scheduler: definitions that come late, gangs, quotas that change, lanes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bayplan.embedded.definitions import POD_GROUPS, install
from bayplan.embedded.deleting import DeleteOptions
from bayplan.testing import PodBuilder, make_node
from tests.integration.rig import HIGH, LOW, Rig, make_pod, on_rig

QUOTAS = "elasticquotas.scheduling.x-k8s.io"
GROUP_LABEL = "scheduling.x-k8s.io/pod-group"


def instead_of(point: str, plugin: str) -> dict[str, Any]:
    return {point: {"enabled": [{"name": plugin}], "disabled": [{"name": "*"}]}}


CAPACITY = {
    "profiles": [
        {
            "plugins": {
                "multiPoint": {"enabled": [{"name": "CapacityScheduling"}]},
                **instead_of("postFilter", "CapacityScheduling"),
            }
        }
    ]
}


def quota(rig: Rig, least: int, most: int, namespace: str = "default") -> None:
    spec = {"min": {"cpu": least}, "max": {"cpu": most}}
    meta = {"name": "quota", "namespace": namespace}
    rig.api.store.create(QUOTAS, {"metadata": meta, "spec": spec})


def set_most(rig: Rig, most: int) -> None:
    rig.api.store.mutate(
        QUOTAS, "quota", lambda obj: obj["spec"]["max"].update(cpu=most), "default"
    )


def workers(prefix: str, count: int, **labels: str) -> list[PodBuilder]:
    return [make_pod(f"{prefix}{i}").requests(cpu="1").labels(labels) for i in range(count)]


def bound(rig: Rig) -> list[str]:
    pods = rig.api.store.list("pods", "default")
    return sorted(pod["metadata"]["name"] for pod in pods if pod["spec"].get("nodeName"))


def used(rig: Rig) -> Any:
    return rig.api.store.get(QUOTAS, "quota", "default").get("status", {}).get("used")


def test_quotas_are_found_when_their_definition_comes_and_followed_as_they_change(
    tmp_path: Path,
) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a").capacity(cpu="32", pods="110"))
        async with rig.scheduler(config=CAPACITY):
            rig.add(*workers("before", 3))
            await rig.until_bound("before0", "before1", "before2")
            install(rig.api.store)
            quota(rig, 8, 4)
            await rig.until(lambda: used(rig) == {"cpu": "3"}, within_s=95)
            rig.add(*workers("after", 3))
            await rig.until(lambda: len(bound(rig)) == 4)
            await rig.pass_s(400)
            assert len(bound(rig)) == 4
            waiting = next(f"after{i}" for i in range(3) if f"after{i}" not in bound(rig))
            assert (
                "quota of namespace default: cpu 4 of max 4 used"
                in rig.condition(waiting)["message"]
            )
            # One goes, another comes at once; and a quota that grows lets the last one in.
            rig.delete("pods", "before0")
            await rig.until(lambda: len(bound(rig)) == 4, within_s=15)
            set_most(rig, 5)
            await rig.until(lambda: len(bound(rig)) == 5, within_s=15)
            await rig.until(lambda: used(rig) == {"cpu": "5"})
            # A quota that is gone limits nobody.
            rig.api.store.delete(QUOTAS, "quota", "default", DeleteOptions(grace_s=0))
            rig.add(*workers("free", 4))
            await rig.until(lambda: len(bound(rig)) == 9, within_s=15)

    on_rig(scenario, tmp_path)


def test_a_gang_does_not_go_over_the_quota_in_part(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        install(rig.api.store)
        rig.add(make_node("a").capacity(cpu="32", pods="110"))
        quota(rig, 8, 3)
        spec = {"minMember": 4}
        meta = {"name": "train", "namespace": "default"}
        rig.api.store.create(POD_GROUPS, {"metadata": meta, "spec": spec})
        async with rig.scheduler(config=CAPACITY) as process:
            rig.add(*workers("w", 4, **{GROUP_LABEL: "train"}))
            await rig.until(lambda: rig.condition("w3").get("message"))
            await rig.pass_s(100)
            assert bound(rig) == []
            assert "cpu 3 of max 3 used" in rig.condition("w0")["message"]
            assert dict(process.scheduler.board.cluster.quotas.used("default")) == {}
            set_most(rig, 4)
            await rig.until(lambda: len(bound(rig)) == 4)

    on_rig(scenario, tmp_path)


def test_a_pod_is_evicted_once_its_toleration_is_over(tmp_path: Path) -> None:
    prefix = "preemption-toleration.scheduling.x-k8s.io"
    written = {
        f"{prefix}/minimum-preemptable-priority": "1000",
        f"{prefix}/toleration-seconds": "60",
    }

    async def scenario(rig: Rig) -> None:
        shelf = "priorityclasses.scheduling.k8s.io"
        rig.api.store.mutate(
            shelf, LOW, lambda obj: obj["metadata"].update(annotations=written), ""
        )
        rig.add(make_node("a").capacity(cpu="2", pods="110"))
        config = {"profiles": [{"plugins": instead_of("postFilter", "PreemptionToleration")}]}
        async with rig.scheduler(config=config):
            rig.add(make_pod("low", LOW).requests(cpu="2"))
            await rig.until_bound("low")
            started = "2026-01-01T00:00:00Z"
            rig.change("pods", "low", lambda pod: pod["status"].update(startTime=started))
            began = rig.clock.now()
            rig.add(make_pod("high", HIGH).requests(cpu="2"))
            await rig.until(lambda: rig.failures("high"))
            assert rig.leaving() == []
            # Nothing happens that would wake it: it is tried again after five minutes.
            await rig.until(rig.leaving, within_s=400)
            assert rig.clock.now() - began > 60
            rig.delete("pods", "low")
            await rig.until_bound("high")

    on_rig(scenario, tmp_path)


def test_of_two_queues_each_gets_its_part_of_what_there_is(tmp_path: Path) -> None:
    args = {"queues": [{"name": "big", "weight": 3}, {"name": "small"}]}
    profile = {
        "plugins": instead_of("queueSort", "FairQueues"),
        "pluginConfig": [{"name": "FairQueues", "args": args}],
    }

    async def scenario(rig: Rig) -> None:
        label = "bayplan.io/queue"
        rig.add(*workers("s", 30, **{label: "small"}), *workers("b", 30, **{label: "big"}))
        async with rig.scheduler(config={"profiles": [profile]}):
            # Everybody has been tried and waits; now there is room for some.
            await rig.until(lambda: rig.condition("b29") and rig.condition("s29"))
            await rig.pass_s(30)
            rig.add(make_node("a").capacity(cpu="20", pods="110"))
            await rig.until(lambda: len(bound(rig)) == 20)
            assert sum(name.startswith("b") for name in bound(rig)) == 15

    on_rig(scenario, tmp_path)


def test_a_gang_takes_back_what_was_borrowed_all_of_it_or_nothing(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        store = rig.api.store
        install(store)
        store.create("namespaces", {"metadata": {"name": "other"}})
        rig.add(make_node("n1").capacity(cpu="4", pods="110"))
        rig.add(make_node("n2").capacity(cpu="4", pods="110"))
        quota(rig, 4, 6)
        quota(rig, 4, 8, "other")
        async with rig.scheduler(config=CAPACITY) as process:
            for i in range(8):
                pod = make_pod(f"o{i}").requests(cpu="1").manifest
                pod["metadata"]["namespace"] = "other"
                store.create("pods", pod)
            await rig.until(lambda: len(placed(rig, "other")) == 8)
            for name, least in (("small", 4), ("large", 5)):
                meta = {"name": name, "namespace": "default"}
                store.create(POD_GROUPS, {"metadata": meta, "spec": {"minMember": least}})
            # More than the namespace is sure of: nobody goes for it.
            rig.add(*workers("large", 5, **{GROUP_LABEL: "large"}))
            await rig.until(lambda: rig.condition("large4").get("message"))
            await rig.pass_s(60)
            assert leaving(rig, "other") == []
            rig.add(*workers("small", 4, **{GROUP_LABEL: "small"}))
            await rig.until(lambda: len(leaving(rig, "other")) == 4)
            await rig.pass_s(30)
            assert placed(rig, "default") == []
            for name in leaving(rig, "other"):
                store.delete("pods", name, "other", DeleteOptions(grace_s=0))
            await rig.until(lambda: len(placed(rig, "default")) == 4)
            assert {name.rstrip("0123456789") for name in placed(rig, "default")} == {"small"}
            assert len(placed(rig, "other")) == 4
            quotas = process.scheduler.board.cluster.quotas
            assert quotas.total_used["cpu"] == 8000

    on_rig(scenario, tmp_path)


def placed(rig: Rig, namespace: str) -> list[str]:
    pods = rig.api.store.list("pods", namespace)
    return [pod["metadata"]["name"] for pod in pods if pod["spec"].get("nodeName")]


def leaving(rig: Rig, namespace: str) -> list[str]:
    pods = rig.api.store.list("pods", namespace)
    return [p["metadata"]["name"] for p in pods if p["metadata"].get("deletionTimestamp")]
