from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from bayplan.cli.lint_plugin import lint_plugin

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"
BAD = "from bayplan import FilterPlugin\nimport time\n\n\nclass Late(FilterPlugin):\n    def filter_node(self, pod, node):\n        time.time()\n"


def test_a_good_plugin() -> None:
    done = CliRunner().invoke(lint_plugin, [str(EXAMPLES / "low_cpu.py"), "--nodes", "50"])
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert lines[0] == "LowCpuScheduler (filter, score)"
    said = [line.split()[0] for line in lines[1:]]
    # On a machine that is busy with other things there may be doubts about its speed.
    assert [word for word in said if word not in ("doubt", "do:")] == (
        ["ok"] * 4 + ["-", "-", "ok", "speed"]
    )
    assert "pods/s at 50 nodes" in lines[-1]


def test_a_bad_one(tmp_path: Path) -> None:
    path = tmp_path / "late.py"
    path.write_text(BAD)
    done = CliRunner().invoke(lint_plugin, [f"{path}:Late", "--no-speed"])
    assert done.exit_code == 1
    assert f"  fault  imports: {path}:2: filter_node uses time: it reads the clock" in done.output
    assert "         do: have a provider measure" in done.output


def test_json(tmp_path: Path) -> None:
    path = tmp_path / "late.py"
    path.write_text(BAD)
    done = CliRunner().invoke(lint_plugin, [str(path), "--no-speed", "-o", "json"])
    (report,) = json.loads(done.output)
    assert (report["plugin"], report["good"], report["speed"]) == ("Late", False, None)
    assert report["findings"][0]["rule"] == "imports"


def test_arguments_are_checked() -> None:
    path = str(EXAMPLES / "low_cpu.py")
    for given, words in (
        ("{threshold: many}", "threshold"),
        ("{treshold: 0.7}", 'unknown field "treshold"'),
        ("[1]", "wants a mapping"),
        ("{", "not YAML"),
    ):
        done = CliRunner().invoke(lint_plugin, [path, "--no-speed", "--args", given])
        assert done.exit_code != 0
        assert words in done.output


@pytest.mark.parametrize("reference", ["none.py", "none.py:A", "A"])
def test_a_file_that_is_not_there(reference: str) -> None:
    done = CliRunner().invoke(lint_plugin, [reference])
    assert done.exit_code == 1
    assert done.output == f"Error: {reference.removesuffix(':A')}: there is no such file\n"
