"""Every YAML of the documents that bayplan was asked for with: it does what it says, or the error names the line and the fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bayplan.errors import ConfigError
from bayplan.framework.config import Configuration, load_config
from bayplan.framework.registry import Registry
from bayplan.plugins import default_registry
from bayplan.sim.dump import read_dump

DATA = Path(__file__).parent / "data"
#: Names that the documents use without saying what they are.
EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"

DEFAULT_FILTERS = [
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "NodeDeclaredFeatures",
]
DEFAULT_WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "VolumeBinding": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}
WHERE_FOUND = (
    "install its package, name its directory with --plugin-dir or pluginDirs, or write module:Class"
)
USE = "use KubeSchedulerConfiguration or BayplanConfiguration"


class Runs(NamedTuple):
    """What a configuration comes to once its plugins are there."""

    profile: str
    #: Filters after the default ones.
    filters: tuple[str, ...] = ()
    #: What differs from the default weights; 0: not there.
    weights: dict[str, int] = {}  # noqa: RUF012 - never written
    #: Plugin and argument.
    args: dict[tuple[str, str], Any] = {}  # noqa: RUF012
    #: What is missing without the examples: line, interface and name.
    absent: tuple[tuple[int, str, str], ...] = ()
    #: Default filters that the file names, and that therefore run before the others.
    first: tuple[str, ...] = ()
    #: How many warnings there are.
    warnings: int = 0


CONFIGURATIONS = {
    "000-line-0204": Runs(
        "custom-scheduler",
        ("CustomPlugin",),
        {"CustomPlugin": 1},
        absent=((8, "FilterPlugin", "CustomPlugin"), (11, "ScorePlugin", "CustomPlugin")),
    ),
    "001-line-0020": Runs("custom-scheduler", warnings=8),
    "002-line-0150": Runs(
        "lowcpu-scheduler",
        ("LowCpuScheduler",),
        {"LowCpuScheduler": 1},
    ),
    "003-line-0036": Runs(
        "default-scheduler",
        weights={"PodTopologySpread": 0, "MyCustomPluginA": 2, "MyCustomPluginB": 1},
        absent=((9, "ScorePlugin", "MyCustomPluginA"), (11, "ScorePlugin", "MyCustomPluginB")),
    ),
    "003-line-0157": Runs(
        "example",
        weights={"ExamplePlugin": 1},
    ),
    "004-line-0273": Runs(
        "custom-scheduler",
        ("CustomFilterPlugin",),
        # The file takes InterPodAffinity away at preScore alone, which its Score cannot do without.
        {"CustomScorePlugin": 1, "InterPodAffinity": 0},
        args={
            ("CustomScorePlugin", "weight_factor"): 10,
            ("CustomScorePlugin", "enable_gpu_scheduling"): True,
        },
        first=("NodeResourcesFit",),
        warnings=5,
    ),
    "004-line-0904": Runs(
        "cost-optimizer",
        weights={"NodeResourcesFit": 30, "CostOptimizationPlugin": 70},
        args={
            ("CostOptimizationPlugin", "cost_metrics"): {"cpu": 0.05, "memory": 0.01, "gpu": 2.0},
            ("CostOptimizationPlugin", "prefer_spot_instances"): True,
            ("CostOptimizationPlugin", "max_cost_threshold"): 10.0,
        },
        warnings=4,
    ),
    "004-line-0929": Runs(
        "latency-sensitive",
        weights={"NetworkLatencyPlugin": 50, "NodeAffinityPlugin": 30, "LoadBalancingPlugin": 20},
        args={
            ("NetworkLatencyPlugin", "max_latency_ms"): 10,
            ("NetworkLatencyPlugin", "latency_weight"): 100,
            ("NetworkLatencyPlugin", "measurement_interval"): "5m",
        },
        warnings=4,
    ),
}

#: What a file says that no scheduler can do, Kubernetes' own included.
REFUSED = {
    "000-line-0018": [
        'line 8: profiles[0].plugins.filter.enabled[0]: plugin "DefaultPreemption" does not extend '
        "FilterPlugin plugin; it implements preEnqueue, postFilter",
        'line 13: profiles[0].extenders: unknown field "profiles[0].extenders"; '
        "extenders belongs at the top level of the file",
    ],
}


class Holds(NamedTuple):
    """Objects of a cluster: what ``explain --cluster`` makes of the file, and ``check-config`` says of it."""

    #: Fields of a case and the keys of the objects there.
    objects: dict[str, list[str]] = {}  # noqa: RUF012
    #: Kinds that no placement depends on.
    skipped: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    #: What the loader of configurations says: line, kind and version of each document.
    kinds: tuple[tuple[int, str, str], ...] = ()


POD, CONFIG_MAP, DEPLOYMENT = ("Pod", "v1"), ("ConfigMap", "v1"), ("Deployment", "apps/v1")
PRIORITY_CLASS = ("PriorityClass", "scheduling.k8s.io/v1")
MANIFESTS = {
    "000-line-0150": Holds({"pods": ["custom-scheduled-pod"]}, kinds=((2, *POD),)),
    "001-line-0089": Holds({"pods": ["kube-system/custom-scheduler"]}, kinds=((2, *POD),)),
    "001-line-0113": Holds({"pods": ["nginx"]}, kinds=((2, *POD),)),
    "001-line-0141": Holds(
        {"nodes": ["node1"], "pods": ["nginx"]}, kinds=((2, "Node", "v1"), (13, *POD))
    ),
    "001-line-0167": Holds(skipped=("ResourceQuota",), kinds=((2, "ResourceQuota", "v1"),)),
    "001-line-0181": Holds(
        {"pods": ["nginx"]},
        classes=("high-priority",),
        kinds=((2, *PRIORITY_CLASS), (11, *POD)),
    ),
    "001-line-0204": Holds(classes=("preemptive",), kinds=((2, *PRIORITY_CLASS),)),
    "001-line-0215": Holds(
        {"podgroups": ["nginx-group"], "pods": ["nginx-1"]},
        kinds=((11, *POD),),
    ),
    "001-line-0286": Holds(
        skipped=("ServiceMonitor",), kinds=((2, "ServiceMonitor", "monitoring.coreos.com/v1"),)
    ),
    "001-line-0301": Holds(skipped=("ConfigMap",), kinds=((2, *CONFIG_MAP),)),
    "002-line-0130": Holds({"pods": ["my-workload"]}, kinds=((2, *POD),)),
    "003-line-0181": Holds({"pods": ["example-pod"]}, kinds=((2, *POD),)),
    "004-line-0531": Holds(
        {"pods": ["gpu-workload"]}, ("Deployment",), kinds=((3, *POD), (17, *DEPLOYMENT))
    ),
    "004-line-0571": Holds(skipped=("Deployment", "ConfigMap"), kinds=((3, *DEPLOYMENT),)),
    "004-line-0653": Holds(
        {"services": ["kube-system/scheduler-metrics"]}, kinds=((3, "Service", "v1"),)
    ),
    "004-line-1112": Holds(
        {"configmaps": ["kube-system/scheduling-policies"]}, kinds=((3, *CONFIG_MAP),)
    ),
}

#: What else is said of a manifest: a configuration inside a ConfigMap, alarm rules that are no Kubernetes object.
ALSO_SAID = {
    "001-line-0215": [
        'line 1: apiVersion: no kind "PodGroup" is registered for version "scheduling.k8s.io/v1alpha1"; a PodGroup is an '
        "object of the cluster, not of this file; write it as scheduling.x-k8s.io/v1alpha1 (scheduling.k8s.io/v1alpha1 is "
        "Kubernetes' own group, where nobody else can serve a PodGroup), and apply "
        "deploy/crds/podgroups.scheduling.x-k8s.io.yaml"
    ],
    "004-line-0571": [
        'line 39: data.gpu-scheduler-config.yaml: no kind "ConfigMap" is registered for version "v1"; '
        "the configuration is the text under gpu-scheduler-config.yaml: give that as a file of its own"
    ],
    "004-line-0653": [
        "line 16: kind: Object 'Kind' is missing",
        "line 16: apiVersion: Object 'apiVersion' is missing",
    ],
}


def registry_with_examples() -> Registry:
    registry = default_registry()
    registry.add_directory(EXAMPLES)
    return registry


def load(name: str) -> Configuration:
    return load_config(DATA / f"{name}.yaml", registry_with_examples())


def refused(name: str, registry: Registry) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_config(DATA / f"{name}.yaml", registry)
    return [str(problem) for problem in caught.value.problems]


def test_every_file_is_in_one_of_the_tables() -> None:
    listed = [*CONFIGURATIONS, *REFUSED, *MANIFESTS]
    assert sorted(listed) == sorted(path.stem for path in DATA.glob("*.yaml"))


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_configuration_does_what_it_says(name: str) -> None:
    expected, found = CONFIGURATIONS[name], load(name)
    (profile,) = found.profiles
    assert profile.scheduler_name == expected.profile
    filters = [ref.name for ref in profile.plugins["filter"]]
    others = [name for name in DEFAULT_FILTERS if name not in expected.first]
    assert filters == [*expected.first, *others, *expected.filters]
    weights = {ref.name: ref.weight for ref in profile.plugins["score"]}
    wanted = {**DEFAULT_WEIGHTS, **expected.weights}
    assert weights == {plugin: weight for plugin, weight in wanted.items() if weight}
    for (plugin, argument), value in expected.args.items():
        assert getattr(profile.args[plugin], argument) == value
    assert len(found.warnings) == expected.warnings, found.warnings


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_without_its_plugins_every_one_is_named_with_its_line(name: str) -> None:
    expected = CONFIGURATIONS[name]
    if not expected.absent:
        assert load_config(DATA / f"{name}.yaml", default_registry()).profiles
        return
    found = refused(name, default_registry())
    assert len(found) == len(expected.absent)
    for problem, (line, interface, plugin) in zip(found, expected.absent, strict=True):
        assert problem.startswith(f"line {line}: profiles[0].plugins.")
        assert problem.endswith(f': {interface} "{plugin}" does not exist; {WHERE_FOUND}')


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_scheduler_can_do_is_refused(name: str) -> None:
    assert refused(name, registry_with_examples()) == REFUSED[name]


def test_where_a_plugin_runs_in_the_example_of_postbind() -> None:
    plugins = load("003-line-0157").profiles[0].plugins
    assert [ref.name for ref in plugins["postBind"]] == ["ExamplePlugin"]
    assert load("003-line-0157").client_connection.kubeconfig.endswith("/data/config")


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_is_read_as_part_of_a_cluster(name: str) -> None:
    expected, dump = MANIFESTS[name], read_dump(DATA / f"{name}.yaml")
    found = {field: list(by_key) for field, by_key in dump.objects.items() if by_key}
    found.pop("priorityclasses", None)
    assert found == expected.objects
    why_missing = {obj.kind for obj in (*dump.quotas.values(), *dump.deployments.values())}
    assert sorted({*dump.skipped, *why_missing}) == sorted(set(expected.skipped))
    assert tuple(dump.priority_classes) == expected.classes
    alarm_rules = ["document 2: an object without a kind"] if name == "004-line-0653" else []
    assert [str(trouble).rpartition(", ")[2] for trouble in dump.troubles] == alarm_rules


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_is_no_configuration(name: str) -> None:
    said = [
        f'line {line}: kind: no kind "{kind}" is registered for version "{version}"; {USE}'
        for line, kind, version in MANIFESTS[name].kinds
    ]
    assert sorted(refused(name, default_registry())) == sorted(said + ALSO_SAID.get(name, []))
