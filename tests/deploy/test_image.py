"""The Dockerfile: built from pinned parts, of what .dockerignore lets through, and run as nobody. No image is built here."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from tests.deploy.chart import CHART, ROOT, render

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
#: Instruction and argument; continued lines are one.
STEPS = [
    (found[1], found[2])
    for line in re.sub(r"\\\n\s*", "", DOCKERFILE).splitlines()
    if (found := re.match(r"([A-Z]+) (.*)", line))
]


def arguments(instruction: str) -> list[str]:
    return [argument for name, argument in STEPS if name == instruction]


def context(path: str) -> bool:
    """Whether .dockerignore lets a file through: the last pattern that fits decides."""
    taken = True
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        pattern = line.strip().removeprefix("!").removeprefix("**/")
        if not pattern or line.startswith("#"):
            continue
        parts = Path(path).parts
        heads = ["/".join(parts[: n + 1]) for n in range(len(parts))]
        if any(fnmatch(head, pattern) for head in heads) or (
            line.startswith("**/") and any(fnmatch(part, pattern) for part in parts)
        ):
            taken = line.startswith("!")
    return taken


def copied() -> list[str]:
    """The paths that the first stage takes from the repository."""
    return [
        path
        for argument in arguments("COPY")
        if not argument.startswith("--from")
        for path in argument.split()[:-1]
    ]


def test_it_starts_from_a_version_to_the_digit_in_both_stages() -> None:
    images = {argument.split()[0] for argument in arguments("FROM")}
    assert len(arguments("FROM")) == 2
    (image,) = images
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+", image)


def test_every_package_is_of_the_version_that_the_checks_run_with() -> None:
    installs = [step for step in arguments("RUN") if " install " in step or "pip install" in step]
    assert len(installs) == 2
    for step in installs:
        assert "--constraint requirements/dev.txt" in step


def test_it_runs_as_nobody_and_begins_with_bayplan() -> None:
    assert arguments("USER")[-1] == "65532:65532"
    assert arguments("ENTRYPOINT") == ['["bayplan"]']
    pod = render().one("Deployment")["spec"]["template"]["spec"]
    assert (
        f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}"
        == (arguments("USER")[-1])
    )
    # The chart gives arguments and leaves the program to the image.
    assert "command" not in render().container()


def test_what_is_copied_is_there_and_let_through() -> None:
    for path in copied():
        assert (ROOT / path).exists(), path
        assert context(path), path


@pytest.mark.parametrize(
    "path", [".git/config", ".kube/bin/helm", ".venv/x", "key.pem", "tests/x.py"]
)
def test_nothing_else_gets_near_it(path: str) -> None:
    assert not context(path)


@pytest.mark.slow
def test_what_is_copied_is_enough_for_a_wheel_with_everything_in_it(tmp_path: Path) -> None:
    tree = tmp_path / "context"
    for path in copied():
        target = tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / path).is_dir():
            shutil.copytree(ROOT / path, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / path, target)
    (build,) = (step for step in arguments("RUN") if "hatchling build" in step)
    words = [sys.executable, *build.split()[1:]]
    subprocess.run(words, cwd=tree, check=True, capture_output=True)

    (wheel,) = (tree / "dist").glob("bayplan-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "bayplan").rglob("*.py")
    }
    assert sources <= packed
    assert "bayplan/examples/demo/cluster.yaml" in packed


def test_chart_image_and_package_are_of_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    (version,) = re.findall(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.M)
    assert chart["appVersion"] == version
    assert render().container()["image"] == f"bayplan:{version}"
