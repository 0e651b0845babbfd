"""Bad input, from the command line to the answer: one clear error that names the object or the path, and the rest goes on.

Everything here goes the way that a user's files go: through ``evaluate``, ``explain`` and ``check-config``.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bayplan.cli import main
from bayplan.testing import make_node, make_pod

HUGE = 2**63 - 1
Manifest = dict[str, Any]

UNREADABLE = {"matchExpressions": [{"key": "app", "operator": "Near", "values": ["web"]}]}


def run(*args: object) -> Result:
    """A command; what it raises is a failure of the test."""
    return CliRunner().invoke(main, [str(arg) for arg in args], catch_exceptions=False)


def node(name: str = "n1", **allocatable: str) -> Manifest:
    return make_node(name).capacity(allocatable).manifest


def pod(name: str = "web", **spec: Any) -> Manifest:
    manifest = make_pod(name).manifest
    manifest["spec"].update(spec)
    return manifest


def asking(**requests: Any) -> Manifest:
    return make_pod("web").requests(**requests).manifest


def with_anti_affinity(name: str) -> Manifest:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": UNREADABLE}
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return pod(name, affinity={"podAntiAffinity": rule})


def with_spread(name: str) -> Manifest:
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    return pod(name, topologySpreadConstraints=[{**constraint, "labelSelector": UNREADABLE}])


GOOD: Manifest = {"id": "good", "nodes": [node()], "pod": pod()}


# --- evaluate ------------------------------------------------------------------------------------------------------------


def verdicts(tmp_path: Path, *lines: Any) -> list[Manifest]:
    """Of these cases, or lines of text, with a good one before and after."""
    path = tmp_path / "cases.jsonl"
    text = [line if isinstance(line, str) else json.dumps(line) for line in (GOOD, *lines, GOOD)]
    path.write_text("\n".join(text) + "\n")
    result = run("evaluate", path)
    assert (result.exit_code, result.stderr) == (0, "")
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert found[0] == found[-1], "the rest goes on as if nothing had been"
    assert found[0]["best"] == ["n1"]
    return found[1:-1]


FORMAT = "quantities must match the regular expression"


@pytest.mark.parametrize(
    ("case", "error"),
    [
        pytest.param({"pod": None}, "pod: expected an object, got NoneType", id="no pod"),
        pytest.param({"pod": "web"}, "pod: expected an object, got str", id="a pod that is text"),
        pytest.param({"nodes": {"a": 1}}, "nodes: expected a list, got dict", id="no list"),
        pytest.param({"nodes": [None]}, "nodes[0]: expected an object, got NoneType", id="null"),
        pytest.param(
            {"nodes": [node("n1"), node("n2", cpu="4x")]},
            f"Node n2: nodes[1].status.capacity.cpu: {FORMAT}",
            id="a node with an odd quantity",
        ),
        pytest.param(
            {"pods": [pod("db", priority="high")]},
            "Pod default/db: pods[0].spec.priority: expected int, got str",
            id="a placed pod that does not decode",
        ),
        pytest.param(
            {"pod": pod(containers=[{"name": "c", "ports": [{"hostPort": 10**12}]}])},
            "Pod default/web: pod.spec.containers[0].ports[0].hostPort: expected int <= 2147483647",
            id="a number that is too large for its field",
        ),
        pytest.param(
            {"pod": asking(memory="1e30Gi")},
            f"Pod default/web: pod.spec.containers[0].resources.requests.memory: {FORMAT}",
            id="1e30Gi is no quantity",
        ),
        pytest.param(
            {"pod": asking(cpu="NaN")},
            f"Pod default/web: pod.spec.containers[0].resources.requests.cpu: {FORMAT}",
            id="NaN is no quantity",
        ),
        pytest.param(
            {"pod": with_spread("web")},
            'Pod default/web: running PreFilter plugin "PodTopologySpread": get constraints from pod:'
            " obtaining pod's hard topology spread constraints:"
            ' "Near" is not a valid label selector operator',
            id="a spread whose selector does not parse",
        ),
        pytest.param(
            {"config": {"kind": "KubeSchedulerConfiguration", "profile": []}},
            "config: ",
            id="a configuration without apiVersion",
        ),
        pytest.param(
            {
                "config": {
                    "apiVersion": "kubescheduler.config.k8s.io/v1",
                    "kind": "KubeSchedulerConfiguration",
                    "profile": [],
                }
            },
            'config: profile: unknown field "profile"; did you mean "profiles"?',
            id="a configuration with a typo",
        ),
    ],
)
def test_a_case_that_cannot_be_evaluated(tmp_path: Path, case: Manifest, error: str) -> None:
    (verdict,) = verdicts(tmp_path, {**GOOD, "id": "bad", **case})
    assert verdict.keys() == {"id", "error"}
    assert verdict["id"] == "bad"
    assert verdict["error"].startswith(error)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        pytest.param("not json", "line 2 is not JSON: ", id="no JSON"),
        pytest.param('{"id": "cut', "line 2 is not JSON: ", id="cut off"),
        pytest.param("[1, 2]", "a case is a JSON object", id="a list"),
        pytest.param("[" * 100_000, "line 2 is not JSON: ", id="nested without end"),
        pytest.param('{"id": 7}', "pod: a case has a pod to place", id="hardly anything"),
    ],
)
def test_a_line_that_is_no_case(tmp_path: Path, line: str, error: str) -> None:
    (verdict,) = verdicts(tmp_path, line)
    assert verdict["error"].startswith(error)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(b'{"id": "\xff"}\n' + json.dumps(GOOD).encode())
    bad, good = (json.loads(line) for line in run("evaluate", path).stdout.splitlines())
    assert bad["error"].startswith("line 1 is not JSON: ")
    assert good["best"] == ["n1"]


def test_an_error_of_our_own_costs_no_more_than_its_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bayplan.cli import evaluate as module

    def broken(case: Manifest, registry: Any) -> Manifest:
        return {"id": case["id"], "sum": 1 / case["divisor"]}

    monkeypatch.setattr(module, "verdict_of", broken)
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(f'{{"id": {i}, "divisor": {i}}}' for i in (0, 1, 0)))
    result = run("evaluate", path)
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"id": 0, "error": "internal error: ZeroDivisionError: division by zero"},
        {"id": 1, "sum": 1.0},
        {"id": 0, "error": "internal error: ZeroDivisionError: division by zero"},
    ]
    assert result.stderr.count("Traceback") == 1


def test_plugins_that_one_case_brings_are_not_those_of_the_next(tmp_path: Path) -> None:
    config = odd_profile(tmp_path, SILENT["filter"])
    there, missing = verdicts(tmp_path, {**GOOD, "config": config}, {**GOOD, "config": config[0]})
    assert there["best"] == ["n1"]
    path = "config: profiles[0].plugins.multiPoint.enabled[0]"
    assert missing["error"].startswith(f'{path}: PreFilterPlugin "Odd" does not exist; ')


def test_a_damaged_file_is_told_after_what_could_be_read(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl.gz"
    lines = [json.dumps({**GOOD, "id": str(i)}) for i in range(300)]
    whole = gzip.compress("\n".join(lines).encode())
    path.write_bytes(whole[: len(whole) * 3 // 4])
    result = run("evaluate", path)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: {path}: ")
    assert json.loads(result.stdout.splitlines()[0])["best"] == ["n1"]


# --- quantities at the edge ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("amount", [str(HUGE), "1e30", "9999Ei"])
def test_a_pod_that_asks_for_more_than_there_is_anywhere(tmp_path: Path, amount: str) -> None:
    (verdict,) = verdicts(tmp_path, {**GOOD, "pod": asking(cpu=amount, memory=amount)})
    assert verdict["filter"]["n1"] == {
        "code": "UnschedulableAndUnresolvable",
        "plugin": "NodeResourcesFit",
        "reasons": ["Insufficient cpu", "Insufficient memory"],
    }


def test_amounts_that_do_not_add_up_in_64_bits(tmp_path: Path) -> None:
    """Two pods that ask for all there is in 64 bits fill the largest node; they do not wrap around and free it."""
    placed = [make_pod(name).requests(memory=str(HUGE)).on("n1").manifest for name in "ab"]
    case = {**GOOD, "nodes": [node(memory=str(HUGE)), node("n2")], "pods": placed}
    (verdict,) = verdicts(tmp_path, {**case, "pod": asking(memory="1Gi")})
    assert verdict["filter"]["n1"]["reasons"] == ["Insufficient memory"]
    assert verdict["best"] == ["n2"]
    assert all(0 <= score <= 300 for score in verdict["scores"]["n2"].values())


# --- selectors of others -------------------------------------------------------------------------------------------------

META = {"name": "x", "namespace": "default"}
ODD_NODES = {"nodeSelectorTerms": [UNREADABLE]}


@pytest.mark.parametrize(
    ("field", "manifest"),
    [
        pytest.param("pods", with_anti_affinity("db"), id="a placed pod's affinity"),
        pytest.param("pods", with_spread("db"), id="a placed pod's spread"),
        pytest.param(
            "poddisruptionbudgets",
            {"metadata": META, "spec": {"selector": UNREADABLE}},
            id="a budget",
        ),
        pytest.param(
            "replicasets", {"metadata": META, "spec": {"selector": UNREADABLE}}, id="a ReplicaSet"
        ),
        pytest.param(
            "persistentvolumeclaims",
            {"metadata": META, "spec": {"selector": UNREADABLE}},
            id="a claim",
        ),
        pytest.param(
            "persistentvolumes",
            {"metadata": {"name": "x"}, "spec": {"nodeAffinity": {"required": ODD_NODES}}},
            id="a volume",
        ),
        pytest.param(
            "csistoragecapacities", {"metadata": META, "nodeTopology": UNREADABLE}, id="a pool"
        ),
    ],
)
def test_an_unreadable_selector_of_another_object_matches_nothing(
    tmp_path: Path, field: str, manifest: Manifest
) -> None:
    if field == "pods":
        manifest["spec"]["nodeName"] = "n1"
    case = {**GOOD, field: [manifest], "nodes": [node(), node("n2")]}
    case["pod"] = pod(volumes=[{"name": "v", "emptyDir": {}}])
    (verdict,) = verdicts(tmp_path, {**case, "preempt": True})
    assert set(verdict["filter"]) == {"n1", "n2"}
    assert all(said == {"code": "Success"} for said in verdict["filter"].values())


# --- plugins -------------------------------------------------------------------------------------------------------------

PLUGIN = """
import numpy as np
from bayplan import FilterPlugin, Reads, Rejected, ScorePlugin


