"""Services and controllers: how each of them selects."""

from __future__ import annotations

from bayplan.model.decode import decode_as
from bayplan.model.workloads import Deployment, ReplicaSet, ReplicationController, Service


def test_plain_selectors() -> None:
    spec = {"spec": {"selector": {"app": "web"}, "replicas": 0}}
    assert decode_as(Service, spec).spec.selector == {"app": "web"}
    controller = decode_as(ReplicationController, spec)
    assert (controller.spec.selector, controller.spec.replicas) == ({"app": "web"}, 0)


def test_label_selectors_and_templates() -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c"}]}}
    found = decode_as(
        Deployment, {"spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template}}
    )
    assert found.spec.selector is not None
    assert found.spec.selector.match_labels == found.spec.template.metadata.labels
    assert found.spec.template.spec.containers[0].name == "c"
    assert found.spec.replicas is None
    assert decode_as(ReplicaSet, {}).spec.selector is None
