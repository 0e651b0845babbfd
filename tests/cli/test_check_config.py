from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bayplan.cli.check_config import check_config
from bayplan.framework.plugin import BindPlugin, FilterPlugin, QueueSortPlugin, ScorePlugin
from bayplan.framework.registry import Registry


class Sort(QueueSortPlugin):
    """Orders the queue."""


class Binder(BindPlugin):
    """Binds."""


class LowCpu(FilterPlugin, ScorePlugin):
    """Filters and scores."""

    threshold: float = 0.8


CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: lowcpu-scheduler
  plugins:
    multiPoint:
      disabled: [{name: '*'}]
      enabled: [{name: Sort}, {name: Binder}]
    filter: {enabled: [{name: LowCpu}]}
    score: {enabled: [{name: LowCpu, weight: 0}]}
extenders:
- {urlPrefix: 'http://localhost:8888', filterVerb: filter}
"""


def run(*arguments: str, text: str = "") -> Result:
    registry = Registry([Sort, Binder, LowCpu])
    return CliRunner().invoke(check_config, list(arguments), input=text, obj=registry)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)
    return file


def test_a_table(path: Path) -> None:
    result = run(str(path))
    assert result.exit_code == 0
    lines = [line.strip("│ ").split() for line in result.output.splitlines()]
    cells = [[cell for cell in line if cell != "│"] for line in lines]
    for row in (
        ["profile", "lowcpu-scheduler", "(percentageOfNodesToScore:", "adaptive)"],
        ["queueSort", "1", "Sort"],
        ["filter", "1", "LowCpu"],
        ["score", "1", "LowCpu", "1"],
        ["bind", "1", "Binder"],
    ):
        assert row in cells, result.output
    assert "extender http://localhost:8888: filter" in result.output
    assert (
        "warning: line 10: profiles[0].plugins.score.enabled[0].weight: a weight of 0 counts as 1"
        in (result.output)
    )


def test_json(path: Path) -> None:
    result = run(str(path), "-o", "json")
    assert result.exit_code == 0
    answer = json.loads(result.output)
    profile = answer["profiles"][0]
    assert answer["valid"] is True
    assert profile["schedulerName"] == "lowcpu-scheduler"
    assert profile["plugins"]["score"] == [{"name": "LowCpu", "weight": 1}]
    assert profile["plugins"]["permit"] == []
    assert profile["pluginConfig"] == [{"name": "LowCpu", "args": {"threshold": 0.8}}]
    assert answer["extenders"][0]["httpTimeout"] == "5s"
    assert answer["bayplan"]["record"]["size"] == 1000
    assert len(answer["warnings"]) == 1


def test_a_private_key_is_not_printed(path: Path) -> None:
    path.write_text(CONFIG.replace("filterVerb: filter", "tlsConfig: {keyData: c2VjcmV0}"))
    result = run(str(path), "-o", "json")
    assert result.exit_code == 0
    assert "c2VjcmV0" not in result.output


def test_what_is_wrong(path: Path) -> None:
    path.write_text(CONFIG + "parallelism: 0\nprofile: []\n")
    result = run(str(path))
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        f"{path}: line 13: parallelism: Invalid value: 0: should be an integer value greater than zero",
        f'{path}: line 14: profile: unknown field "profile"; did you mean "profiles"?',
    ]
    assert result.stdout == ""


def test_what_is_wrong_as_json(path: Path) -> None:
    path.write_text(CONFIG + "parallelism: 0\n")
    result = run(str(path), "-o", "json")
    assert result.exit_code == 1
    assert json.loads(result.output) == {
        "valid": False,
        "errors": [
            {
                "path": "parallelism",
                "line": 13,
                "message": "Invalid value: 0: should be an integer value greater than zero",
            }
        ],
    }


def test_standard_input() -> None:
    assert run("-", text=CONFIG).exit_code == 0
    assert run("-", text="a: [\n").stderr.startswith("<stdin>: line 2: a[0]: yaml: ")


def test_a_file_that_is_not_there() -> None:
    result = run("/nowhere/config.yaml")
    assert result.exit_code == 1
    assert result.stderr == "/nowhere/config.yaml: No such file or directory\n"


def test_a_plugin_directory(path: Path, tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "cheap.py").write_text(
        "from bayplan.framework.plugin import ScorePlugin\n\n\nclass Cheap(ScorePlugin): ...\n"
    )
    path.write_text(CONFIG.replace("{name: LowCpu, weight: 0}", "{name: Cheap, weight: 2}"))
    assert run(str(path)).exit_code == 1
    assert run(str(path), "--plugin-dir", str(plugins)).exit_code == 0
    assert "nowhere is not a directory" in run(str(path), "--plugin-dir", "nowhere").stderr


def test_an_algorithm(path: Path) -> None:
    path.write_text(
        CONFIG
        + "---\napiVersion: bayplan.io/v1alpha1\nkind: BayplanConfiguration\n"
        + "profiles: [{schedulerName: lowcpu-scheduler, algorithm: 'json:JSONDecoder'}]\n"
    )
    assert "decided by json:JSONDecoder" in run(str(path)).output


def test_with_the_plugins_of_kubernetes(path: Path) -> None:
    path.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n"
        "profiles:\n- plugins: {score: {enabled: [{name: ImageLocality, weight: 9}]}}\n"
    )
    result = CliRunner().invoke(check_config, [str(path), "-o", "json"])
    assert result.exit_code == 0, result.output
    answer = json.loads(result.output)
    scores = answer["profiles"][0]["plugins"]["score"]
    assert scores[:2] == [
        {"name": "ImageLocality", "weight": 9},
        {"name": "TaintToleration", "weight": 3},
    ]
    assert answer["warnings"][0].startswith(
        "line 1: apiVersion: kubescheduler.config.k8s.io/v1beta3 is gone since Kubernetes 1.29"
    )
