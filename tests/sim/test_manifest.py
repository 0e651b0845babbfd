from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bayplan.model import decode_as
from bayplan.model.policy import PriorityClass
from bayplan.sim.dump import DumpError
from bayplan.sim.manifest import admitted, read_pod
from bayplan.testing import make_pod


def priority_class(name: str, value: int, **more: Any) -> PriorityClass:
    return decode_as(PriorityClass, {"metadata": {"name": name}, "value": value, **more})


def test_a_pod_among_other_documents(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(
        "kind: ConfigMap\n---\napiVersion: v1\nkind: Pod\nmetadata: {generateName: job-}\n"
    )
    assert read_pod(path).name == "job-x"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("kind: Deployment", "there is no Pod, but Deployment", id="a deployment"),
        pytest.param(json.dumps([{"kind": "Pod"}] * 2), "no Pod", id="an array"),
        pytest.param("kind: Pod\n---\nkind: Pod", "there is 2 pods", id="two pods"),
        pytest.param("a: [", "not YAML", id="no YAML"),
        pytest.param(
            "kind: Pod\nmetadata: {name: p}\nspec: {priority: high}",
            "Pod p: spec.priority: expected int",
            id="a malformed pod",
        ),
    ],
)
def test_files_without_one_good_pod(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(text)
    with pytest.raises(DumpError, match=expected):
        read_pod(path)


def test_what_admission_makes_of_a_pod() -> None:
    builder = make_pod("p", namespace="").requests(cpu="1")
    builder.manifest["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "2", "memory": "1Gi"}
    pod, notes = admitted(builder.build(), {})
    assert notes == []
    assert pod.key == "default/p"
    assert pod.spec.scheduler_name == "default-scheduler"
    assert pod.spec.containers[0].resources.requests == {"cpu": "1", "memory": "1Gi"}
    assert [(t.key, t.effect) for t in pod.spec.tolerations] == [
        ("node.kubernetes.io/not-ready", "NoExecute"),
        ("node.kubernetes.io/unreachable", "NoExecute"),
    ]
    assert admitted(pod, {}) == (pod, [])


@pytest.mark.parametrize(
    ("name", "priority", "notes"),
    [
        pytest.param("gold", 100, 0, id="a class of the dump"),
        pytest.param("", 5, 0, id="the default class"),
        pytest.param("system-node-critical", 2_000_001_000, 0, id="a class of every cluster"),
        pytest.param("silver", None, 1, id="a class that is not there"),
    ],
)
def test_priority_of_a_class(name: str, priority: int | None, notes: int) -> None:
    builder = make_pod("p")
    builder.manifest["spec"]["priorityClassName"] = name
    classes = {
        "gold": priority_class("gold", 100, preemptionPolicy="Never"),
        "plain": priority_class("plain", 5, globalDefault=True),
    }
    pod, said = admitted(builder.build(), classes)
    assert pod.spec.priority == priority
    assert len(said) == notes
    assert pod.spec.preemption_policy == ("Never" if name == "gold" else "")
