"""The plain manifests are what the chart renders; so nobody has to ask which of the two is right."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
import yaml

from bayplan.testing.control_plane import Binaries, Obj
from tests.deploy.chart import ROOT, render

KUSTOMIZE = ROOT / "deploy" / "kustomize"

MONITORING: Obj = {
    "serviceMonitor": {"enabled": True},
    "rules": {"enabled": True},
    "dashboard": {"enabled": True},
    "prometheus": {"serviceAccount": "prometheus-k8s"},
}

#: What only helm reads, and the checksum that kustomize has in the ConfigMap's name.
HELMS_OWN = ("helm.sh/chart", "app.kubernetes.io/managed-by", "checksum/config")


def kustomized(folder: str, binaries: Binaries) -> list[Obj]:
    words = [str(binaries.path("kubectl")), "kustomize", str(KUSTOMIZE / folder)]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    # The checksum at the end of the name, wherever the name stands.
    (name,) = re.findall(r"^  name: (bayplan-[a-z0-9]{10})$", run.stdout, re.MULTILINE)
    return list(yaml.safe_load_all(run.stdout.replace(name, "bayplan")))


def by_name(objects: list[Obj]) -> dict[str, Obj]:
    found = {}
    for obj in objects:
        obj = json.loads(json.dumps(obj))
        metadata = obj["metadata"]
        pods = obj["spec"]["template"]["metadata"] if obj["kind"] == "Deployment" else {}
        for words in (metadata.get("labels", {}), pods.get("annotations", {})):
            for word in HELMS_OWN:
                words.pop(word, None)
        found[f"{obj['kind']} {metadata.get('namespace', '')}/{metadata['name']}"] = obj
    assert len(found) == len(objects)
    return found


@pytest.mark.parametrize(
    ("folder", "values"),
    [
        pytest.param("base", {}, id="as it comes"),
        pytest.param("overlays/monitoring", {"monitoring": MONITORING}, id="monitoring"),
        pytest.param("overlays/http", {"http": {"enabled": True}}, id="plain HTTP"),
    ],
)
def test_kustomize_and_helm_say_the_same(folder: str, values: Obj, binaries: Binaries) -> None:
    """Where this fails, run ``python tools/helm/plain.py``."""
    plain, chart = by_name(kustomized(folder, binaries)), by_name(render(values).objects)

    assert plain.keys() == chart.keys()
    for name, obj in chart.items():
        assert plain[name] == obj
