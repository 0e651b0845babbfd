"""The chart and the plain manifests on the real API server: accepted, installed, run, and allowed what they need and no more."""

from __future__ import annotations

import subprocess
import urllib.request
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bayplan.errors import NotFound
from bayplan.testing.control_plane import Obj, wait_until
from bayplan.testing.control_plane.ports import Port
from tests.deploy.chart import CHART, RIGHTS, ROOT, SEVERAL, helm, one_scheduler, render
from tests.deploy.containers import lay_out
from tests.deploy.test_chart import PLUGIN, everything
from tests.e2e.stage import PROFILE, Stage, node, pod
from tests.e2e.test_profiles import who_scheduled
from tests.e2e.test_serving import page

pytestmark = pytest.mark.e2e

MONITORING_KINDS = Path(__file__).with_name("monitoring-kinds.yaml")
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def kubectl(stage: Stage, *words: str | Path, text: str = "") -> str:
    """What it prints, as an administrator; its own words where it fails."""
    login = stage.plane.user("admin", ["system:masters"]).kubeconfig
    command = [stage.plane.binaries.path("kubectl"), f"--kubeconfig={login}", *words]
    return output(command, text)


def output(command: Sequence[str | Path], text: str = "") -> str:
    words = [str(word) for word in command]
    run = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"{' '.join(words)}:\n{run.stdout}\n{run.stderr}"
    # Of what it takes only with a remark, nothing should be there either.
    assert "Warning" not in run.stderr, run.stderr
    return run.stdout


@pytest.fixture
def stage(stage: Stage) -> Stage:
    if stage.subject != "bayplan":
        pytest.skip("kube-scheduler has manifests of its own")
    stage.need("kubectl")
    return stage


