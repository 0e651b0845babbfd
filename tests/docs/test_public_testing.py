"""``bayplan.testing`` in one place: listed, documented, and typed so that an editor completes ``node.`` and ``pod.``."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

from bayplan import testing
from bayplan.kit.new_plugin import names_of, write

SNIPPET = """
from bayplan import FilterPlugin, NodeInfo, PodInfo, Rejected
from bayplan.testing import decide, make_cluster, make_node, make_pod, place


class A(FilterPlugin):
    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        reveal_type(pod.labels)
        reveal_type(pod.requests)
        reveal_type(pod.priority)
        reveal_type(pod.spec.tolerations)
        reveal_type(node.labels)
        reveal_type(node.free["cpu"])
        reveal_type(node.usage.cpu)
        reveal_type(node.taints[0].effect)
        reveal_type(node.pods[0].namespace)
        reveal_type(self.handle.view.in_zone("a")[0].zone)
        return None


answer = decide(make_pod("p").requests(cpu="1"), make_cluster(make_node("a").zone("z")), A)
reveal_type(answer.node)
reveal_type(answer.rejected)
reveal_type(place([make_pod("p")], make_cluster(), A)[0].score("a", "A"))
"""
REVEALED = [
    "Mapping[str, str]",
    "Mapping[str, int]",
    "int",
    "tuple[Toleration, ...]",
    "Mapping[str, str]",
    "int",
    "float",
    "str",
    "str",
    "str",
    "str",
    "dict[str, str]",
    "int",
]


def test_all_that_is_there_is_listed() -> None:
    there = {
        name
        for name, value in vars(testing).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert there == set(testing.__all__)
    assert testing.__all__ == sorted(testing.__all__)


@pytest.mark.parametrize("name", testing.__all__)
def test_all_of_it_is_documented(name: str) -> None:
    found = getattr(testing, name)
    assert inspect.getdoc(found)
    if inspect.isclass(found) and found.__module__.startswith("bayplan.testing."):
        silent = [
            attribute
            for attribute, value in vars(found).items()
            if not attribute.startswith("_")
            and (inspect.isfunction(value) or isinstance(value, property))
            and not inspect.getdoc(getattr(found, attribute))
        ]
        assert silent == [], name


@pytest.mark.slow
def test_an_editor_knows_what_there_is(tmp_path: Path) -> None:
    """And a new plugin's package is typed to the last word: one run of mypy for both, since a run takes seconds."""
    path = tmp_path / "snippet.py"
    path.write_text(SNIPPET)
    write(names_of("RackPower"), tmp_path)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--cache-dir",
            os.devnull,
            "--no-incremental",
            str(path),
            str(tmp_path / "rack-power" / "src"),
        ],
        env={**os.environ, "MYPYPATH": str(Path(testing.__file__).parents[2])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    told = [line for line in done.stdout.splitlines() if "Revealed type" in line]
    # Without the modules of the names: which one a type comes from is mypy's business.
    revealed = [re.sub(r"\b[\w.]+\.(?=\w)", "", line.split('"')[1]) for line in told]
    assert revealed == REVEALED, done.stdout
    assert done.returncode == 0
