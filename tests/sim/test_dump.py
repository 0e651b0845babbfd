from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.sim.dump import Dump, DumpError, read_dump
from bayplan.testing import make_node, make_pod

NODE = make_node("a").manifest
POD = make_pod("p").requests(cpu="1").manifest
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}


def kube_list(*items: Any, kind: str = "List") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "items": list(items)}


def read(path: Path, text: str) -> Dump:
    path.write_text(text, encoding="utf-8")
    return read_dump(path)


def keys(dump: Dump) -> set[str]:
    return {f"{obj.kind} {obj.key}" for obj in dump.everything()}


BOTH = {"Node a", "Pod default/p"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("d.json", json.dumps(kube_list(NODE, POD)), id="a list"),
        pytest.param("d.json", json.dumps(kube_list(NODE, POD), indent=2), id="a list in lines"),
        pytest.param("d.json", f"{json.dumps(NODE)}\n{json.dumps(POD)}\n", id="an object per line"),
        pytest.param("d.json", json.dumps([NODE, POD]), id="an array"),
        pytest.param("d.yaml", json.dumps(kube_list(NODE, POD)), id="JSON called YAML"),
        pytest.param("d.yaml", f"{json.dumps(NODE)}\n---\n{json.dumps(POD)}\n", id="documents"),
        pytest.param("d.txt", json.dumps(kube_list(kube_list(NODE), POD)), id="a list in a list"),
        pytest.param(
            "d.json",
            json.dumps({"id": "x", "nodes": [NODE], "pods": [], "pod": POD}),
            id="a case",
        ),
    ],
)
def test_forms_of_a_dump(tmp_path: Path, name: str, text: str) -> None:
    dump = read(tmp_path / name, text)
    assert keys(dump) == BOTH
    assert dump.troubles == []


def test_items_of_a_typed_list_need_no_kind(tmp_path: Path) -> None:
    bare = {key: value for key, value in POD.items() if key not in {"kind", "apiVersion"}}
    dump = read(tmp_path / "d.json", json.dumps(kube_list(bare, kind="PodList")))
    assert keys(dump) == {"Pod default/p"}


def test_yaml_as_people_write_it(tmp_path: Path) -> None:
    dump = read(
        tmp_path / "d.yaml",
        """
apiVersion: v1
kind: Node
metadata:
  name: a
  creationTimestamp: 2026-01-01T00:00:00Z
  labels: {numeric: "1", 2: "two", time: "12:30"}
status:
  allocatable: {cpu: 4, memory: 8Gi, pods: 110}
---
# nothing here
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec:
  containers:
  - name: main
    resources: &r {requests: {cpu: 0.5}}
  - {name: other, resources: *r}
""",
    )
    node, pod = list(dump.everything())
    assert isinstance(node, Node)
    assert isinstance(pod, Pod)
    assert node.labels == {"numeric": "1", "2": "two", "time": "12:30"}
    assert [c.resources.requests for c in pod.spec.containers] == [{"cpu": 0.5}] * 2


def test_of_several_cases_the_first_is_read(tmp_path: Path) -> None:
    first = {"nodes": [NODE], "pod": POD}
    second = {"nodes": [make_node("b").manifest], "pod": POD}
    dump = read(tmp_path / "d.jsonl", f"{json.dumps(first)}\n{json.dumps(second)}")
    assert keys(dump) == BOTH
    assert [trouble.document for trouble in dump.troubles] == [2]


def test_a_directory_is_read_to_the_bottom(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "a.json").write_text(json.dumps(NODE))
    (tmp_path / "deep" / "er" / "p.yml").write_text(json.dumps(POD))
    (tmp_path / "README.md").write_text("not a manifest")
    assert keys(read_dump(tmp_path)) == BOTH


def test_standard_input() -> None:
    dump = read_dump(Path("-"), io.BytesIO(json.dumps(kube_list(NODE, POD)).encode()))
    assert keys(dump) == BOTH


def test_unknown_kinds_are_counted(tmp_path: Path) -> None:
    dump = read(tmp_path / "d.json", json.dumps(kube_list(NODE, SECRET, SECRET, POD)))
    assert keys(dump) == BOTH
    assert dump.skipped == {"Secret": 2}


def test_the_last_of_two_versions_counts(tmp_path: Path) -> None:
    newer = make_node("a").label("version", "2").manifest
    dump = read(tmp_path / "d.json", json.dumps(kube_list(NODE, newer)))
    assert [obj.labels["version"] for obj in dump.everything()] == ["2"]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        pytest.param(
            "d.json",
            json.dumps(kube_list(make_pod("q").requests(cpu="much").manifest, NODE)),
            "d.json: Pod default/q: items[0].spec.containers[0].resources.requests.cpu: ",
            id="a quantity",
        ),
        pytest.param(
            "d.yaml",
            f"{json.dumps(NODE)}\n---\n{{apiVersion: v1, kind: Pod, metadata: {{name: [q]}}}}",
            "d.yaml, document 2: Pod: metadata.name: expected str, got array",
            id="the second document",
        ),
        pytest.param(
            "d.json",
            json.dumps(kube_list(NODE, {"metadata": {"name": "x"}})),
            "d.json: items[1]: an object without a kind",
            id="no kind",
        ),
        pytest.param(
            "d.json", json.dumps(kube_list(NODE, 5)), "d.json: items[1]: expected an object", id="5"
        ),
        pytest.param(
            "d.yaml",
            f"{json.dumps(NODE)}\n---\na: [1\nb: 2",
            "d.yaml, document 2: line 4: not YAML: ",
            id="YAML that breaks off",
        ),
        pytest.param(
            "d.json",
            json.dumps(NODE) + '\n{"kind": "Pod", ',
            "d.json, document 2: line 2: not JSON: ",
            id="JSON that breaks off",
        ),
        pytest.param(
            "d.yaml",
            f"{json.dumps(NODE)}\n---\na: &a [*a]",
            "d.yaml, document 2: line 3: not YAML: found unconstructable recursive node",
            id="YAML that contains itself",
        ),
    ],
)
def test_what_cannot_be_read_is_named_and_the_rest_is_kept(
    tmp_path: Path, name: str, text: str, expected: str
) -> None:
    dump = read(tmp_path / name, text)
    (trouble,) = dump.troubles
    assert str(trouble).startswith(f"{tmp_path}/{expected}")
    assert keys(dump) == {"Node a"}


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match=r"nowhere.json: No such file"):
        read_dump(tmp_path / "nowhere.json")


def test_a_directory_without_manifests(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match=r"no \.json, \.yaml, \.yml files"):
        read_dump(tmp_path)
