"""The package that is written works at once: its own tests, the linter, configuration, examples, entry point."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import bayplan
from bayplan.embedded.nodes import shape as shapes
from bayplan.errors import BayplanError
from bayplan.kit.linting.report import lint
from bayplan.kit.linting.subject import subjects
from bayplan.kit.new_plugin import Names, names_of, write
from bayplan.sim.documents import documents

SOURCE = Path(bayplan.__file__).parents[1]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("new")
    write(names_of("RackPower"), folder)
    return folder / "rack-power"


def run(package: Path, *arguments: str, path: Path | None = None) -> str:
    """What a Python command prints that sees bayplan, the standard library and ``path``."""
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(one) for one in (SOURCE, path) if one),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=package,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_its_own_tests_pass(package: Path) -> None:
    assert "4 passed" in run(package, "-m", "pytest", "-p", "no:cacheprovider")


@pytest.mark.slow
def test_it_is_neat(package: Path) -> None:
    run(package, "-m", "ruff", "check", "--isolated", "--no-cache", ".")
    run(
        package,
        "-m",
        "ruff",
        "format",
        "--isolated",
        "--no-cache",
        "--line-length=100",
        "--check",
        ".",
    )


def test_the_linter_has_nothing_to_say(package: Path) -> None:
    (subject,) = subjects(str(package / "src" / "rack_power" / "plugin.py"))
    assert lint(subject, None).findings == ()


@pytest.mark.slow
def test_it_is_found_by_its_entry_point_once_installed(package: Path, tmp_path: Path) -> None:
    pip = "install --quiet --no-index --no-deps --no-build-isolation --disable-pip-version-check"
    run(package, "-m", "pip", *pip.split(), "--target", str(tmp_path), ".")
    told = run(package, "-m", "bayplan", "check-config", "config.yaml", path=tmp_path)
    assert told.count("RackPower") == 2


def test_the_configuration_works_without_installing_it(package: Path) -> None:
    told = run(
        package, "-m", "bayplan", "check-config", "config.yaml", "--plugin-dir", "src/rack_power"
    )
    assert told.count("RackPower") == 2
    assert "warning" not in told


def test_the_examples_can_be_used(package: Path) -> None:
    shape = shapes.read(package / "examples" / "cluster.yaml")
    assert [group.name for group in shape.nodes] == ["plain", "fast"]
    pods = list(documents((package / "examples" / "pods.yaml").read_bytes()))
    assert {pod["spec"]["schedulerName"] for pod in pods} == {"rack-power"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("RackPower", Names("RackPower", "rack_power", "rack-power"), id="a class"),
        pytest.param("rack-power", Names("RackPower", "rack_power", "rack-power"), id="a project"),
        pytest.param("rack_power", Names("RackPower", "rack_power", "rack-power"), id="a module"),
        pytest.param("GPUShare", Names("GPUShare", "gpu_share", "gpu-share"), id="an abbreviation"),
        pytest.param("spread2", Names("Spread2", "spread2", "spread2"), id="a number"),
    ],
)
def test_names(text: str, expected: Names) -> None:
    assert names_of(text) == expected


@pytest.mark.parametrize("text", ["", "7up", "a b", "../a", "class", "bayplan", "重", "-a", "a/b"])
def test_names_that_nothing_can_be_called(text: str) -> None:
    with pytest.raises(BayplanError, match="is no name for a plugin"):
        names_of(text)
