"""What helm makes of the chart: well-formed objects, pods that may do little, a configuration that bayplan takes as it is."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from bayplan.embedded.builtin import builtin_kinds
from bayplan.embedded.schema.checking import unknown_fields, wrong_type
from bayplan.testing.control_plane import Obj
from tests.deploy.chart import (
    CHART,
    ROOT,
    SEVERAL,
    Rendered,
    RenderError,
    helm,
    one_scheduler,
    render,
)
from tests.deploy.process import configured

KINDS = {(kind.api_version, kind.kind): kind for kind in builtin_kinds()}

PLUGIN = '''
"""Turns every node down, with a reason that a test can look for."""

from bayplan import FilterPlugin, Rejected


class NoNodeAtAll(FilterPlugin):
    def filter_node(self, pod, node):
        return Rejected("none will do")
'''

EVERYTHING: dict[str, Any] = {
    "http": {"enabled": True},
    "image": {"repository": "here/bayplan", "tag": "1", "pullSecrets": ["key"]},
    "plugins": {"no_node.py": PLUGIN},
    "files": {"prices.csv": "node,price\n*,0.1\n"},
    "bayplan": {
        "providers": [
            {"name": "prices", "type": "csv", "file": "prices.csv"},
            {"name": "usage", "type": "metricsServer"},
            {"name": "numa", "type": "numaTopology"},
        ]
    },
    "configuration": {
        "profiles": [
            {
                "schedulerName": "bayplan",
                "plugins": {"filter": {"enabled": [{"name": "NoNodeAtAll"}]}},
            }
        ]
    },
    "log": {"verbosity": 4, "format": "json"},
    "takeOver": True,
    "extraArgs": ["--kube-api-qps=100"],
    "env": [{"name": "OPENBLAS_NUM_THREADS", "value": "1"}],
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "podLabels": {"team": "platform"},
    "podAnnotations": {"note": "hello"},
    "serviceAccount": {"annotations": {"note": "hello"}},
    "extraVolumes": [{"name": "more", "emptyDir": {}}],
    "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    ],
    "monitoring": {
        "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
        "rules": {"enabled": True},
        "prometheus": {"serviceAccount": "prometheus-k8s"},
    },
}


def everything() -> Rendered:
    return render(
        {
            "schedulers": [{"name": "bayplan", **EVERYTHING}],
            "monitoring": {"dashboard": {"enabled": True}},
        }
    )


@pytest.mark.parametrize(
    "chart",
    [
        pytest.param(render, id="as it comes"),
        pytest.param(everything, id="all that can be set"),
        pytest.param(lambda: render({}, SEVERAL), id="several schedulers"),
    ],
)
def test_every_object_is_built_as_its_kind(chart: Any) -> None:
    objects = chart().objects
    assert objects
    for obj in objects:
        name = (obj["apiVersion"], obj["kind"])
        if obj["apiVersion"].startswith("monitoring.coreos.com/"):
            continue  # looked at by a real API server: tests/e2e/test_deploy.py
        assert unknown_fields(KINDS[name], obj) == [], obj
        assert wrong_type(KINDS[name], obj) == "", obj


def test_helm_has_nothing_to_say_against_it() -> None:
    words = [helm(), "lint", "--strict", "--quiet", str(CHART)]
    linted = subprocess.run(words, capture_output=True, text=True, check=False)
    assert linted.returncode == 0, linted.stdout


def test_the_pods_are_two_and_may_do_little() -> None:
    spec = render().one("Deployment")["spec"]
    pod = spec["template"]["spec"]
    container = render().container()

    assert spec["replicas"] == 2
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"].keys() == {"requests", "limits"}
    assert render().one("PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    for probe, path in {"readinessProbe": "/readyz", "livenessProbe": "/livez"}.items():
        assert container[probe]["httpGet"]["path"] == path
        assert container[probe]["httpGet"]["scheme"] == "HTTPS"


def test_selectors_find_the_pods_and_nothing_else() -> None:
    chart = render({}, SEVERAL)
    labels = {
        deployment["metadata"]["name"]: deployment["spec"]["template"]["metadata"]["labels"]
        for deployment in chart.of_kind("Deployment")
    }
    assert labels.keys() == {"default-scheduler", "gpu-scheduler", "batch-scheduler"}
    for obj in chart.of_kind("Deployment", "Service", "PodDisruptionBudget"):
        selector = obj["spec"]["selector"]
        wanted = selector.get("matchLabels", selector)
        found = [name for name, has in labels.items() if wanted.items() <= has.items()]
        assert found == [obj["metadata"]["name"]]


def test_the_configuration_is_taken_as_it_is(tmp_path: Path) -> None:
    config = configured(render(), "bayplan", tmp_path)

    assert [profile.scheduler_name for profile in config.profiles] == ["bayplan"]
    assert config.leader_election.leader_elect
    assert config.leader_election.resource_name == "bayplan"
    assert config.leader_election.resource_namespace == "kube-system"
    assert not config.warnings


def test_plugins_and_tables_lie_beside_the_configuration(tmp_path: Path) -> None:
    config = configured(everything(), "bayplan", tmp_path)

    (profile,) = config.profiles
    assert "NoNodeAtAll" in {ref.name for ref in profile.plugins["filter"]}
    table = Path(config.source).parent / config.own.providers[0].file
    assert table.read_text() == "node,price\n*,0.1\n"


def test_three_schedulers_share_nothing(tmp_path: Path) -> None:
    chart = render({}, SEVERAL)
    names = {"default-scheduler", "gpu-scheduler", "batch-scheduler"}
    configs = {name: configured(chart, name, tmp_path / name) for name in names}

    for name, config in configs.items():
        assert [profile.scheduler_name for profile in config.profiles] == [name]
    leases = {name: config.leader_election.resource_name for name, config in configs.items()}
    # The first waits for kube-scheduler to go.
    assert leases == {name: name for name in names} | {"default-scheduler": "kube-scheduler"}
    (gpu,) = configs["gpu-scheduler"].profiles
    assert {"GPUPriorityPlugin", "GPUFragmentation"} <= {ref.name for ref in gpu.plugins["score"]}


def test_the_log_of_decisions_has_room_to_write() -> None:
    record = {"file": "/var/lib/bayplan/decisions.jsonl", "maxFileMegabytes": 50, "maxFiles": 3}
    pod = one_scheduler(bayplan={"record": record}).one("Deployment")["spec"]["template"]["spec"]
    (volume,) = (volume for volume in pod["volumes"] if volume["name"] == "decisions")
    mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}

    assert volume["emptyDir"] == {"sizeLimit": "200M"}
    assert mounts["decisions"] == "/var/lib/bayplan"
    kept = {"name": "kept", "persistentVolumeClaim": {"claimName": "decisions"}}
    own = one_scheduler(
        bayplan={"record": record},
        extraVolumes=[kept],
        extraVolumeMounts=[{"name": "kept", "mountPath": "/var/lib/bayplan"}],
    )
    volumes = own.one("Deployment")["spec"]["template"]["spec"]["volumes"]
    assert {volume["name"] for volume in volumes} == {"config", "tmp", "kept"}


def test_another_configuration_makes_new_pods() -> None:
    def mark(**entry: Any) -> str:
        template: Obj = one_scheduler(**entry).one("Deployment")["spec"]["template"]
        found: str = template["metadata"]["annotations"]["checksum/config"]
        return found

    assert mark() == mark(replicas=3)
    changed = [
        mark(configuration={"parallelism": 8}),
        mark(plugins={"no_node.py": PLUGIN}),
        mark(files={"prices.csv": ""}),
    ]
    assert len({mark(), *changed}) == 4


def test_pods_that_take_changes_over_by_themselves_are_left_alone() -> None:
    def template(**entry: Any) -> Obj:
        made = one_scheduler(restartOnChange=False, **entry).one("Deployment")
        found: Obj = made["spec"]["template"]
        return found

    assert template() == template(configuration={"parallelism": 8})


def test_the_page_names_values_that_there_are() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    named = set(re.findall(r"[`=](?:--set=)?([a-z]\w*(?:\.\w+)*)[=`]", page))
    # What is below these two is bayplan's own.
    paths = {
        path for path in named if path.split(".")[0] in values.keys() - {"bayplan", "configuration"}
    }

    assert {"takeOver", "http.enabled", "monitoring.job", "extraVolumeMounts"} <= paths
    for path in paths:
        found: Any = values
        for word in path.split("."):
            assert word in found, path
            found = found[word]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        pytest.param({"replica": 3}, "replica", id="a slip"),
        pytest.param(
            {"schedulers": [{"name": "a", "htttp": {}}]}, "/schedulers/0/htttp", id="in an entry"
        ),
        pytest.param({"schedulers": []}, "/schedulers", id="no scheduler"),
        pytest.param({"schedulers": [{"name": "A"}]}, "/schedulers/0/name", id="no name for pods"),
        pytest.param({"plugins": {"x.txt": ""}}, "x.txt", id="no Python file"),
        pytest.param({"files": {"config.yaml": ""}}, "config.yaml", id="the chart's own file"),
        pytest.param(
            {"bayplan": {"record": {"file": "decisions.jsonl"}}},
            "bayplan.record.file: decisions.jsonl: write the whole path",
            id="a log in the read-only folder of the configuration",
        ),
        pytest.param({"configuration": {"kind": "X"}}, "/configuration/kind", id="another kind"),
        pytest.param(
            {"schedulers": [{"name": "a"}, {"name": "a"}]}, "two are called a", id="one name twice"
        ),
        pytest.param(
            {
                "schedulers": [{"name": "a"}, {"name": "b"}],
                "configuration": {"profiles": [{"schedulerName": "x"}]},
            },
            "a and b both serve the pods of schedulerName x",
            id="two for the same pods",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_name(values: Obj, says: str) -> None:
    with pytest.raises(RenderError, match=says):
        render(values)


def test_two_for_the_same_pods_if_one_stands_by() -> None:
    shared = [{"schedulerName": "x"}]
    standby = {"schedulerName": "x", "lease": "default/a"}
    one = {"name": "a", "configuration": {"profiles": shared}}
    other = {
        "name": "b",
        "configuration": {"profiles": [{"schedulerName": "y"}, *shared]},
        "bayplan": {"standby": [standby]},
    }
    roles = {
        role["metadata"]["name"] for role in render({"schedulers": [one, other]}).of_kind("Role")
    }
    assert "b:standby-x" in roles
