from __future__ import annotations

from typing import Any

import pytest

from bayplan.framework.policy_text import holds_policies, policies_of
from bayplan.model.decode import decode
from bayplan.model.scheduling_policy import ConfigMap, SchedulingPolicy

HEAD = "apiVersion: scheduling.k8s.io/v1\nkind: SchedulingPolicy\nmetadata:\n  name: p\nspec:\n"


def config_map(**texts: str) -> ConfigMap:
    found = decode(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "m", "namespace": "ns", "resourceVersion": "7"},
            "data": {f"{key}.yaml": text for key, text in texts.items()},
        }
    )
    assert isinstance(found, ConfigMap)
    return found


def an_object(spec: Any) -> SchedulingPolicy:
    found = decode(
        {
            "apiVersion": "policy.bayplan.io/v1alpha1",
            "kind": "SchedulingPolicy",
            "metadata": {"name": "p"},
            "spec": spec,
        }
    )
    assert isinstance(found, SchedulingPolicy)
    return found


def test_a_policy_of_either_kind_reads_alike() -> None:
    spec = {"resourceWeights": {"cpu": 50, "storage": 20}, "priorityClass": "batch"}
    text = HEAD + "  resourceWeights: {cpu: 50, storage: 20}\n  priorityClass: batch\n"
    policies, problems = policies_of(config_map(p=text))
    others, other_problems = policies_of(an_object(spec))
    assert problems == other_problems == []
    assert policies["p"].weights == others["p"].weights == (("cpu", 50), ("ephemeral-storage", 20))
    assert (policies["p"].source, policies["p"].version) == ("ConfigMap ns/m", "7")
    assert others["p"].source == "SchedulingPolicy p"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        pytest.param(
            "  resourceWeight: {cpu: 1}\n",
            'line 6: data[p.yaml]: spec.resourceWeight: unknown field "spec.resourceWeight"; '
            'did you mean "resourceWeights"?',
            id="a misspelt field",
        ),
        pytest.param(
            "  resourceWeights:\n    nvidia.com/gpu: 0\n",
            "line 7: data[p.yaml]: spec.resourceWeights.nvidia.com/gpu: Invalid value: 0: must be from 1 to 100",
            id="a weight of nothing",
        ),
        pytest.param(
            "  resourceWeights:\n    cpu: many\n",
            "line 7: data[p.yaml]: spec.resourceWeights.cpu: cannot unmarshal string into field of type int64",
            id="a weight that is no number",
        ),
        pytest.param(
            "  tolerations:\n  - key: spot\n    effect: NoExecute\n",
            'line 8: data[p.yaml]: spec.tolerations[0].effect: Unsupported value: "NoExecute": supported values: '
            '"NoSchedule", "PreferNoSchedule"; what a node does with running pods goes by the pod\'s own tolerations',
            id="a toleration that the node would not honour",
        ),
        pytest.param(
            "  tolerations:\n  - effect: NoSchedule\n",
            'line 7: data[p.yaml]: spec.tolerations[0].operator: Invalid value: "": must be Exists when key is empty',
            id="a toleration of nothing in particular",
        ),
        pytest.param(
            "  nodeAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n      nodeSelectorTerms: []\n",
            "line 8: data[p.yaml]: spec.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
            "nodeSelectorTerms: Required value",
            id="an affinity without terms",
        ),
    ],
)
def test_every_mistake_has_its_line_and_path(lines: str, said: str) -> None:
    policies, problems = policies_of(config_map(p=HEAD + lines))
    assert [str(problem) for problem in problems] == [said]
    assert policies["p"].problem
    assert policies["p"].weights == ()


def test_a_text_that_is_no_policy_keeps_the_others() -> None:
    held = config_map(broken="a: [", good=HEAD + "  priorityClass: x\n", other="kind: Deployment\n")
    policies, problems = policies_of(held)
    assert policies["p"].problem == ""
    assert policies["broken"].problem.startswith("line 2: a[0]: yaml: ")
    assert [p.path.partition(":")[0] for p in problems] == [
        "data[broken.yaml]",
        *["data[other.yaml]"] * 3,
    ]
    assert holds_policies(held)
    assert not holds_policies(config_map(x="kind: Deployment"))


def test_a_name_that_comes_twice_is_said() -> None:
    _, problems = policies_of(config_map(a=HEAD, b=HEAD))
    assert [str(p) for p in problems] == [
        'data[b.yaml]: metadata.name: policy "p" is there already'
    ]


def test_an_object_without_a_spec_says_nothing() -> None:
    policies, problems = policies_of(an_object({}))
    assert problems == []
    assert policies["p"].problem == ""
