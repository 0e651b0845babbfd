from __future__ import annotations

from pathlib import Path

import pytest

from bayplan.errors import ConfigError
from bayplan.kit.linting.subject import subjects
from tests.kit.linting.writing import written

TWO = "class A(FilterPlugin): ...\n\nclass B(ScorePlugin): ...\n"


def test_all_plugins_of_a_file(tmp_path: Path) -> None:
    path = written(tmp_path, TWO)
    assert [subject.plugin.name for subject in subjects(str(path))] == ["A", "B"]


def test_one_of_them(tmp_path: Path) -> None:
    path = written(tmp_path, TWO)
    assert [subject.plugin.name for subject in subjects(f"{path}:B")] == ["B"]


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        pytest.param("none.py", "there is no such file", id="no file"),
        pytest.param("plugin.py:C", "there is no plugin C in it", id="no such class"),
        pytest.param("empty.py", "there is no plugin: a class that inherits", id="no plugin"),
        pytest.param("broken.py", "SyntaxError", id="no Python"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, reference: str, words: str) -> None:
    written(tmp_path, TWO)
    written(tmp_path, "", "empty.py")
    written(tmp_path, "class", "broken.py")
    with pytest.raises(ConfigError, match=words) as raised:
        subjects(str(tmp_path / reference))
    assert str(tmp_path) in str(raised.value)


def test_files_beside_it_may_be_imported(tmp_path: Path) -> None:
    (tmp_path / "_prices.py").write_text("CHEAP = 3\n")
    path = written(
        tmp_path,
        "from ._prices import CHEAP\n\nclass A(ScorePlugin):\n"
        "    def score_node(self, pod, node):\n        return CHEAP\n",
    )
    assert [subject.plugin.name for subject in subjects(str(path))] == ["A"]