def test_the_api_server_takes_all_that_can_be_rendered(stage: Stage) -> None:
    kubectl(stage, "create", "-f", MONITORING_KINDS)
    kubectl(stage, "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
    dry = ["apply", "--dry-run=server", "--validate=strict"]

    for chart in (render(), everything(), render({}, SEVERAL)):
        said = kubectl(stage, *dry, "-f", "-", text=chart.text)
        assert said.count("(server dry run)") == len(chart.objects)
    for folder in ("base", "overlays/http", "overlays/monitoring"):
        assert "deployment.apps/bayplan created" in kubectl(
            stage, *dry, "-k", ROOT / "deploy" / "kustomize" / folder
        )
    # Server-side, since a schema is too long for the annotation that apply would write otherwise.
    kinds = kubectl(stage, *dry, "--server-side", "-f", ROOT / "deploy" / "crds")
    assert "serverside-applied (server dry run)" in kinds


def test_helm_installs_changes_and_removes_it(stage: Stage) -> None:
    login = stage.plane.user("admin", ["system:masters"]).kubeconfig
    place = [f"--kubeconfig={login}", "--namespace=kube-system"]
    deployment = "/apis/apps/v1/namespaces/kube-system/deployments/bayplan"

    output([helm(), "install", "bayplan", CHART, *place])
    assert stage.plane.admin.get(deployment)["spec"]["replicas"] == 2
    kinds = {crd["metadata"]["name"] for crd in stage.plane.admin.items(CRDS)}
    assert "podgroups.scheduling.x-k8s.io" in kinds

    output([helm(), "upgrade", "bayplan", CHART, "--set=replicas=3", *place])
    assert stage.plane.admin.get(deployment)["spec"]["replicas"] == 3

    output([helm(), "uninstall", "bayplan", *place])
    with pytest.raises(NotFound):
        stage.plane.admin.get(deployment)
    # What people have written of these kinds outlives the scheduler.
    assert {crd["metadata"]["name"] for crd in stage.plane.admin.items(CRDS)} == kinds


def test_the_pods_pass_where_the_strictest_standard_is_enforced(stage: Stage) -> None:
    enforce = {"pod-security.kubernetes.io/enforce": "restricted"}
    stage.add(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "strict", "labels": enforce},
        }
    )
    for chart in (render(), render({"http": {"enabled": True}})):
        template = chart.one("Deployment")["spec"]["template"]
        bare: Obj = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "bayplan", "labels": template["metadata"]["labels"]},
            "spec": template["spec"],
        }
        taken = stage.plane.admin.post("/api/v1/namespaces/strict/pods?dryRun=All", bare)
        assert taken["spec"]["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True


def test_the_account_may_do_its_work_and_nothing_else(stage: Stage) -> None:
    with stage.account().api() as account:

        def may(verb: str, resource: str, **more: str) -> bool:
            kind, _, group = resource.partition(".")
            plain, _, sub = kind.partition("/")
            asked = {"verb": verb, "resource": plain, "group": group, "subresource": sub, **more}
            review = {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SelfSubjectAccessReview",
                "spec": {"resourceAttributes": {k: v for k, v in asked.items() if v}},
            }
            return bool(account.post(REVIEWS, review)["status"]["allowed"])

        here = {"namespace": "kube-system"}
        leases = "leases.coordination.k8s.io"
        assert may("create", "pods/binding")
        assert may("patch", "pods/status")
        assert may("watch", "nodes")
        assert may("create", leases, **here)
        assert may("update", leases, name="bayplan", **here)
        assert may("get", "configmaps", name="extension-apiserver-authentication", **here)
        assert may("create", "tokenreviews.authentication.k8s.io")

        for verb in ("get", "list", "watch", "create", "update", "patch", "delete"):
            assert not may(verb, "secrets")
            assert not may(verb, "secrets", **here)
            assert not may(verb, "clusterroles.rbac.authorization.k8s.io")
        for verb in ("create", "update", "patch", "delete"):
            assert not may(verb, "nodes")
            assert not may(verb, "nodes/status")
            assert not may(verb, "namespaces")
        for verb in ("create", "update", "patch"):
            assert not may(verb, "pods")
        assert not may("list", "configmaps", **here)
        assert not may("get", leases, name="kube-scheduler", **here)
        assert not may("update", leases, name="kube-scheduler", **here)
        assert not may("delete", leases, name="bayplan", **here)
        assert not may("create", leases, namespace="default")
        assert not may("get", "pods/exec")
        assert not may("create", "pods/eviction")


def test_the_containers_command_line_schedules(stage: Stage) -> None:
    """As it comes: its own lease, one profile of its name; and plain HTTP, and a plugin out of the values."""
    stage.add(node("n1"))
    with closing(Port()) as free:
        port = free.number
    profiles: list[dict[str, Any]] = [
        {"schedulerName": "bayplan"},
        {
            "schedulerName": "picky",
            "plugins": {"filter": {"enabled": [{"name": "NoNodeAtAll"}]}},
        },
    ]
    values = {"http": {"enabled": True, "port": port}, "plugins": {"no_node.py": PLUGIN}}
    scheduler = stage.start_scheduler("bayplan", profiles=profiles, elect=True, values=values)
    scheduler.wait_ready()
    stage.add(pod("p", scheduler="bayplan"), pod("q", scheduler="picky"))
    stage.may_wait.add("default/q")

    assert stage.wait_bound("default/p") == {"default/p": "n1"}
    assert "none will do" in stage.wait_refused("default/q")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    assert 'leader_election_master_status{name="bayplan-e2e"} 1' in text
    assert 'bayplan_oldest_pending_pod_seconds{queue="unschedulable"}' in text
    assert scheduler.process.stop() == 0


def test_prometheus_may_read_the_metrics_and_nothing_else(stage: Stage) -> None:
    prometheus = {"serviceAccount": "prometheus-k8s", "namespace": "kube-system"}
    stage.add(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "prometheus-k8s", "namespace": "kube-system"},
        }
    )
    token = stage.plane.service_account("prometheus-k8s").token_file.read_text()
    values = {"monitoring": {"prometheus": prometheus}}
    scheduler = stage.start_scheduler("bayplan", values=values).wait_ready()

    wait_until(lambda: page(scheduler, "/metrics", token)[0] == 200, "metrics for Prometheus", 30)
    assert page(scheduler, "/configz", token)[0] == 403


