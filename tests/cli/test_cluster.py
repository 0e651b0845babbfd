"""``bayplan cluster`` as a process: it says when it is ready, serves, and leaves nothing behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from bayplan.cli import main


@contextmanager
def running(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The process, and the line that it prints once it is ready."""
    command = [sys.executable, "-m", "bayplan", "cluster", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline(), process
        finally:
            process.kill()


def test_it_serves_until_it_is_told_to_end(tmp_path: Path) -> None:
    config = tmp_path / "kubeconfig"
    with running("--nodes", "2", "--kubeconfig", str(config)) as (line, process):
        assert line.startswith("2 nodes at http://127.0.0.1:")
        assert f"kubectl --kubeconfig {config} get nodes" in line
        assert config.stat().st_mode & 0o777 == 0o600
        assert nodes_at(line) == ["node-1", "node-2"]
        clusters = yaml.safe_load(config.read_text(encoding="utf-8"))["clusters"]
        assert clusters[0]["cluster"]["server"] in line
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert not config.exists()


def nodes_at(line: str) -> list[str]:
    """What the cluster says about its nodes; ``line`` is what it printed."""
    server = line.partition(" at ")[2].partition(";")[0]
    with urllib.request.urlopen(f"{server}/api/v1/nodes") as answer:
        return [one["metadata"]["name"] for one in json.load(answer)["items"]]


def test_it_remembers(tmp_path: Path) -> None:
    state = ("--state", str(tmp_path))
    with running("--nodes", "2", *state) as (line, process):
        assert nodes_at(line) == ["node-1", "node-2"]
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    with running("--nodes", "0", *state) as (line, process):
        assert line.startswith("2 nodes at ")
        assert nodes_at(line) == ["node-1", "node-2"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["--nodes", "1", "--shape", "x"], "give one of them", id="two shapes"),
        pytest.param(["--shape", "none.yaml"], "none.yaml: cannot be read", id="no shape"),
        pytest.param(["--kubeconfig", "mine"], "name another one", id="somebody's file"),
    ],
)
def test_what_is_refused(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").write_text("current-context: production\n", encoding="utf-8")
    result = CliRunner().invoke(main, ["cluster", *arguments])
    assert result.exit_code != 0
    assert said in result.output
    assert Path("mine").read_text(encoding="utf-8") == "current-context: production\n"
