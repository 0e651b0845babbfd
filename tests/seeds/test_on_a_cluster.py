"""The documents' manifests on a cluster: what applies is scheduled as they say, what no API server takes says why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from bayplan.embedded.controllers.deployments import Deployments
from bayplan.embedded.controllers.pod_notes import PodNotes
from bayplan.embedded.controllers.replica_sets import ReplicaSets
from bayplan.embedded.kinds import Kind
from bayplan.errors import RequestRefused
from bayplan.framework.config import load_config
from bayplan.plugins import default_registry
from bayplan.testing import PodBuilder, make_node
from tests.integration.rig import Obj, Rig, make_pod, on_rig

DATA = Path(__file__).parent / "data"
ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "plugins"
POD_GROUPS = ROOT / "deploy" / "crds" / "podgroups.scheduling.x-k8s.io.yaml"


def documents(name: str) -> list[Obj]:
    text = (DATA / f"{name}.yaml").read_text(encoding="utf-8")
    return [each for each in yaml.safe_load_all(text) if each]


def configured(name: str) -> Obj:
    """The profiles of a file, with the example plugins at hand."""
    (document,) = documents(name)
    given = {key: document[key] for key in ("apiVersion", "kind", "profiles")}
    return {**given, "own": {"pluginDirs": [str(EXAMPLES)]}}


def kind_of(rig: Rig, obj: Obj) -> Kind | None:
    return rig.api.store.kinds.of(str(obj["apiVersion"]), str(obj["kind"]))


def apply(rig: Rig, obj: Obj) -> None:
    kind = kind_of(rig, obj)
    assert kind is not None
    namespace = obj["metadata"].get("namespace", "default") if kind.namespaced else ""
    if namespace and not rig.api.store.find("namespaces", namespace):
        rig.api.store.create("namespaces", {"metadata": {"name": namespace}})
    rig.api.store.create(kind.shelf, obj, namespace)


def with_container(pod: Obj) -> Obj:
    """What a document leaves out, and every API server asks for."""
    return {**pod, "spec": {**pod["spec"], "containers": [{"name": "main", "image": "nginx"}]}}


def bounded(name: str, cpu: str) -> PodBuilder:
    """A pod whose limits are what it asks for."""
    made = make_pod(name).requests(cpu=cpu, memory="256Mi")
    for container in made.manifest["spec"]["containers"]:
        container["resources"]["limits"] = dict(container["resources"]["requests"])
    return made


PLACED = [
    pytest.param("000-line-0150", "000-line-0204", "custom-scheduled-pod", id="a custom scheduler"),
    pytest.param("002-line-0130", "002-line-0150", "my-workload", id="by measured load"),
    pytest.param("003-line-0181", "003-line-0157", "example-pod", id="random scores and PostBind"),
    pytest.param("001-line-0181", None, "nginx", id="a priority class"),
]


@pytest.mark.parametrize(("manifest", "configuration", "pod"), PLACED)
def test_a_pod_is_placed_by_its_scheduler(
    manifest: str, configuration: str | None, pod: str, tmp_path: Path
) -> None:
    table = tmp_path / "usage.csv"
    table.write_text("node,cpu\nbusy,0.95\nidle,0.1\n")
    config = configured(configuration) if configuration is not None else {}
    if configuration == "002-line-0150":
        provider = {"name": "usage", "type": "csv", "file": str(table)}
        config["own"]["providers"] = [provider]

    async def scenario(rig: Rig) -> None:
        rig.add(make_node("busy"), make_node("idle"))
        for obj in documents(manifest):
            if "..." in str(obj.get("spec", "")):
                # The document leaves name and image of the container to the reader.
                with pytest.raises(RequestRefused, match=r"spec\.containers"):
                    apply(rig, obj)
                obj = with_container(obj)
            apply(rig, obj)
        async with rig.scheduler(config=config):
            await rig.until_bound(pod)
        if configuration == "002-line-0150":
            assert rig.node_of(pod) == "idle"
        if manifest == "001-line-0181":
            assert rig.pod(pod)["spec"]["priority"] == 1_000_000

    on_rig(scenario, tmp_path)


def test_the_schedulers_own_pod_is_placed_like_any_other(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        (pod,) = documents("001-line-0089")
        apply(rig, pod)
        store = rig.api.store
        async with rig.scheduler():
            await rig.until(
                lambda: store.get("pods", "custom-scheduler", "kube-system")["spec"].get("nodeName")
            )

    on_rig(scenario, tmp_path)


def test_affinity_to_a_zone_and_to_pods(tmp_path: Path) -> None:
    (pod,) = documents("001-line-0113")

    async def scenario(rig: Rig) -> None:
        with pytest.raises(RequestRefused, match=r"spec\.containers: Required value"):
            apply(rig, pod)
        for name, zone in (("one", "e2e-az1"), ("two", "e2e-az2"), ("three", "e2e-az3")):
            rig.add(make_node(name).zone(zone).label("kubernetes.io/e2e-az-name", zone))
        apply(rig, with_container(pod))
        async with rig.scheduler():
            await rig.until(lambda: rig.condition("nginx"))
            said = rig.condition("nginx")["message"]
            assert "2 node(s) didn't match pod affinity rules" in said
            assert "1 node(s) didn't match Pod's node affinity/selector" in said
            rig.add(make_pod("guard").label("security", "S1").on("two"))
            await rig.until_bound("nginx")
            assert rig.node_of("nginx") == "two"

    on_rig(scenario, tmp_path)


def test_a_taint_and_who_tolerates_it(tmp_path: Path) -> None:
    node, pod = documents("001-line-0141")

    async def scenario(rig: Rig) -> None:
        with pytest.raises(RequestRefused, match=r"spec\.containers: Required value"):
            apply(rig, pod)
        room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        apply(rig, {**node, "status": {"allocatable": room, "capacity": room}})
        apply(rig, with_container(pod))
        rig.add(make_pod("other"))
        async with rig.scheduler():
            await rig.until_bound("nginx")
            await rig.until(lambda: rig.condition("other"))
            assert "1 node(s) had untolerated taint(s)" in rig.condition("other")["message"]

    on_rig(scenario, tmp_path)


def test_a_quota_bounds_what_is_created(tmp_path: Path) -> None:
    (quota,) = documents("001-line-0167")

    async def scenario(rig: Rig) -> None:
        apply(rig, quota)
        rig.add(make_node("a"), bounded("fits", "500m"))
        with pytest.raises(RequestRefused, match="exceeded quota: compute-resources"):
            rig.add(bounded("more", "600m"))
        async with rig.scheduler():
            await rig.until_bound("fits")

    on_rig(scenario, tmp_path)


def test_a_class_whose_pods_make_room(tmp_path: Path) -> None:
    (priority_class,) = documents("001-line-0204")

    async def scenario(rig: Rig) -> None:
        apply(rig, priority_class)
        rig.add(make_node("a").capacity({"cpu": "1"}), make_pod("low").requests(cpu="1"))
        async with rig.scheduler():
            await rig.until_bound("low")
            rig.add(make_pod("high", "preemptive").requests(cpu="1"))
            await rig.until(lambda: rig.leaving() == ["low"])
            rig.delete("pods", "low")
            await rig.until_bound("high")

    on_rig(scenario, tmp_path)


def test_three_or_none_of_a_group(tmp_path: Path) -> None:
    group, pod = documents("001-line-0215")
    definition: Obj = yaml.safe_load(POD_GROUPS.read_text(encoding="utf-8"))

    async def scenario(rig: Rig) -> None:
        # No Kubernetes has served the kind under this group; coscheduling's own definition does.
        assert kind_of(rig, group) is None
        rig.api.store.create("customresourcedefinitions.apiextensions.k8s.io", definition)
        apply(rig, {**group, "apiVersion": "scheduling.x-k8s.io/v1alpha1"})
        rig.add(make_node("a"))
        apply(rig, pod)
        async with rig.scheduler():
            await rig.pass_s(10)
            assert rig.node_of("nginx-1") == ""
            for number in (2, 3):
                apply(rig, {**pod, "metadata": {**pod["metadata"], "name": f"nginx-{number}"}})
            await rig.until_bound("nginx-1", "nginx-2", "nginx-3")

    on_rig(scenario, tmp_path)


def test_gpu_work_on_its_scheduler_and_a_deployment_on_the_default_one(tmp_path: Path) -> None:
    deployment, config_map = documents("004-line-0571")
    gpu_workload, web_app = documents("004-line-0531")
    file = tmp_path / "gpu-scheduler-config.yaml"
    file.write_text(config_map["data"]["gpu-scheduler-config.yaml"])
    (loaded,) = load_config(file, default_registry()).profiles
    assert loaded.plugins["filter"][-1].name == "GPUPriorityPlugin"
    assert loaded.args["GPUPriorityPlugin"].gpu_weight == 100  # type: ignore[attr-defined]
    given: Any = yaml.safe_load(file.read_text())
    profiles = [*given["profiles"], {"schedulerName": "default-scheduler"}]
    config = {"apiVersion": given["apiVersion"], "profiles": profiles}

    async def scenario(rig: Rig) -> None:
        store = rig.api.store
        notes = PodNotes(store)
        parts = (notes, Deployments(store, notes), ReplicaSets(store, notes))
        for part in parts:
            part.start()
        rig.add(make_node("plain"), make_node("gpu").capacity({"nvidia.com/gpu": "2"}))
        for obj in (deployment, config_map, gpu_workload, web_app):
            if obj["kind"] == "Pod":
                # The document gives the request alone; a real API server wants the limit of such a resource, too.
                resources = obj["spec"]["containers"][0]["resources"]
                resources["limits"] = dict(resources["requests"])
            apply(rig, obj)
        async with rig.scheduler(config=config):
            await rig.until_bound("gpu-workload")
            assert rig.node_of("gpu-workload") == "gpu"

            def placed(namespace: str, app: str) -> int:
                pods = store.list("pods", namespace, labels=f"app={app}")
                return sum(bool(each["spec"].get("nodeName")) for each in pods)

            await rig.until(lambda: placed("default", "web") == 3)
            await rig.until(lambda: placed("kube-system", "gpu-scheduler") == 1)
        for part in reversed(parts):
            part.stop()

    on_rig(scenario, tmp_path)


def test_a_service_applies_and_alarm_rules_are_no_object(tmp_path: Path) -> None:
    service, rules = documents("004-line-0653")

    async def scenario(rig: Rig) -> None:
        apply(rig, service)
        assert rig.api.store.get("services", "scheduler-metrics", "kube-system")
        assert "kind" not in rules

    on_rig(scenario, tmp_path)
