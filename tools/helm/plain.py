"""Writes the manifests of ``deploy/kustomize`` from the chart: what it renders, without what only helm reads.

A file for each template, comments and all. Run it when the chart has changed (``python tools/helm/plain.py``); until then
``tests/deploy/test_kustomize.py`` fails. The kustomization files are written by hand.
"""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm" / "bayplan"
OUT = ROOT / "deploy" / "kustomize"
HELM = ROOT / ".kube" / "bin" / "helm"

#: Lines that name helm, and the checksum that kustomize does by the name of a ConfigMap.
_HELMS_OWN = re.compile(
    r"^ *(helm\.sh/chart|app\.kubernetes\.io/managed-by|checksum/config):.*\n", re.M
)
_HEADER = "# Written by tools/helm/plain.py: change deploy/helm/bayplan instead.\n"
#: What the overlay ``monitoring`` has beyond the base.
_MONITORING = (
    "monitoring.serviceMonitor.enabled=true",
    "monitoring.rules.enabled=true",
    "monitoring.dashboard.enabled=true",
    "monitoring.prometheus.serviceAccount=prometheus-k8s",
)


def rendered(*settings: str) -> dict[str, str]:
    """The text of each template that renders to anything, by the template's name."""
    words = [str(HELM), "template", "bayplan", str(CHART), "--namespace=kube-system"]
    run = subprocess.run(
        [*words, *(f"--set={each}" for each in settings)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = defaultdict(list)
    for part in run.stdout.split("---\n# Source: bayplan/templates/")[1:]:
        name, _, text = part.partition("\n")
        found[name].append(_HELMS_OWN.sub("", text).strip() + "\n")
    return {name: "---\n".join(parts) for name, parts in found.items()}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).write_text(_HEADER + text, encoding="utf-8")


def main() -> None:
    """Write both."""
    base = rendered()
    config_map = base.pop("configmap.yaml")
    config = re.search(r"^  config\.yaml: \|\n((?:    .*\n|\n)*)", config_map, re.M)
    assert config is not None
    (OUT / "base" / "config.yaml").write_text(
        re.sub("^    ", "", config[1], flags=re.M), encoding="utf-8"
    )
    write(OUT / "base", base)
    more = rendered(*_MONITORING)
    files = {name: text for name, text in more.items() if name not in base | {"configmap.yaml": ""}}
    del files["dashboard.yaml"]  # the overlay takes the chart's own file
    write(OUT / "overlays" / "monitoring", files)


if __name__ == "__main__":
    main()
