from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bayplan.cli import main
from bayplan.testing import NodeBuilder, PodBuilder, make_node, make_pod


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    return write(
        tmp_path / "dump.json",
        make_node("a").capacity(cpu="2"),
        make_node("b").taint("dedicated", "ml"),
        make_node("c").cordoned(),
        make_pod("web").requests(cpu="500m"),
        make_pod("big").requests(cpu="3"),
        make_pod("placed").requests(cpu="100m").on("b"),
        make_pod("web", "prod").requests(cpu="1"),
    )


def write(path: Path, *objects: NodeBuilder | PodBuilder | dict[str, Any]) -> Path:
    items = [obj if isinstance(obj, dict) else obj.manifest for obj in objects]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


def run(*args: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["explain", *map(str, args)], input=stdin)


def test_a_pod_that_fits(dump: Path) -> None:
    result = run("web", "--cluster", dump)
    assert result.exit_code == 0
    assert (
        result.stdout
        == """\
default/web goes to a: the only one of 3 nodes that fits

                                                   NodeResources
                           Taint   NodeResources        Balanced
    NODE   TOTAL   Toleration ×3             Fit      Allocation
>   a        455             300              87              68

TURNED DOWN   BY                  REASON
b             TaintToleration     node(s) had untolerated taint(s)
c             NodeUnschedulable   node(s) were unschedulable
"""
    )


def test_a_pod_that_fits_nowhere(dump: Path) -> None:
    result = run("default/big", "--cluster", dump)
    assert result.exit_code == 0
    assert result.stdout.startswith("default/big fits nowhere: 0/3 nodes are available: ")
    assert result.stdout.endswith("""\
any one of these would make it fit:
  - uncordon c: fits on c
  - tolerate dedicated=ml:NoSchedule: fits on b
  - ask for 1 less cpu: fits on a
""")


def a_deployment(name: str, replicas: int) -> dict[str, Any]:
    resources = {"requests": {"cpu": "400m"}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "m", "resources": resources}]},
            },
        },
    }


QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "compute-resources", "namespace": "default"},
    "spec": {"hard": {"requests.cpu": "1"}},
    "status": {"hard": {"requests.cpu": "1"}, "used": {"requests.cpu": "800m"}},
}


def test_why_pods_of_a_deployment_do_not_exist(tmp_path: Path) -> None:
    pods = [make_pod(f"shop-{i}").label("app", "shop").on("a").requests(cpu="400m") for i in "xy"]
    path = write(tmp_path / "d.json", make_node("a"), *pods, a_deployment("shop", 5), QUOTA)
    result = run("shop", "--cluster", path)
    assert result.exit_code == 0
    assert result.stdout.startswith("default/shop-next goes to a")
    for note in (
        "Deployment default/shop wants 5 pods; 2 exist, 2 of them on nodes; this is about the next one",
        "the API server would refuse it: exceeded quota: compute-resources, requested: "
        "requests.cpu=400m, used: requests.cpu=800m, limited: requests.cpu=1",
        "ResourceQuota compute-resources of namespace default: requests.cpu 800m of 1 used",
    ):
        assert note in " ".join(result.stdout.split())
    # One that exists was let in.
    of_a_pod = " ".join(run("shop-x", "--cluster", path).stdout.split())
    assert "requests.cpu 800m of 1 used" in of_a_pod
    assert "refuse" not in of_a_pod


def test_json(dump: Path) -> None:
    answer = json.loads(run("big", "--cluster", dump, "-o", "json").stdout)
    assert answer["fits"] is False
    assert [one["kind"] for one in answer["suggestions"]] == ["cordon", "toleration", "requests"]


def test_wide_shows_all_nodes(tmp_path: Path) -> None:
    path = write(tmp_path / "d.json", make_pod("p"), *(make_node(f"n{i:02}") for i in range(30)))
    assert "n29" not in run("p", "--cluster", path).stdout
    assert "10 more that fit (-o wide shows all)" in run("p", "--cluster", path).stdout
    assert "n29" in run("p", "--cluster", path, "-o", "wide").stdout


