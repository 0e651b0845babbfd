from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from bayplan.errors import ConfigError
from bayplan.framework.plugin import FilterPlugin, ScorePlugin
from bayplan.framework.registry import ENTRY_POINTS, Registry

PLUGIN = """
from bayplan.framework.plugin import ScorePlugin


class {name}(ScorePlugin):
    weight_factor: int = 1
"""


class Here(FilterPlugin):
    """Found by its name."""


class There(ScorePlugin):
    """Found by module and class."""


def published(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, ENTRY_POINTS)


def test_by_name() -> None:
    registry = Registry([Here])
    assert registry.get("Here") is Here
    assert registry.get("There") is None
    assert ("Here" in registry, "There" in registry, list(registry)) == (True, False, ["Here"])


def test_a_name_belongs_to_one_class() -> None:
    registry = Registry([Here])
    registry.add(Here)
    other = type("Here", (ScorePlugin,), {})
    with pytest.raises(ValueError, match="a plugin named Here already exists"):
        registry.add(other)


def test_by_module_and_class() -> None:
    registry = Registry()
    assert registry.load(f"{__name__}:There") is There
    assert registry.get("There") is There
    assert registry.load(f"{__name__}:There") is There


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        pytest.param(
            "no_such_module:X", "cannot import no_such_module: ModuleNotFound", id="module"
        ),
        pytest.param(f"{__name__}:Nope", f"cannot load {__name__}:Nope: module", id="class"),
        pytest.param("json:dumps", "json:dumps is not a plugin class", id="a function"),
        pytest.param("json:JSONDecoder", "json:JSONDecoder is not a plugin class", id="no plugin"),
    ],
)
def test_what_cannot_be_loaded(reference: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Registry().load(reference)
    assert str(caught.value).startswith(message)


def test_a_reference_to_a_name_that_is_taken() -> None:
    registry = Registry([type("There", (ScorePlugin,), {})])
    with pytest.raises(ConfigError) as caught:
        registry.load(f"{__name__}:There")
    assert str(caught.value) == (
        f"cannot use {__name__}:There: a plugin named There already exists"
    )


def test_entry_points_are_imported_when_asked_for() -> None:
    registry = Registry()
    registry.add_entry_points(
        [published("There", f"{__name__}:There"), published("Broken", "no_such_module:X")]
    )
    assert list(registry) == ["There", "Broken"]
    assert registry.get("There") is There
    for _ in range(2):
        with pytest.raises(ConfigError, match="cannot import no_such_module"):
            registry.get("Broken")


def test_installed_entry_points_are_looked_up() -> None:
    registry = Registry()
    registry.add_entry_points()
    assert all(name in registry for name in registry)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        pytest.param(
            published("Alias", f"{__name__}:There"), "holds a plugin named There", id="another name"
        ),
        pytest.param(
            published("Alias", "json:JSONDecoder"), "is not a plugin class", id="no plugin"
        ),
    ],
)
def test_entry_points_that_do_not_hold_what_they_say(entry: EntryPoint, message: str) -> None:
    registry = Registry()
    registry.add_entry_points([entry])
    with pytest.raises(ConfigError, match=message):
        registry.get("Alias")


def test_an_entry_point_of_a_name_that_is_taken() -> None:
    with pytest.raises(ConfigError, match="a plugin named Here already exists"):
        Registry([Here]).add_entry_points([published("Here", f"{__name__}:There")])


def test_a_directory(tmp_path: Path) -> None:
    (tmp_path / "cheap.py").write_text(PLUGIN.format(name="Cheap"))
    (tmp_path / "near-by.py").write_text(
        "from . import _prices\nfrom .cheap import Cheap\n"
        + PLUGIN.format(name="Near")
        + "\n\nclass _Hidden(ScorePlugin): ...\n\nclass Plain: ...\n\nFACTOR = _prices.FACTOR\n"
    )
    (tmp_path / "_prices.py").write_text("FACTOR = 3\n")
    (tmp_path / "notes.txt").write_text("not Python")
    registry = Registry([Here])
    assert [plugin.name for plugin in registry.add_directory(tmp_path)] == ["Cheap", "Near"]
    assert sorted(registry) == ["Cheap", "Here", "Near"]
    assert len(registry.add_directory(tmp_path)) == 2, "a second look changes nothing"
    assert registry.load_object("cheap:Cheap") is registry.get("Cheap")
    near = registry.get("Near")
    assert near is not None
    assert near().args.__struct_fields__ == ("weight_factor",)


def test_every_file_that_fails_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f(:\n")
    (tmp_path / "b.py").write_text("import json\n\nprice = 1 / 0\n")
    (tmp_path / "c.py").write_text("import no_such_module\n")
    (tmp_path / "d.py").write_text(PLUGIN.format(name="Here"))
    (tmp_path / "e.py").write_text(PLUGIN.format(name="Fine"))
    registry = Registry([Here])
    with pytest.raises(ConfigError) as caught:
        registry.add_directory(tmp_path)
    found = [problem.message for problem in caught.value.problems]
    assert (
        found[0] == f"{tmp_path}/a.py: cannot import a: SyntaxError: invalid syntax (a.py, line 1)"
    )
    assert found[1] == (
        f"{tmp_path}/b.py: cannot import b: ZeroDivisionError: division by zero (line 3 of {tmp_path}/b.py)"
    )
    assert found[2].startswith(
        f"{tmp_path}/c.py: cannot import c: ModuleNotFoundError: No module named"
    )
    assert found[3] == f"{tmp_path}/d.py: a plugin named Here already exists"
    assert "Fine" in registry


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nowhere is not a directory"):
        Registry().add_directory(tmp_path / "nowhere")


def test_what_is_offered_makes_way_for_anybody_s_plugin_of_that_name(tmp_path: Path) -> None:
    registry = Registry()
    registry.offer("There", f"{__name__}:There")
    assert "There" in registry
    assert list(registry) == ["There"]
    assert registry.get("There") is There
    (tmp_path / "own.py").write_text(PLUGIN.format(name="There"))
    (own,) = registry.add_directory(tmp_path)
    assert registry.get("There") is own
    assert list(registry) == ["There"]


def test_what_is_offered_under_another_name_goes_by_that() -> None:
    registry = Registry()
    registry.offer("Yonder", f"{__name__}:There")
    found = registry.get("Yonder")
    assert found is not None
    assert (found.name, issubclass(found, There)) == ("Yonder", True)
