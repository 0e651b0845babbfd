"""docs/deployment.md, followed from top to bottom on a real API server with controllers and a kube-scheduler: each command does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.chart import ROOT, Rendered, helm
from tests.e2e.stage import Stage, node
from tests.e2e.subjects import Running

pytestmark = pytest.mark.e2e

PAGE = ROOT / "docs" / "deployment.md"
_BLOCK = re.compile(r'^```(yaml title="(?P<file>[^"]+)")?\n(?P<text>.*?)^```$', re.M | re.S)

#: Where no container runtime is needed the command is run.
NOT_RUN = ("docker ",)
#: What the page tells to do, at the least; so that a page that is read wrongly is noticed.
MUST_BE_RUN = ("helm install", "helm upgrade", "helm uninstall", "kubectl apply", "kubectl wait")


def steps(folder: Path) -> list[str]:
    """The page's commands in order; its files are written on the way."""
    found: list[str] = []
    for block in _BLOCK.finditer(PAGE.read_text(encoding="utf-8")):
        if block["file"]:
            (folder / block["file"]).write_text(block["text"], encoding="utf-8")
        else:
            found += block["text"].splitlines()
    return found


class Reader:
    """Somebody who types what the page says."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self._stage = stage
        self._folder = folder
        login = stage.plane.user("reader", ["system:masters"]).kubeconfig
        # Where ``bayplan`` is, whether its environment is activated or not.
        own = Path(sys.executable).parent
        programs = [own, Path(helm()).parent, stage.plane.binaries.folder]
        path = os.pathsep.join([*map(str, programs), os.environ["PATH"]])
        home = {"HELM_CONFIG_HOME": str(folder), "HELM_CACHE_HOME": str(folder)}
        self._env = {**os.environ, **home, "KUBECONFIG": str(login), "PATH": path}

    def run(self, line: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", line],
            cwd=self._folder,
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}"
        return done.stdout

    def start_what_is_installed(self, release: str = "bayplan") -> Running:
        """What a kubelet would do next: start the container of the release, with its account and its configuration."""
        manifest = self.run(f"helm get manifest {release} --namespace kube-system")
        return self._stage.start_container(Rendered(manifest), release)


def test_the_page_can_be_followed(stage: Stage, tmp_path: Path) -> None:
    if stage.subject != "bayplan":
        pytest.skip("a page about bayplan")
    for program in ("kubectl", "kube-scheduler", "kube-controller-manager"):
        stage.need(program)
    stage.add(node("n1"), node("n2"))
    stage.plane.start_controller_manager()
    stage.plane.start_scheduler()
    for name in ("deploy", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    reader = Reader(stage, tmp_path)

    lines = steps(tmp_path)
    for line in lines:
        if line.startswith(NOT_RUN):
            continue
        if line.startswith("helm uninstall bayplan"):
            # As long as it has its rights; a kubelet would end it after that.
            assert stage.audit() == []
            assert stage.schedulers[0].process.stop() == 0
        said = reader.run(line)
        if line.startswith("helm install bayplan"):
            reader.start_what_is_installed()
        if line.startswith("kubectl describe clusterrole"):
            assert "nodes.metrics.k8s.io" in said

    for wanted in MUST_BE_RUN:
        assert any(line.startswith(wanted) for line in lines)
    # Two pods on two nodes, as the Deployment wants it, placed by somebody else.
    stage.may_wait |= {key for key in stage.pods.objects if key.startswith("kube-system/")}
