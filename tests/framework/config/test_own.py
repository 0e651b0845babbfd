from __future__ import annotations

from pathlib import Path

import pytest

from bayplan.errors import ConfigError
from bayplan.framework.config import BayplanConfiguration, load_config
from bayplan.framework.config.gangs import Gangs
from bayplan.framework.config.own import is_reference
from bayplan.framework.registry import Registry

SCHEDULER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
OWN = "---\napiVersion: bayplan.io/v1alpha1\nkind: BayplanConfiguration\n"


def problems(text: str, registry: Registry) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_config(text, registry)
    return [str(problem) for problem in caught.value.problems]


def test_without_it_there_are_defaults(registry: Registry) -> None:
    own = load_config(SCHEDULER, registry).own
    assert own == BayplanConfiguration()
    assert (own.plugin_dirs, own.record.size, own.record.file, own.seed) == ((), 1000, "", None)


def test_a_second_document(registry: Registry) -> None:
    config = load_config(SCHEDULER + OWN + "record: {size: 5, file: d.log}\nseed: 7\n", registry)
    assert (config.own.record.size, config.own.record.file, config.own.seed) == (5, "d.log", 7)


def test_the_order_of_documents_does_not_matter(registry: Registry) -> None:
    config = load_config(OWN + "seed: 7\n---\n" + SCHEDULER + "parallelism: 3\n", registry)
    assert (config.own.seed, config.parallelism) == (7, 3)


def test_alone_it_goes_with_the_default_profile(registry: Registry) -> None:
    config = load_config(OWN + "seed: 7\n", registry)
    assert (config.own.seed, config.profiles[0].scheduler_name) == (7, "default-scheduler")


def test_an_algorithm_in_place_of_plugins(registry: Registry) -> None:
    text = OWN + "profiles:\n- {schedulerName: default-scheduler, algorithm: 'json:JSONDecoder'}\n"
    assert load_config(SCHEDULER + text, registry).profiles[0].algorithm == "json:JSONDecoder"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            "record: {size: 0}\n",
            ["line 6: record.size: Invalid value: 0: must be greater than 0"],
            id="a record of nothing",
        ),
        pytest.param(
            "seed: -1\n",
            ["line 6: seed: Invalid value: -1: must be greater than or equal to 0"],
            id="a negative seed",
        ),
        pytest.param(
            "sead: 1\n",
            ['line 6: sead: unknown field "sead"; did you mean "seed"?'],
            id="a misspelt field",
        ),
        pytest.param(
            "pluginDirs: ['']\n", ["line 6: pluginDirs[0]: Required value"], id="no directory"
        ),
        pytest.param(
            "pluginDirs: [nowhere]\n",
            ["line 6: pluginDirs[0]: nowhere is not a directory"],
            id="a directory that is not there",
        ),
        pytest.param(
            "profiles: [{schedulerName: other}]\n",
            [
                'line 6: profiles[0].schedulerName: Invalid value: "other": '
                "the KubeSchedulerConfiguration has no such profile"
            ],
            id="a profile that is not there",
        ),
        pytest.param(
            "profiles:\n- {schedulerName: default-scheduler}\n- {schedulerName: default-scheduler}\n- {}\n",
            [
                'line 8: profiles[1].schedulerName: Duplicate value: "default-scheduler"',
                "line 9: profiles[2].schedulerName: Required value",
            ],
            id="a profile twice, and one without a name",
        ),
        pytest.param(
            "profiles: [{schedulerName: default-scheduler, algorithm: json}]\n",
            [
                'line 6: profiles[0].algorithm: Invalid value: "json": must have the form "module:Class"'
            ],
            id="a module alone",
        ),
        pytest.param(
            "profiles: [{schedulerName: default-scheduler, algorithm: 'json:Nope'}]\n",
            [
                "line 6: profiles[0].algorithm: cannot load json:Nope: "
                "module 'json' has no attribute 'Nope'"
            ],
            id="a class that is not there",
        ),
    ],
)
def test_what_is_refused(registry: Registry, text: str, found: list[str]) -> None:
    assert problems(SCHEDULER + OWN + text, registry) == found


def test_problems_of_both_documents_at_once(registry: Registry) -> None:
    found = problems(SCHEDULER + "parallelism: 0\n" + OWN + "seed: x\n", registry)
    assert [problem.partition(":")[0] for problem in found] == ["line 3", "line 7"]


def test_plugin_directories_start_at_the_file(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "cheap.py").write_text(
        "from bayplan.framework.plugin import ScorePlugin\n\n\nclass Cheap(ScorePlugin):\n    price: float = 1.0\n"
    )
    file = tmp_path / "config.yaml"
    file.write_text(
        SCHEDULER
        + "profiles:\n- plugins: {score: {enabled: [{name: Cheap, weight: 2}]}}\n"
        + "  pluginConfig: [{name: Cheap, args: {price: 2}}]\n"
        + OWN
        + "pluginDirs: [mine]\n"
    )
    profile = load_config(file, registry).profiles[0]
    assert profile.plugins["score"][-1] == ("Cheap", 2)
    assert getattr(profile.args["Cheap"], "price") == 2.0  # noqa: B009 - the struct is made at run time


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        pytest.param("module:Class", True, id="simple"),
        pytest.param("a.b_c.d1:Outer.Inner", True, id="nested"),
        pytest.param("Class", False, id="no module"),
        pytest.param("module:", False, id="no class"),
        pytest.param("a..b:C", False, id="an empty part"),
        pytest.param("1a:C", False, id="a digit first"),
        pytest.param("a:b:c", False, id="two colons"),
    ],
)
def test_references(text: str, valid: bool) -> None:
    assert is_reference(text) is valid


def test_gangs(registry: Registry) -> None:
    assert load_config(SCHEDULER, registry).own.gangs == Gangs()
    config = load_config(OWN + "gangs: {solver: true, solverEffort: 5}\n", registry)
    assert config.own.gangs == Gangs(solver=True, solver_effort=5.0)


@pytest.mark.parametrize("effort", ["0", "-1", "61"])
def test_an_effort_out_of_bounds(registry: Registry, effort: str) -> None:
    with pytest.raises(ConfigError, match=r"gangs\.solverEffort: Invalid value: .*at most 60"):
        load_config(OWN + f"gangs: {{solverEffort: {effort}}}\n", registry)
