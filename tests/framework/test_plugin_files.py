from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from bayplan.errors import ConfigError
from bayplan.framework.registry import Registry

TEXT = """\
from bayplan import ScorePlugin
from . import _number

class Mine(ScorePlugin):
    def score_node(self, pod, node):
        return {number} + _number.MORE
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "plugins"
    place.mkdir()
    return place


def write(folder: Path, number: int, more: int = 0) -> None:
    (folder / "mine.py").write_text(TEXT.format(number=number))
    (folder / "_number.py").write_text(f"MORE = {more}\n")
    for file in folder.iterdir():
        os.utime(file, (1_000_000_000, 1_000_000_000))  # as if all were written within one second


def score(registry: Registry) -> float:
    plugin = registry.get("Mine")
    assert plugin is not None
    return plugin().score_node(None, None)  # type: ignore[attr-defined, no-any-return]


def loaded(folder: Path, generation: int) -> Registry:
    registry = Registry(generation=generation)
    registry.add_directory(folder)
    return registry


def test_each_generation_has_the_text_of_its_time(folder: Path) -> None:
    write(folder, 1, 10)
    old = loaded(folder, 1)
    write(folder, 2, 20)
    new = loaded(folder, 2)
    assert (score(old), score(new)) == (11, 22)
    assert old.get("Mine") is not new.get("Mine")


def test_nothing_is_kept_beside_the_files(folder: Path) -> None:
    write(folder, 1)
    loaded(folder, 3)
    assert [path.name for path in folder.iterdir() if path.is_dir()] == []


def test_what_is_dropped_is_out_of_the_way_and_goes_on_working(folder: Path) -> None:
    write(folder, 1, 10)
    before = set(sys.modules)
    registry = loaded(folder, 4)
    made = {name.partition("_g4")[2] for name in set(sys.modules) - before}
    assert made == {"", ".mine", "._number"}
    registry.drop()
    assert set(sys.modules) == before
    assert score(registry) == 11


def test_a_file_with_a_mistake_is_named_with_its_line(folder: Path) -> None:
    (folder / "broken.py").write_text("x = 1\nclass Mine(:\n")
    with pytest.raises(ConfigError) as caught:
        loaded(folder, 5)
    (problem,) = caught.value.problems
    assert problem.message.startswith(f"{folder / 'broken.py'}: cannot import broken: SyntaxError")
    assert "line 2" in problem.message


def test_a_module_of_ones_own_is_loaded_once_per_generation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "house_rules.py"
    text = "from bayplan import ScorePlugin\nclass House(ScorePlugin):\n    points = {}\n"
    file.write_text(text.format(1))
    first = Registry()
    assert vars(first.load("house_rules:House"))["points"] == 1
    assert first.files == [file]
    file.write_text(text.format(2))
    second = Registry(generation=2)
    assert vars(second.load("house_rules:House"))["points"] == 2
    assert second.load_object("house_rules:House") is second.get("House")
    assert vars(first.load_object("house_rules:House"))["points"] == 1
    file.write_text("raise RuntimeError('no')\n")
    with pytest.raises(ConfigError, match="cannot import house_rules: RuntimeError: no"):
        Registry(generation=3).load("house_rules:House")
    assert "house_rules__g3" not in sys.modules


def test_what_is_installed_is_not_loaded_again() -> None:
    registry = Registry(generation=6)
    assert registry.load_object("bayplan.policies.app_spread:AppSpread").name == "AppSpread"
    assert registry.load_object("json:loads") is __import__("json").loads
    assert registry.files == []