def test_one_node(dump: Path) -> None:
    result = run("web", "--cluster", dump, "--node", "c")
    assert "c is turned down" in result.stdout
    assert result.stdout.endswith("  - uncordon c: fits on c and a\n")
    result = run("web", "--cluster", dump, "--node", "a")
    assert "PLUGIN                            RAW   NORMALIZED   WEIGHT   SCORE" in result.stdout
    assert "would make it fit" not in result.stdout


def test_a_placed_pod(dump: Path) -> None:
    result = run("placed", "--cluster", dump)
    assert "it runs on b, where it would not be placed now: " in result.stdout


def test_a_pod_from_a_file(tmp_path: Path, dump: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(
        "kind: Pod\nmetadata: {name: new}\nspec: {containers: [{name: c, resources: {limits: {cpu: 3}}}]}"
    )
    assert "default/new fits nowhere" in run(path, "--cluster", dump).stdout
    from_stdin = run("-", "--cluster", dump, stdin=path.read_text())
    assert "default/new fits nowhere" in from_stdin.stdout


def test_a_dump_from_standard_input(dump: Path) -> None:
    assert run("web", "--cluster", "-", stdin=dump.read_text()).exit_code == 0


def test_a_saved_case_is_replayed_by_evaluate_and_explained_again(
    tmp_path: Path, dump: Path
) -> None:
    case = tmp_path / "case.json"
    told = run("big", "--cluster", dump, "--save", case)
    assert told.exit_code == 0
    replay = CliRunner().invoke(main, ["evaluate", str(case)])
    verdict = json.loads(replay.stdout)
    assert (
        verdict["message"]
        == "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable."
    )
    again = run("big", "--cluster", case)
    assert again.stdout == told.stdout


PLUGIN = """
from bayplan import FilterPlugin, Rejected

class NotOnA(FilterPlugin):
    def filter_node(self, pod, node):
        return Rejected("not on a") if node.name == "a" else None
"""
CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "NotOnA"}]}}}],
}


def test_a_plugin_of_the_users_own(tmp_path: Path, dump: Path) -> None:
    plugins, config, case = tmp_path / "plugins", tmp_path / "c.yaml", tmp_path / "case.json"
    plugins.mkdir()
    (plugins / "not_on_a.py").write_text(PLUGIN)
    config.write_text(json.dumps(CONFIG))
    args = "--cluster", dump, "--config", config, "--plugin-dir", plugins
    result = run("web", *args, "--save", case)
    assert "  - do without plugin NotOnA: fits on a, which says: not on a\n" in result.stdout
    verdict = json.loads(CliRunner().invoke(main, ["evaluate", str(case)]).stdout)
    assert verdict["filter"]["a"]["reasons"] == ["not on a"]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param(["nobody"], "dump.json: there is no pod default/nobody among its 4", id="pod"),
        pytest.param(
            ["test/web"], "no pod test/web in it, but default/web, prod/web", id="namespace"
        ),
        pytest.param(["web", "--node", "z"], "there is no node z", id="node"),
        pytest.param(["gone.yaml"], "gone.yaml: No such file", id="pod file"),
        pytest.param(["web", "--config", "gone.yaml"], "gone.yaml: No such file", id="config file"),
        pytest.param(["web", "--plugin-dir", "gone"], "gone is not a directory", id="plugins"),
        pytest.param(["web", "--save", "/gone/case.json"], "/gone/case.json: No such", id="save"),
    ],
)
def test_errors_of_input_exit_with_1(dump: Path, args: list[str], expected: str) -> None:
    result = run(*args, "--cluster", dump)
    assert result.exit_code == 1
    assert expected in result.stderr
    assert "Traceback" not in result.output


