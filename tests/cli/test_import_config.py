from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner
from tests.kit.importing.test_volcano import STOCK

from bayplan.cli.check_config import check_config
from bayplan.cli.import_config import import_config


def test_a_file_and_its_account(tmp_path: Path) -> None:
    path, ours = tmp_path / "volcano-scheduler.conf", tmp_path / "bayplan.yaml"
    path.write_text(STOCK)
    done = CliRunner().invoke(import_config, [str(path), "--output", str(ours)])
    assert done.exit_code == 0
    assert "tier 2: binpack" in done.stderr
    assert done.stdout == ""
    assert CliRunner().invoke(check_config, [str(ours)]).exit_code == 0


def test_standard_input_and_output() -> None:
    done = CliRunner().invoke(import_config, ["-", "--strict"], input=STOCK)
    assert done.exit_code == 1  # overcommit has no counterpart
    assert done.stdout.startswith("apiVersion: kubescheduler.config.k8s.io/v1\n")


def test_what_cannot_be_read(tmp_path: Path) -> None:
    done = CliRunner().invoke(import_config, [str(tmp_path / "none")])
    assert done.exit_code == 1
    assert done.output == f"Error: {tmp_path / 'none'}: No such file or directory\n"
    (tmp_path / "other.yaml").write_text("a: 1")
    done = CliRunner().invoke(import_config, [str(tmp_path / "other.yaml")])
    assert "neither a KubeSchedulerConfiguration" in done.output
