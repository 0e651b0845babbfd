from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from bayplan.cli.new_plugin import new_plugin


def test_what_is_written_is_told(tmp_path: Path) -> None:
    done = CliRunner().invoke(new_plugin, ["RackPower", "--directory", str(tmp_path)])
    assert done.exit_code == 0
    listed = done.output.partition("\n\n")[0].splitlines()
    files = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(listed) == sorted(map(str, files))


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "rack-power").mkdir()
    done = CliRunner().invoke(new_plugin, ["rack_power", "--directory", str(tmp_path)])
    assert done.exit_code == 1
    assert "rack-power is there already" in done.output


def test_a_bad_name(tmp_path: Path) -> None:
    done = CliRunner().invoke(new_plugin, ["7up", "--directory", str(tmp_path)])
    assert done.exit_code == 1
    assert "'7up' is no name for a plugin" in done.output


def test_a_place_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = CliRunner().invoke(
        new_plugin, ["RackPower", "--directory", str(tmp_path / "file" / "a")]
    )
    assert done.exit_code == 1
    assert "Not a directory" in done.output