def test_three_schedulers_side_by_side_place_their_own_pods(stage: Stage) -> None:
    """The values file as it is: for all, for GPUs, for batch work."""
    stage.add(node("gpus").capacity({"nvidia.com/gpu": "2"}), node("fuller"), node("empty"))
    stage.add(pod("there", scheduler="nobody").on("fuller").requests(cpu="1", memory="1Gi"))
    stage.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "here"}})
    chart = render({}, SEVERAL, namespace="here")
    stage.add(*chart.of_kind("ConfigMap", *RIGHTS))
    names = ["default-scheduler", "gpu-scheduler", "batch-scheduler"]
    for name in names:
        stage.start_container(chart, name, namespace="here")
    for scheduler in stage.schedulers:
        scheduler.wait_ready()

    on_gpu = pod("gpu", scheduler="gpu-scheduler")
    # The API server wants a limit beside the request of such a resource.
    one = {"nvidia.com/gpu": "1"}
    on_gpu.manifest["spec"]["containers"][0]["resources"] = {"requests": one, "limits": one}
    stage.add(on_gpu)
    stage.add(pod("batch", scheduler="batch-scheduler").requests(cpu="100m", memory="100Mi"))
    where = stage.wait_bound("default/gpu", "default/batch")
    # Not before: what it puts on a node would make that one as full as the other.
    stage.add(pod("any", scheduler="default-scheduler").requests(cpu="1", memory="1Gi"))
    where |= stage.wait_bound("default/any")

    assert where["default/gpu"] == "gpus"
    assert where["default/batch"] == "fuller"
    assert where["default/any"] != "fuller"
    leases = "/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}"
    for place in (("kube-system", "kube-scheduler"), ("here", names[1]), ("here", names[2])):
        assert stage.plane.admin.get(leases.format(*place))["spec"]["holderIdentity"]
    for key, name in zip(("gpu", "batch", "any"), (names[1], names[2], names[0]), strict=True):
        assert who_scheduled(stage, f"default/{key}") == name


def test_a_config_map_that_changes_is_taken_over_by_the_pods_that_run(stage: Stage) -> None:
    """All its files at once, as a kubelet swaps them: the plugin that turns every node down becomes one that takes one node."""
    stage.add(node("n1"), node("n2"))
    filters = {"filter": {"enabled": [{"name": "NoNodeAtAll"}]}}
    profile = {"schedulerName": PROFILE, "plugins": filters}

    def values(plugin: str) -> dict[str, Any]:
        return {"plugins": {"no_node.py": plugin}, "restartOnChange": False}

    stage.start_scheduler("bayplan", profiles=[profile], values=values(PLUGIN)).wait_ready()
    stage.add(pod("p"))
    assert "none will do" in stage.wait_refused("default/p")

    changed = PLUGIN.replace(
        'return Rejected("none will do")',
        'return None if node.name == "n2" else Rejected("not this one")',
    )
    # The rest is as it was: without a lease, as tests are that are not about leases.
    configuration = {"leaderElection": {"leaderElect": False}, "profiles": [profile]}
    chart = one_scheduler(configuration=configuration, **values(changed))
    volumes = chart.one("Deployment")["spec"]["template"]["spec"]["volumes"]
    (volume,) = (volume["configMap"] for volume in volumes if "configMap" in volume)
    lay_out(volume, chart.one("ConfigMap"), stage.plane.folder / "bayplan" / "config")

    assert stage.wait_bound("default/p") == {"default/p": "n2"}
