"""A role that lacks one verb: readiness says which, and the scheduler goes on by itself once it has been granted."""

from __future__ import annotations

import copy

import pytest

from bayplan.testing.control_plane import Obj, wait_until
from tests.e2e.stage import Stage, documented_role, node, pod

pytestmark = pytest.mark.e2e


def without(verb: str, resource: str) -> list[Obj]:
    """The documented role, less one verb of one resource."""
    objects = documented_role()
    role = next(obj for obj in objects if obj["kind"] == "ClusterRole")
    for rule in copy.copy(role["rules"]):
        if resource in rule["resources"] and verb in rule["verbs"]:
            rule["resources"] = [name for name in rule["resources"] if name != resource]
            others = [other for other in rule["verbs"] if other != verb]
            if others:
                role["rules"].append({**rule, "resources": [resource], "verbs": others})
            if not rule["resources"]:
                role["rules"].remove(rule)
    return objects


def test_one_verb_is_taken_and_no_other() -> None:
    documented = next(obj for obj in documented_role() if obj["kind"] == "ClusterRole")
    less = next(obj for obj in without("watch", "csinodes") if obj["kind"] == "ClusterRole")

    assert granted(documented) - granted(less) == {("storage.k8s.io", "csinodes", "watch")}
    assert granted(less) <= granted(documented)


def granted(role: Obj) -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize(
    ("verb", "resource"),
    [
        pytest.param("list", "csinodes", id="what it has to see first"),
        pytest.param("watch", "pods", id="what it has to follow"),
        pytest.param("create", "pods/binding", id="what it is there for"),
        pytest.param("patch", "pods/status", id="how it tells why not"),
    ],
)
def test_readiness_names_what_may_not_be_done(stage: Stage, verb: str, resource: str) -> None:
    if stage.subject != "bayplan":
        pytest.skip("kube-scheduler does not say")
    stage.add(node("n1"))
    account = stage.account(without(verb, resource))
    scheduler = stage.start_scheduler(login=account.kubeconfig)

    def names_it() -> bool:
        status, text = scheduler.page("/readyz?verbose")
        return status not in {0, 200} and verb in text and resource in text

    wait_until(names_it, f"readiness that names {verb} {resource}", 60)
    role = next(obj for obj in documented_role() if obj["kind"] == "ClusterRole")
    stage.plane.admin.patch(role, {"rules": role["rules"]})
    scheduler.wait_ready()
    stage.add(pod("p"))

    stage.wait_bound("default/p")