class Odd(FilterPlugin, ScorePlugin):
    reads = Reads.LABELS
{methods}
"""

ODD = [
    pytest.param(
        "def filter_node(self, pod, node):\n        return {}['zone']",
        "running Filter plugin \"Odd\": on node n1: KeyError: 'zone'",
        id="filter_node raises",
    ),
    pytest.param(
        "def filter_node(self, pod, node):\n        return False",
        'running Filter plugin "Odd": on node n1: wants None or Rejected, got False',
        id="filter_node returns a bool",
    ),
    pytest.param(
        "def filter_node(self, pod, node):\n        return Rejected(5)",
        'running Filter plugin "Odd": on node n1: TypeError: Rejected wants its reasons as text, got 5',
        id="filter_node rejects without words",
    ),
    pytest.param(
        "def filter(self, pod, nodes, state):\n        return 1 / 0",
        'running Filter plugin "Odd": ZeroDivisionError: division by zero',
        id="filter raises",
    ),
    pytest.param(
        "def filter(self, pod, nodes, state):\n        return np.ones(7, bool)",
        'running Filter plugin "Odd": wants a mask of 1 bools, got bool (7,)',
        id="filter returns the wrong length",
    ),
    pytest.param(
        "def score_node(self, pod, node):\n        return 1 / 0",
        'running Score plugin "Odd": on node n1: ZeroDivisionError: division by zero',
        id="score_node raises",
    ),
    pytest.param(
        "def score_node(self, pod, node):\n        return float('nan')",
        'running Score plugin "Odd": nan is not a finite number of at most 64 bits',
        id="score_node returns NaN",
    ),
    pytest.param(
        "def score_node(self, pod, node):\n        return [1, 2]",
        'running Score plugin "Odd": [1, 2] is not a finite number of at most 64 bits',
        id="score_node returns a list",
    ),
    pytest.param(
        "def score_node(self, pod, node):\n        return 101",
        "running Score plugin \"Odd\": plugin 'Odd' returns an invalid score 101,"
        " it should in the range of [0, 100] after normalizing",
        id="score_node goes beyond 100",
    ),
    pytest.param(
        "def score(self, pod, nodes, state):\n        return np.full(len(nodes), np.nan)",
        'running Score plugin "Odd": a score is nan, not a finite number of at most 64 bits',
        id="score returns NaN",
    ),
    pytest.param(
        "def score(self, pod, nodes, state):\n        return np.ones(7)",
        'running Score plugin "Odd": wants 1 scores, got float64 (7,)',
        id="score returns the wrong length",
    ),
    pytest.param(
        "def score_node(self, pod, node):\n        return 5\n"
        "    def normalize(self, raw, feasible, state):\n        return raw[:-1]",
        'running Score plugin "Odd": wants 1 scores, got int64 (0,)',
        id="normalize returns the wrong length",
    ),
    pytest.param(
        "def score_node(self, pod, node):\n        return 5\n"
        "    def normalize(self, raw, feasible, state):\n        raw += 1",
        'running Score plugin "Odd": ValueError: output array is read-only',
        id="normalize changes what it is given",
    ),
    pytest.param(
        "def sign(self, pod):\n        return []",
        "running Sign plugin \"Odd\": TypeError: unhashable type: 'list'",
        id="sign returns what cannot be compared",
    ),
]

#: What a plugin has that has nothing to say.
SILENT = {
    "filter": "def filter_node(self, pod, node):\n        return None",
    "score": "def score_node(self, pod, node):\n        return 5",
}


def odd_profile(tmp_path: Path, methods: str) -> list[Manifest]:
    """A configuration that has the plugin beside the others."""
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    silent = [text for method, text in SILENT.items() if f"def {method}" not in methods]
    body = "\n".join(f"    {method}" for method in (methods, *silent))
    (plugins / "odd.py").write_text(PLUGIN.format(methods=body))
    enabled = {"multiPoint": {"enabled": [{"name": "Odd"}]}}
    return [
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"plugins": enabled}],
        },
        {
            "apiVersion": "bayplan.io/v1alpha1",
            "kind": "BayplanConfiguration",
            "pluginDirs": [str(plugins)],
        },
    ]


@pytest.mark.parametrize(("methods", "error"), ODD)
def test_a_plugin_that_misbehaves_fails_its_pod_and_is_named(
    tmp_path: Path, methods: str, error: str
) -> None:
    config = odd_profile(tmp_path, methods)
    (verdict,) = verdicts(tmp_path, {**GOOD, "id": "odd", "config": config})
    assert verdict == {"id": "odd", "error": f"Pod default/web: {error}"}

    dump, settings = tmp_path / "dump.json", tmp_path / "config.yaml"
    dump.write_text(json.dumps({"kind": "List", "items": [node(), {"kind": "Pod", **pod()}]}))
    settings.write_text("---\n".join(json.dumps(document) + "\n" for document in config))
    result = run("explain", "web", "--cluster", dump, "--config", settings)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"Error: {error}\n"


# --- explain -------------------------------------------------------------------------------------------------------------


def test_objects_that_cannot_be_read_are_left_out_of_a_dump_one_line_each(tmp_path: Path) -> None:
    dump = tmp_path / "dump.json"
    nameless = {**node(), "metadata": {}}
    items: list[Any] = [
        node(),
        pod(),
        node("n2", memory="1e30Gi"),
        pod("db", priority="high"),
        nameless,
        "nonsense",
        {"kind": "PodDisruptionBudget", "apiVersion": "policy/v1", "spec": {"selector": 5}},
    ]
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    result = run("explain", "web", "--cluster", dump)
    assert result.exit_code == 0
    assert result.stdout.startswith("default/web goes to n1: ")
    told = result.stderr.splitlines()
    expected = [
        f"Node n2: items[2].status.capacity.memory: {FORMAT}",
        "Pod default/db: items[3].spec.priority: expected int, got str",
        "Node: items[4].metadata.name: an object without a name",
        "items[5]: expected an object, got str",
        "PodDisruptionBudget: items[6].spec.selector: expected object, got int",
    ]
    assert len(told) == len(expected)
    for line, words in zip(told, expected, strict=True):
        assert line.startswith(f"warning: left out: {dump}: {words}")


def test_a_pod_file_with_a_field_that_does_not_decode(tmp_path: Path) -> None:
    dump, file = tmp_path / "dump.json", tmp_path / "pod.yaml"
    dump.write_text(json.dumps({"kind": "List", "items": [node()]}))
    file.write_text(
        "kind: Pod\nmetadata: {name: web}\nspec: {containers: [{resources: {requests: {cpu: lots}}}]}\n"
    )
    result = run("explain", file, "--cluster", dump)
    assert result.exit_code == 1
    where = "Pod web: spec.containers[0].resources.requests.cpu"
    assert result.stderr.startswith(f"Error: {file}: {where}: {FORMAT}")


# --- check-config --------------------------------------------------------------------------------------------------------


def test_every_mistake_of_a_configuration_is_told_with_its_line_and_what_was_meant(
    tmp_path: Path,
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        "paralelism: 4\n"
        "profiles:\n"
        "- schedulerName: default-scheduler\n"
        "  plugins:\n"
        "    scores: {enabled: [{name: ImageLocality}]}\n"
        "    filter: {enabled: [{name: NodeNam}]}\n"
        "  pluginConfig:\n"
        "  - name: InterPodAffinity\n"
        "    args: {hardPodAffinityWeigth: 5}\n"
    )
    result = run("check-config", file)
    assert (result.exit_code, result.stdout) == (1, "")
    told = result.stderr.splitlines()
    assert [line.removeprefix(f"{file}: ").split(": ")[0] for line in told] == [
        "line 3",
        "line 7",
        "line 8",
        "line 11",
    ]
    for line, wrong, meant in zip(
        told,
        ("paralelism", "scores", "NodeNam", "hardPodAffinityWeigth"),
        ("parallelism", "score", "NodeName", "hardPodAffinityWeight"),
        strict=True,
    ):
        assert wrong in line
        assert f'"{meant}"' in line or f"{meant}?" in line


def test_a_plugin_file_that_cannot_be_imported_is_told_with_its_line(tmp_path: Path) -> None:
    config = odd_profile(tmp_path, "threshold: float = 1 / 0")
    file = tmp_path / "config.yaml"
    file.write_text("---\n".join(json.dumps(document) + "\n" for document in config))
    result = run("check-config", file)
    assert (result.exit_code, result.stdout) == (1, "")
    (told,) = result.stderr.splitlines()
    odd = tmp_path / "plugins" / "odd.py"
    wrong = f"ZeroDivisionError: division by zero (line 8 of {odd})"
    assert told == f"{file}: line 3: pluginDirs[0]: {odd}: cannot import odd: {wrong}"
