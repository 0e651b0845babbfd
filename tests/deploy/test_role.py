"""Whether the chart grants exactly what the scheduler asks readiness about: what is configured, and no more."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.app.assembly import _OBJECTS
from bayplan.client.resources import NODES, PODS, Resource
from bayplan.runtime.permissions import Right, needed
from bayplan.testing.control_plane import Obj
from tests.deploy.chart import RIGHTS, one_scheduler, render
from tests.e2e.roles import Rights, documented, rights, role_of, without

Named = set[tuple[str, str]]


def as_rights(needed: list[Right]) -> Rights:
    return {
        (
            right.group,
            f"{right.resource}/{right.subresource}" if right.subresource else right.resource,
            right.verb,
        )
        for right in needed
    }


def by_name(role: Obj) -> Named:
    """Verb and name of the one object that it is for."""
    return {
        (verb, name)
        for rule in role["rules"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }


def test_the_cluster_role_is_what_is_needed_and_no_more() -> None:
    watched: list[Resource[Any]] = [NODES, PODS, *(kind for kind, _ in _OBJECTS)]

    assert rights(role_of(documented())) == as_rights(list(needed(watched, None, writes=True)))


def test_the_role_is_for_one_lease_by_its_name() -> None:
    role = role_of(documented(), "Role")
    lease = list(needed([], ("kube-system", "bayplan"), writes=False))

    assert rights(role) == as_rights(lease)
    assert role["metadata"]["namespace"] == "kube-system"
    assert by_name(role) == {(right.verb, right.name) for right in lease}


def test_no_rule_names_all_of_anything_and_none_is_about_secrets() -> None:
    for role in render().of_kind("ClusterRole", "Role"):
        for rule in role["rules"]:
            words = {*rule["verbs"], *rule["resources"], *rule["apiGroups"]}
            assert "*" not in words
            assert not words & {"secrets", "configmaps", "escalate", "bind", "impersonate"}
            if "nodes" in rule["resources"]:
                assert set(rule["verbs"]) == {"list", "watch"}


@pytest.mark.parametrize(
    ("entry", "more"),
    [
        pytest.param({}, set(), id="nothing is configured"),
        pytest.param(
            {"bayplan": {"providers": [{"name": "m", "type": "metricsServer"}]}},
            {("metrics.k8s.io", "nodes", "list")},
            id="measured usage",
        ),
        pytest.param(
            {"bayplan": {"providers": [{"name": "n", "type": "numaTopology"}]}},
            {("topology.node.k8s.io", "noderesourcetopologies", "list")},
            id="NUMA nodes",
        ),
        pytest.param(
            {"bayplan": {"providers": [{"name": "p", "type": "prometheus", "url": "http://p"}]}},
            set(),
            id="Prometheus is asked outside the API",
        ),
        pytest.param(
            {"rbac": {"extraRules": [{"apiGroups": ["x"], "resources": ["y"], "verbs": ["get"]}]}},
            {("x", "y", "get")},
            id="a plugin of one's own",
        ),
    ],
)
def test_the_role_grows_with_what_is_configured(entry: Obj, more: Rights) -> None:
    assert rights(one_scheduler(**entry).one("ClusterRole")) == rights(role_of(documented())) | more


def test_a_lease_by_another_name_elsewhere() -> None:
    election = {"resourceName": "theirs", "resourceNamespace": "there"}
    role = one_scheduler(configuration={"leaderElection": election}).one("Role")

    assert role["metadata"]["namespace"] == "there"
    assert by_name(role) == {("create", ""), ("get", "theirs"), ("update", "theirs")}


def test_without_a_lease_there_is_no_right_to_any() -> None:
    assert not one_scheduler(configuration={"leaderElection": {"leaderElect": False}}).of_kind(
        "Role"
    )


def test_who_serves_default_scheduler_may_look_at_kube_schedulers_lease() -> None:
    profiles = [{"schedulerName": "default-scheduler"}]
    chart = one_scheduler(configuration={"profiles": profiles})
    role = chart.one("Role", "bayplan:kube-scheduler")

    assert role["metadata"]["namespace"] == "kube-system"
    assert by_name(role) == {("get", "kube-scheduler")}


def test_every_right_goes_to_the_schedulers_own_account_and_to_no_other() -> None:
    chart = render({"schedulers": [{"name": "one"}, {"name": "two"}]}, namespace="there")
    accounts = {account["metadata"]["name"] for account in chart.of_kind("ServiceAccount")}

    assert accounts == {"one", "two"}
    for binding in chart.of_kind("ClusterRoleBinding", "RoleBinding"):
        (subject,) = binding["subjects"]
        assert binding["metadata"]["name"].split(":")[0] == subject["name"]
        assert (subject["kind"], subject["namespace"]) == ("ServiceAccount", "there")
    for kind in RIGHTS:
        assert chart.of_kind(kind)


def test_one_verb_is_taken_and_no_other() -> None:
    less = rights(role_of(without("watch", "csinodes")))

    assert rights(role_of(documented())) - less == {("storage.k8s.io", "csinodes", "watch")}
    assert less < rights(role_of(documented()))
