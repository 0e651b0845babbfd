"""Rules about the tree that no linter knows: sizes, names, mirrors, one plugin per file.

Imports are import-linter's business, prints and time are ruff's; both run in ``make check``.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "bayplan"
TESTS = ROOT / "tests"

MAX_LINES = 600
LONG_LINES = 400

#: Files of more than 400 lines, with the reason why they are not split: path under src/bayplan.
LONG_FILES: dict[str, str] = {
    "queueing/scheduling.py": "every move between the places of the picture at its top, to be read as one",
}

#: Names that say nothing about what is inside, and so collect everything.
VAGUE_NAMES = {
    "base",
    "common",
    "core",
    "helper",
    "helpers",
    "manager",
    "misc",
    "tests",
    "util",
    "utils",
}

#: Folders of tests that are about more than one module.
THEMES = {
    "conformance",
    "deploy",
    "docs",
    "e2e",
    "embedded",
    "integration",
    "properties",
    "seeds",
}

#: Tests at the top that are about the tree itself or about the package as a whole.
WHOLE_PACKAGE = {
    "test_architecture.py",
    "test_bad_input.py",
    "test_examples.py",
    "test_public_api.py",
}

#: One plugin per file holds in these packages.
PLUGIN_PACKAGES = ("plugins", "policies")


def source_files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def line_count(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def last_name(base: ast.expr) -> str:
    """``FilterPlugin`` of ``FilterPlugin``, ``framework.FilterPlugin`` and ``FilterPlugin[Args]``."""
    match base:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return last_name(value)
        case _:
            return ""


def plugin_classes(path: Path) -> list[str]:
    """Public classes of a file that inherit from something called a plugin."""
    return [
        node.name
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
        and not node.name.startswith("_")
        and any(last_name(base).endswith("Plugin") for base in node.bases)
    ]


def plugins_by_place() -> dict[str, list[str]]:
    """Plugin classes per module, or per package where a plugin is a package of its own."""
    found: dict[str, list[str]] = {}
    for package in PLUGIN_PACKAGES:
        for path in sorted((SOURCE / package).rglob("*.py")):
            place = path.relative_to(SOURCE / package).parts[0].removesuffix(".py")
            found.setdefault(f"{package}/{place}", []).extend(plugin_classes(path))
    return found


def test_no_file_is_too_long() -> None:
    too_long = {name_of(path): line_count(path) for path in source_files()}
    too_long = {name: lines for name, lines in too_long.items() if lines > MAX_LINES}
    assert too_long == {}, "split by question, not into utils"


def test_every_long_file_has_a_reason() -> None:
    long = {name_of(path) for path in source_files() if line_count(path) > LONG_LINES}
    assert long == set(LONG_FILES), "split it, or give a reason; drop the reason once it is short"


def test_no_module_has_a_vague_name() -> None:
    vague = [
        name_of(path)
        for path in source_files()
        if path.stem in VAGUE_NAMES or path.parent.name in VAGUE_NAMES
    ]
    assert vague == []


def test_every_module_says_what_it_is() -> None:
    silent = [
        name_of(path)
        for path in source_files()
        if ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) is None
    ]
    assert silent == []


def test_tests_mirror_the_source() -> None:
    strays = []
    for path in sorted(TESTS.rglob("test_*.py")):
        place = path.relative_to(TESTS)
        if place.parts[0] in THEMES | WHOLE_PACKAGE:
            continue
        subject = SOURCE / place.parent / path.stem.removeprefix("test_")
        if not subject.is_dir() and not subject.with_suffix(".py").is_file():
            strays.append(place.as_posix())
    assert strays == [], "tests/a/test_b.py is about src/bayplan/a/b.py"


def test_a_file_holds_one_plugin_and_has_its_name() -> None:
    wrong = {}
    for place, classes in plugins_by_place().items():
        file = Path(place).name
        # _template.py is there to be copied; its class is called what the copier calls it.
        named_alike = file.startswith("_") or [snake_case(name) for name in classes] == [file]
        if len(classes) > 1 or (classes and not named_alike):
            wrong[place] = classes
    assert wrong == {}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("NodeName", "node_name", id="two words"),
        pytest.param("PodTopologySpread", "pod_topology_spread", id="three words"),
        pytest.param("GPUSharing", "gpu_sharing", id="an abbreviation in front"),
    ],
)
def test_snake_case(name: str, expected: str) -> None:
    assert snake_case(name) == expected


def test_plugin_classes_are_found(tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(
        "class A(FilterPlugin): ...\n"
        "class B(Plain, framework.ScorePlugin): ...\n"
        "class C(ScorePlugin[Args]): ...\n"
        "class _Hidden(FilterPlugin): ...\n"
        "class Args(Struct): ...\n",
        encoding="utf-8",
    )
    assert plugin_classes(path) == ["A", "B", "C"]


def test_requirements_pin_every_dependency_and_name_no_address() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {re.split(r"[^\w.-]", line, maxsplit=1)[0].lower() for line in wanted}

    lines = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [line for line in pins if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
    assert names - {line.partition("==")[0].lower() for line in pins} == set()
