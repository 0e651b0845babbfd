"""The chart in ``deploy/helm/bayplan``, rendered by the real helm. Read by ``tests/deploy``, and by ``tests/e2e``, which installs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from bayplan.testing.control_plane import Obj

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm" / "bayplan"
SEVERAL = CHART.parent / "values" / "several-schedulers.yaml"

HOW_TO_GET = "no helm: run `make kube`, or put helm 3.18 or later on PATH"

#: Kinds by which an account gets its rights.
RIGHTS = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")


def helm() -> str:
    """The program; without it the test is skipped with the line that says how to get it."""
    built = ROOT / ".kube" / "bin" / "helm"
    found = str(built) if os.access(built, os.X_OK) else shutil.which("helm")
    if found is None:
        pytest.skip(HOW_TO_GET)
    return found


@dataclass(frozen=True)
class Rendered:
    """What helm would send to the cluster."""

    text: str

    @property
    def objects(self) -> list[Obj]:
        return [obj for obj in yaml.safe_load_all(self.text) if obj is not None]

    def of_kind(self, *kinds: str) -> list[Obj]:
        return [obj for obj in self.objects if obj["kind"] in kinds]

    def one(self, kind: str, name: str = "") -> Obj:
        """The one of this kind; with a name, the one so called."""
        (found,) = (
            obj for obj in self.of_kind(kind) if not name or obj["metadata"]["name"] == name
        )
        return found

    def container(self, name: str = "") -> Obj:
        """The only container of a Deployment's pods."""
        (container,) = self.one("Deployment", name)["spec"]["template"]["spec"]["containers"]
        found: Obj = container
        return found


class RenderError(Exception):
    """helm refuses."""


def render(
    values: Mapping[str, Any] | None = None,
    *files: Path,
    release: str = "bayplan",
    namespace: str = "kube-system",
) -> Rendered:
    """``helm template`` with these values over those of the files, without the kinds in ``crds``.

    Raises:
        RenderError: with helm's own words.
    """
    return _render(json.dumps(values or {}), files, release, namespace)


@lru_cache(maxsize=64)
def _render(values: str, files: Sequence[Path], release: str, namespace: str) -> Rendered:
    words = [helm(), "template", release, str(CHART), f"--namespace={namespace}"]
    words += [f"--values={file}" for file in files]
    run = subprocess.run(
        [*words, "--values=-"], input=values, capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise RenderError(run.stderr)
    # The kinds in deploy/crds are in the chart by a link, which helm remarks on.
    said = [line for line in run.stderr.splitlines() if "found symbolic link" not in line]
    assert not said, run.stderr
    return Rendered(run.stdout)


def one_scheduler(**entry: Any) -> Rendered:
    """The chart with one scheduler, called ``bayplan`` unless the entry says otherwise."""
    return render({"schedulers": [{"name": "bayplan", **entry}]})
