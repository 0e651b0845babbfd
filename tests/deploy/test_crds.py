"""The kinds in ``deploy/crds``: one source, which the chart brings along."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
import yaml

from tests.deploy.chart import CHART, ROOT, helm

CRDS = sorted((ROOT / "deploy" / "crds").glob("*.yaml"))


@pytest.mark.parametrize("path", CRDS, ids=[path.stem for path in CRDS])
def test_a_kind_is_told_by_its_file(path: Any) -> None:
    (crd,) = yaml.safe_load_all(path.read_text(encoding="utf-8"))
    assert (crd["apiVersion"], crd["kind"]) == (
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
    )
    spec = crd["spec"]
    assert crd["metadata"]["name"] == f"{spec['names']['plural']}.{spec['group']}"
    assert [version["name"] for version in spec["versions"] if version["storage"]]


def test_the_chart_installs_all_of_them() -> None:
    words = [helm(), "show", "crds", str(CHART)]
    shown = subprocess.run(words, capture_output=True, text=True, check=True)
    names = {crd["metadata"]["name"] for crd in yaml.safe_load_all(shown.stdout) if crd}
    assert names == {
        crd["metadata"]["name"] for path in CRDS for crd in yaml.safe_load_all(path.read_text())
    }
    assert names


def test_they_go_into_the_packed_chart_as_files(tmp_path: Any) -> None:
    """In the repository they are a link, which whoever has only the packed chart could not follow."""
    words = [helm(), "package", str(CHART), f"--destination={tmp_path}"]
    subprocess.run(words, capture_output=True, text=True, check=True)
    (packed,) = tmp_path.glob("bayplan-*.tgz")
    words = ["tar", "--list", "--gzip", f"--file={packed}"]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert {f"bayplan/crds/{path.name}" for path in CRDS} <= set(listed.splitlines())
