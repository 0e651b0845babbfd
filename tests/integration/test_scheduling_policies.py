"""A whole run in which pods go by scheduling policies: from a ConfigMap, from objects of the kind, by label and by namespace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from bayplan.testing import PodBuilder, make_node
from tests.integration.rig import LOW, Obj, Rig, make_pod, on_rig

ROOT = Path(__file__).parents[2]
SEED = ROOT / "tests/seeds/data/004-line-1112.yaml"
CRD = ROOT / "deploy/crds/policy.bayplan.io_schedulingpolicies.yaml"
CONFIG: Obj = {
    "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "SchedulingPolicy"}]}}}]
}
KEY = "bayplan.io/policy"


def seed() -> Obj:
    found: Obj = yaml.safe_load(SEED.read_text(encoding="utf-8"))
    return found


def policy(name: str, **spec: Any) -> Obj:
    return {
        "apiVersion": "policy.bayplan.io/v1alpha1",
        "kind": "SchedulingPolicy",
        "metadata": {"name": name},
        "spec": spec,
    }


def needs(label: str, value: str) -> Obj:
    """Node affinity that a policy may have."""
    terms = [{"matchExpressions": [{"key": label, "operator": "In", "values": [value]}]}]
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}


def named(name: str, policy_name: str) -> PodBuilder:
    return make_pod(name).requests(cpu="1").label(KEY, policy_name)


def message(rig: Rig, pod: str) -> str:
    return str(rig.condition(pod).get("message", ""))


def test_the_config_map_of_the_seeds(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.api.store.create("configmaps", seed(), "kube-system")
        rig.api.store.create(
            "priorityclasses.scheduling.k8s.io",
            {"metadata": {"name": "batch-workload"}, "value": -10},
        )
        rig.add(
            make_node("plain"),
            make_node("fast").label("node-type", "compute-optimized"),
            make_node("gpu")
            .label("accelerator", "nvidia-tesla-a100")
            .taint("gpu", "", "NoSchedule"),
            make_node("spot").taint("spot-instance", "true", "NoSchedule").label("spot", "yes"),
        )
        async with rig.scheduler(config=CONFIG):
            rig.add(named("a", "default-policy"))
            await rig.until_bound("a")
            assert rig.node_of("a") == "fast"
            rig.add(named("b", "gpu-policy"))
            await rig.until(lambda: message(rig, "b"))
            assert "2 node(s) didn't match Pod's node affinity/selector" in message(rig, "b")
            assert "2 node(s) had untolerated taint(s)" in message(rig, "b")
            rig.add(named("c", "batch-policy").node_selector({"spot": "yes"}))
            await rig.until_bound("c")
            rig.add(make_pod("d").node_selector({"spot": "yes"}))
            await rig.until(lambda: "untolerated taint" in message(rig, "d"))

    on_rig(scenario, tmp_path)


def test_pods_wait_for_a_policy_that_is_missing_or_wrong_and_say_why(tmp_path: Path) -> None:
    definition: Obj = yaml.safe_load(CRD.read_text(encoding="utf-8"))

    async def scenario(rig: Rig) -> None:
        store, kind = rig.api.store, "schedulingpolicies.policy.bayplan.io"
        store.create("customresourcedefinitions.apiextensions.k8s.io", definition)
        store.create(kind, policy("bad", resourceWeights={"cpu": 1000}))
        rig.add(make_node("a").label("disk", "ssd"), make_node("b"))
        rig.add(named("missing", "later"), named("wrong", "bad"))
        async with rig.scheduler(config=CONFIG):
            await rig.until(lambda: message(rig, "missing") and message(rig, "wrong"))
            assert 'scheduling policy "later" does not exist' in message(rig, "missing")
            wrong = "spec.resourceWeights.cpu: Invalid value: 1000: must be from 1 to 100"
            assert f'scheduling policy "bad" cannot be used: {wrong}' in message(rig, "wrong")
            await rig.until(lambda: "status" in store.get(kind, "bad"))
            (condition,) = store.get(kind, "bad")["status"]["conditions"]
            assert (condition["type"], condition["status"]) == ("Accepted", "False")
            assert condition["message"] == wrong
            await rig.until(lambda: rig.notes("InvalidSchedulingPolicy"))
            assert rig.notes("InvalidSchedulingPolicy") == [wrong]
            # Both are tried again as soon as that is mended, without waiting for anything else.
            store.create(kind, policy("later", nodeAffinity=needs("disk", "ssd")))
            store.mutate(kind, "bad", lambda obj: obj.update(spec={"resourceWeights": {"cpu": 1}}))
            await rig.until_bound("missing", "wrong", within_s=5)
            assert rig.node_of("missing") == "a"
            await rig.until(
                lambda: store.get(kind, "bad")["status"]["conditions"][0]["status"] == "True"
            )

    on_rig(scenario, tmp_path)


def test_a_change_reaches_pods_that_wait(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        store = rig.api.store
        held: Obj = {"metadata": {"name": "scheduling-policies", "namespace": "kube-system"}}

        def put(value: str) -> None:
            text = yaml.safe_dump(policy("p", nodeAffinity=needs("disk", value)))
            if "data" in held:
                store.mutate(
                    "configmaps",
                    "scheduling-policies",
                    lambda obj: obj.update(data={"p.yaml": text}),
                    "kube-system",
                )
            else:
                held["data"] = {"p.yaml": text}
                store.create("configmaps", held, "kube-system")

        put("nvme")
        rig.add(make_node("a").label("disk", "ssd"), named("web", "p"))
        async with rig.scheduler(config=CONFIG):
            await rig.until(lambda: "node affinity" in message(rig, "web"))
            put("ssd")
            await rig.until_bound("web", within_s=5)

    on_rig(scenario, tmp_path)


def test_a_namespace_names_the_policy_of_pods_that_name_none(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.api.store.create("configmaps", seed(), "kube-system")
        rig.add(make_node("spot").taint("spot-instance", "true", "NoSchedule"))
        rig.add(make_pod("web"), named("own", "default-policy"))
        async with rig.scheduler(config=CONFIG):
            await rig.until(lambda: message(rig, "web") and message(rig, "own"))
            rig.change(
                "namespaces",
                "default",
                lambda obj: obj["metadata"].update(annotations={KEY: "batch-policy"}),
            )
            await rig.until(lambda: "PriorityClass" in message(rig, "web"))
            rig.api.store.create(
                "priorityclasses.scheduling.k8s.io",
                {"metadata": {"name": "batch-workload"}, "value": 5},
            )
            await rig.until_bound("web", within_s=5)
            assert "untolerated taint" in message(rig, "own")

    on_rig(scenario, tmp_path)


def test_a_profile_that_loses_the_plugin_goes_by_policies_no_more(tmp_path: Path) -> None:
    def change(*names: str) -> None:
        path = tmp_path / "config.yaml"
        kube, own = yaml.safe_load_all(path.read_text(encoding="utf-8"))
        enabled = [{"name": "SchedulingPolicy"}]
        kube["profiles"] = [
            {
                "schedulerName": name,
                "plugins": {"multiPoint": {"enabled": enabled if name in names else []}},
            }
            for name in ("default-scheduler", "other")
        ]
        path.write_text(yaml.safe_dump_all([kube, own]), encoding="utf-8")

    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"), named("web", "missing"))
        async with rig.scheduler(config=CONFIG) as process:
            await rig.until(lambda: "does not exist" in message(rig, "web"))
            for number, names in enumerate((("default-scheduler", "other"), ("other",)), 1):
                change(*names)
                await rig.until(lambda n=number: len(process.reloader.reports) >= n)  # type: ignore[misc]
                assert process.reloader.reports[-1].outcome == "applied"
                if number == 1:
                    await rig.pass_s(20)
                    assert rig.node_of("web") == ""
            rig.add(make_pod("another"))  # whatever comes next has the pods looked at
            await rig.until_bound("web")

    on_rig(scenario, tmp_path)


def test_without_the_plugin_nobody_looks_at_policies(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        asked = [rig.count("list", "configmaps"), rig.count("list", "priorityclasses")]
        rig.add(make_node("a"), named("web", "nobody-knows"))
        async with rig.scheduler():
            await rig.until_bound("web")
        assert [fault.met for fault in asked] == [0, 0]

    on_rig(scenario, tmp_path)


def test_a_class_orders_the_queue_and_gives_no_right_to_evict(tmp_path: Path) -> None:
    text = yaml.safe_dump(policy("first", priorityClass="urgent"))
    held = {"metadata": {"name": "scheduling-policies"}, "data": {"p.yaml": text}}

    async def scenario(rig: Rig) -> None:
        rig.api.store.create("configmaps", held, "kube-system")
        rig.api.store.create(
            "priorityclasses.scheduling.k8s.io", {"metadata": {"name": "urgent"}, "value": 1000}
        )
        rig.add(make_pod("early").requests(cpu="2"), named("late", "first").requests(cpu="2"))
        rig.add(make_node("a").capacity({"cpu": "2"}))
        async with rig.scheduler(config=CONFIG):
            await rig.until_bound("late")
            rig.add(make_pod("third", LOW).requests(cpu="0"))
            await rig.pass_s(15)
            assert rig.node_of("early") == ""
            assert rig.leaving() == []

    on_rig(scenario, tmp_path)
