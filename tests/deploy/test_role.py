"""Whether the chart grants exactly what the process asks for with the same configuration, and no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bayplan.plugins import default_registry
from bayplan.testing.control_plane import Obj
from tests.deploy.chart import RIGHTS, SEVERAL, one_scheduler, render
from tests.deploy.process import Granted, asked, granted
from tests.e2e.roles import documented, rights, role_of, without

REGISTRY = default_registry()
#: Plugins that have kinds watched for them.
WATCHING = sorted(
    name for name in REGISTRY if (plugin := REGISTRY.get(name)) is not None and plugin.watches
)


def with_plugin(name: str, **args: Any) -> Obj:
    profile = {
        "schedulerName": "bayplan",
        "plugins": {"multiPoint": {"enabled": [{"name": name}]}},
        "pluginConfig": [{"name": name, "args": args}],
    }
    return {"configuration": {"profiles": [profile]}}


def standing_by(standby: Obj) -> Obj:
    profiles = [{"schedulerName": "bayplan"}, {"schedulerName": standby["schedulerName"]}]
    return {"configuration": {"profiles": profiles}, "bayplan": {"standby": [standby]}}


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param({}, id="as it comes"),
        pytest.param(
            {"configuration": {"leaderElection": {"leaderElect": False}}}, id="without a lease"
        ),
        pytest.param(
            {
                "configuration": {
                    "leaderElection": {"resourceName": "theirs", "resourceNamespace": "there"}
                }
            },
            id="a lease by another name elsewhere",
        ),
        pytest.param(standing_by({"schedulerName": "batch"}), id="a standby"),
        pytest.param(
            standing_by({"schedulerName": "batch", "lease": "there/theirs"}),
            id="a standby for a lease elsewhere",
        ),
        *(pytest.param(with_plugin(name), id=name) for name in WATCHING),
        pytest.param(
            with_plugin("SchedulingPolicy", configMap="", customResources=True),
            id="policies as objects alone",
        ),
        pytest.param(
            with_plugin("SchedulingPolicy", configMap="there/ours", customResources=False),
            id="policies in a ConfigMap alone",
        ),
    ],
)
def test_the_roles_are_what_the_process_asks_for_and_no_more(entry: Obj, tmp_path: Path) -> None:
    chart = one_scheduler(**entry)
    assert granted(chart) == asked(chart, "bayplan", tmp_path)


def test_plugins_that_watch_more_are_among_those_tried() -> None:
    assert {"CapacityScheduling", "SchedulingPolicy"} <= set(WATCHING)


@pytest.mark.parametrize("name", ["default-scheduler", "gpu-scheduler", "batch-scheduler"])
def test_each_of_several_gets_what_it_asks_for(name: str, tmp_path: Path) -> None:
    chart = render({}, SEVERAL)
    assert granted(chart, name) == asked(chart, name, tmp_path)


def test_no_rule_names_all_of_anything_and_none_is_about_secrets() -> None:
    for _, group, resource, verb, _ in granted(render()):
        assert "*" not in {group, resource, verb}
        assert resource not in {"secrets", "configmaps"}
        assert verb not in {"escalate", "bind", "impersonate"}
        assert resource != "nodes" or verb in {"list", "watch"}


def test_people_may_be_let_in_to_look_and_nobody_is_unasked() -> None:
    chart = render()
    viewer = chart.one("ClusterRole", "bayplan:viewer")

    assert [rule["verbs"] for rule in viewer["rules"]] == [["get"]]
    assert "bayplan:viewer" not in {
        binding["roleRef"]["name"] for binding in chart.of_kind("ClusterRoleBinding")
    }


@pytest.mark.parametrize(
    ("entry", "more"),
    [
        pytest.param(
            {"bayplan": {"providers": [{"name": "m", "type": "metricsServer"}]}},
            {("", "metrics.k8s.io", "nodes", "list", "")},
            id="measured usage",
        ),
        pytest.param(
            {"bayplan": {"providers": [{"name": "n", "type": "numaTopology"}]}},
            {("", "topology.node.k8s.io", "noderesourcetopologies", "list", "")},
            id="NUMA nodes",
        ),
        pytest.param(
            {"bayplan": {"providers": [{"name": "p", "type": "prometheus", "url": "http://p"}]}},
            set(),
            id="Prometheus is asked outside the API",
        ),
        pytest.param(
            {"configuration": {"profiles": [{"schedulerName": "default-scheduler"}]}},
            {("kube-system", "coordination.k8s.io", "leases", "get", "kube-scheduler")},
            id="who serves all pods looks whether a kube-scheduler does",
        ),
        pytest.param(
            {"rbac": {"extraRules": [{"apiGroups": ["x"], "resources": ["y"], "verbs": ["get"]}]}},
            {("", "x", "y", "get", "")},
            id="a plugin of one's own",
        ),
    ],
)
def test_what_is_read_now_and_then_is_granted_beside(entry: Obj, more: Granted) -> None:
    assert granted(one_scheduler(**entry)) == granted(render()) | more


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
