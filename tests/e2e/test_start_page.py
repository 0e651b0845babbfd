"""The last step of docs/guide/start.md: the package that the page makes, installed by the chart on a real API server."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bayplan.kit.new_plugin import names_of, write
from tests.docs.pages import DOCS, ROOT, blocks
from tests.docs.session import commands, is_like
from tests.e2e.stage import Stage, node
from tests.e2e.test_deployment_page import Reader

pytestmark = pytest.mark.e2e

PAGE = DOCS / "guide" / "start.md"


def test_the_plugin_of_the_guide_is_deployed(stage: Stage, tmp_path: Path) -> None:
    if stage.subject != "bayplan":
        pytest.skip("a page about bayplan")
    stage.need("kubectl")
    stage.add(
        node("plain-1"),
        node("plain-2"),
        node("fast-1").label("example.com/kind", "fast"),
        node("fast-2").label("example.com/kind", "fast"),
    )
    stage.may_wait.add("default/lost")
    (tmp_path / "deploy").symlink_to(ROOT / "deploy")
    write(names_of("Roomy"), tmp_path)
    found = list(blocks(PAGE))
    (diff,) = (block for block in found if block.title == "five-lines.diff")
    subprocess.run(["git", "apply", "-"], input=diff.text, cwd=tmp_path, text=True, check=True)

    reader = Reader(stage, tmp_path)
    (steps,) = (block for block in found if block.not_run == "make e2e runs it")
    for command, expected in commands(steps):
        said = reader.run(command)
        if expected:
            assert is_like(said, expected), f"{command}\nprints\n{said}\nand not\n{expected}"
        if command.startswith("helm install"):
            reader.start_what_is_installed("roomy")
