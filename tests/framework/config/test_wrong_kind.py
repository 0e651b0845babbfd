"""Files that are no configuration, and what is said of them."""

from __future__ import annotations

import pytest

from bayplan.errors import ConfigError
from bayplan.framework.config import load_config
from bayplan.framework.registry import Registry


@pytest.mark.parametrize("version", ["scheduling.k8s.io/v1alpha1", "scheduling.x-k8s.io/v1alpha1"])
def test_a_pod_group_is_an_object_of_the_cluster(registry: Registry, version: str) -> None:
    text = f"apiVersion: {version}\nkind: PodGroup\nmetadata: {{name: g}}\nspec: {{minMember: 3}}\n"
    with pytest.raises(ConfigError) as caught:
        load_config(text, registry)
    (problem,) = caught.value.problems
    assert problem.line == 1
    assert "a PodGroup is an object of the cluster" in problem.message
    assert "write it as scheduling.x-k8s.io/v1alpha1" in problem.message
    assert "apply deploy/crds/podgroups.scheduling.x-k8s.io.yaml" in problem.message