def test_a_dump_that_is_not_there() -> None:
    result = run("web", "--cluster", "gone.json")
    assert (result.exit_code, result.stderr) == (1, "Error: gone.json: No such file or directory\n")


def test_a_dump_without_nodes(tmp_path: Path) -> None:
    result = run("p", "--cluster", write(tmp_path / "d.json", make_pod("p")))
    assert result.exit_code == 1
    assert "kubectl get nodes,pods -A -o json" in result.stderr


def test_a_plugin_that_fails_is_named(tmp_path: Path, dump: Path) -> None:
    plugins, config = tmp_path / "plugins", tmp_path / "c.yaml"
    plugins.mkdir()
    (plugins / "not_on_a.py").write_text(PLUGIN.replace("node.name ==", "1 / 0 =="))
    config.write_text(json.dumps(CONFIG))
    result = run("web", "--cluster", dump, "--config", config, "--plugin-dir", plugins)
    assert result.exit_code == 1
    assert 'running Filter plugin "NotOnA": ' in result.stderr


def test_objects_that_cannot_be_read_are_told_and_left_out(tmp_path: Path) -> None:
    bad = make_pod("bad").requests(cpu="lots")
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    path = write(tmp_path / "d.json", make_node("a"), make_pod("p"), bad, secret)
    result = run("p", "--cluster", path)
    assert result.exit_code == 0
    assert "warning: left out: " in result.stderr
    assert "Pod default/bad: items[2].spec.containers[0].resources.requests.cpu: " in result.stderr
    assert "not needed: 1 Secret" in result.stderr


def test_brackets_in_a_plugins_words_are_words(tmp_path: Path, dump: Path) -> None:
    plugins, config = tmp_path / "plugins", tmp_path / "c.yaml"
    plugins.mkdir()
    (plugins / "not_on_a.py").write_text(PLUGIN.replace("not on a", "[red]:100:[/bold]"))
    config.write_text(json.dumps(CONFIG))
    result = run("web", "--cluster", dump, "--config", config, "--plugin-dir", plugins)
    assert result.exit_code == 0
    assert "NotOnA              [red]:100:[/bold]\n" in result.stdout


POLICIES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: scheduling-policies, namespace: kube-system}
data:
  gpu-policy.yaml: |
    apiVersion: scheduling.k8s.io/v1
    kind: SchedulingPolicy
    metadata: {name: gpu-policy}
    spec:
      resourceWeights: {nvidia.com/gpu: 80, cpu: 20}
      tolerations: [{key: gpu, operator: Exists, effect: NoSchedule}]
"""


def test_the_policy_of_a_pod_is_applied_and_told(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {multiPoint: {enabled: [{name: SchedulingPolicy}]}}}]\n"
    )
    folder = tmp_path / "dump"
    folder.mkdir()
    (folder / "policies.yaml").write_text(POLICIES)
    pod = make_pod("p").label("bayplan.io/policy", "gpu-policy")
    write(folder / "d.json", pod, make_node("a").taint("gpu", "yes"), make_node("b").cordoned())
    said = run("p", "--cluster", folder, "--config", config).stdout
    assert said.startswith("default/p goes to a: the only one of 2 nodes that fits\n")
    assert (
        "policy: gpu-policy (ConfigMap kube-system/scheduling-policies): "
        "resource weights nvidia.com/gpu 80, cpu 20; 1 more tolerations\n" in said
    )
    case = tmp_path / "case.json"
    run("p", "--cluster", folder, "--config", config, "--save", case)
    assert json.loads(CliRunner().invoke(main, ["evaluate", str(case)]).stdout)["best"] == ["a"]
    assert "fits nowhere" in run("p", "--cluster", folder).stdout


@pytest.mark.parametrize("option", ["--config", "--plugin-dir", "--save"])
def test_what_only_a_dump_can_be_asked_with(option: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["explain", "default/web", option, str(tmp_path / "x")])
    assert done.exit_code == 2
    assert f"{option} needs --cluster" in done.output
