from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from bayplan.errors import ConfigError
from bayplan.framework.config import load_config
from bayplan.framework.plugin import FilterPlugin
from bayplan.framework.registry import Registry

if TYPE_CHECKING:
    from tests.framework.config.conftest import Load

HEAD = "profiles:\n- schedulerName: s\n  pluginConfig:\n"


def problems(load: Load, text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(text)
    return [str(problem) for problem in caught.value.problems]


def args_of(load: Load, text: str, name: str) -> Any:
    return load(text).profiles[0].args[name]


def test_arguments_are_typed(load: Load) -> None:
    text = HEAD + "  - name: InterPodAffinity\n    args: {hardPodAffinityWeight: 5}\n"
    assert args_of(load, text, "InterPodAffinity").hard_pod_affinity_weight == 5


def test_every_plugin_has_arguments(load: Load) -> None:
    profile = load("").profiles[0]
    assert set(profile.args) == set(profile.order)
    assert args_of(load, "", "InterPodAffinity").hard_pod_affinity_weight == 1


def test_arguments_of_a_plugin_that_does_not_run_are_checked_only(load: Load) -> None:
    text = HEAD + "  - name: LowCpu\n    args: {threshold: 0.5}\n"
    assert "LowCpu" not in load(text).profiles[0].args
    found = problems(load, HEAD + "  - name: LowCpu\n    args: {threshold: high}\n")
    assert found == [
        "line 7: profiles[0].pluginConfig[0].args.threshold: "
        "cannot unmarshal string into field of type float64"
    ]


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("kind: InterPodAffinityArgs", id="kind"),
        pytest.param("apiVersion: kubescheduler.config.k8s.io/v1", id="version"),
        pytest.param(
            "kind: InterPodAffinityArgs, apiVersion: kubescheduler.config.k8s.io/v1", id="both"
        ),
    ],
)
def test_arguments_may_say_of_what_kind_they_are(load: Load, kind: str) -> None:
    assert load(HEAD + f"  - name: InterPodAffinity\n    args: {{{kind}}}\n").warnings == []


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        pytest.param(
            "  - name: InterPodAffinity\n    args: {hardPodAffinityWeight: 101}\n",
            [
                "line 7: profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: "
                "not in valid range [0, 100]"
            ],
            id="what the plugin itself refuses",
        ),
        pytest.param(
            "  - name: LowCpu\n    args:\n      zones:\n      - a\n      - ''\n",
            ["line 10: profiles[0].pluginConfig[0].args.zones[1]: Required value"],
            id="with a path into a list",
        ),
        pytest.param(
            "  - name: LowCpu\n    args: {treshold: 1, zones: 3}\n",
            [
                'line 7: profiles[0].pluginConfig[0].args.treshold: unknown field "treshold"; '
                'did you mean "threshold"?',
                "line 7: profiles[0].pluginConfig[0].args.zones: "
                "cannot unmarshal number into field of type []string",
            ],
            id="several at once; the path in upstream's words starts at the arguments",
        ),
        pytest.param(
            "  - name: InterPodAffinity\n    args: {kind: NodeAffinityArgs}\n",
            [
                "line 7: profiles[0].pluginConfig[0].args.kind: args for plugin InterPodAffinity were not of type "
                "InterPodAffinityArgs.kubescheduler.config.k8s.io, got NodeAffinityArgs.kubescheduler.config.k8s.io"
            ],
            id="another plugin's kind",
        ),
        pytest.param(
            "  - name: InterPodAffinity\n    args: {apiVersion: kubescheduler.config.k8s.io/v1beta3}\n",
            [
                'line 7: profiles[0].pluginConfig[0].args.apiVersion: no kind "InterPodAffinityArgs" is registered '
                'for version "kubescheduler.config.k8s.io/v1beta3"'
            ],
            id="another version",
        ),
        pytest.param(
            "  - name: LowCpu\n    args: [1]\n",
            [
                "line 7: profiles[0].pluginConfig[0].args: args for plugin LowCpu have to be an object"
            ],
            id="a list",
        ),
        pytest.param(
            "  - name: LowCpu\n  - name: LowCpu\n",
            ['line 7: profiles[0].pluginConfig[1]: Duplicate value: "LowCpu"'],
            id="the same plugin twice",
        ),
        pytest.param(
            "  - name: CinderLimits\n",
            [
                'line 6: profiles[0].pluginConfig[0]: Invalid value: "CinderLimits": was invalid in version '
                '"kubescheduler.config.k8s.io/v1" (KubeSchedulerConfiguration is version '
                '"kubescheduler.config.k8s.io/v1")'
            ],
            id="a plugin that is gone",
        ),
    ],
)
def test_what_is_refused(load: Load, entry: str, found: list[str]) -> None:
    assert problems(load, HEAD + entry) == found


def test_a_plugin_of_others_may_have_a_version_of_its_own(load: Load) -> None:
    text = HEAD + "  - name: LowCpu\n    args: {apiVersion: example.com/v1, kind: LowCpuArgs}\n"
    assert load(text).warnings == []


@pytest.mark.parametrize(
    ("entry", "warning"),
    [
        pytest.param(
            "  - name: NodeName\n    args: {x: 1}\n",
            "line 7: profiles[0].pluginConfig[0].args: NodeName takes no arguments; these are not used",
            id="for a default plugin that takes none, as upstream",
        ),
        pytest.param(
            "  - name: Coscheduling\n    args: {x: 1}\n",
            'line 7: profiles[0].pluginConfig[0].args: there is no plugin "Coscheduling", '
            "so these arguments are not used",
            id="for a plugin that is not there",
        ),
    ],
)
def test_arguments_that_nobody_reads(load: Load, entry: str, warning: str) -> None:
    assert load(HEAD + entry).warnings == [warning]


def test_extenders_decide_which_resources_are_ignored(load: Load) -> None:
    extenders = (
        "extenders:\n- managedResources:\n"
        "  - {name: a.com/x, ignoredByScheduler: true}\n  - {name: a.com/y}\n"
    )
    assert args_of(load, extenders, "NodeResourcesFit").ignored_resources == ("a.com/x",)
    text = (
        extenders + HEAD + "  - name: NodeResourcesFit\n    args: {ignoredResources: [b.com/z]}\n"
    )
    config = load(text)
    assert config.profiles[0].args["NodeResourcesFit"] == args_of(
        load, extenders, "NodeResourcesFit"
    )
    assert [w.partition(": ")[2] for w in config.warnings] == [
        "profiles[0].pluginConfig[0].args.ignoredResources: not used: extenders that set ignoredByScheduler "
        "on their managedResources decide this"
    ]
    gone = "profiles:\n- plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}\n"
    assert problems(load, extenders + gone) == [
        "line 8: profiles[0].pluginConfig: can't find NodeResourcesFitArgs in plugin config"
    ]


class NeedyArgs(msgspec.Struct, frozen=True):
    region: str


class Needy(FilterPlugin):
    args_type = NeedyArgs


class Raising(FilterPlugin):
    @classmethod
    def check_args(cls, args: Any) -> Any:
        raise KeyError("x")


@pytest.mark.parametrize(
    ("plugin", "problem"),
    [
        pytest.param(
            Needy,
            "line 4: profiles[0].pluginConfig: plugin Needy needs arguments: region: Required value",
            id="arguments that nobody gave",
        ),
        pytest.param(
            Raising,
            "line 4: profiles[0].pluginConfig: check_args of Raising raised KeyError: 'x'",
            id="a check that raises",
        ),
    ],
)
def test_plugins_that_are_hard_to_please(
    registry: Registry, plugin: type[FilterPlugin], problem: str
) -> None:
    registry.add(plugin)
    text = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        f"profiles:\n- plugins: {{filter: {{enabled: [{{name: {plugin.name}}}]}}}}\n"
    )
    with pytest.raises(ConfigError) as caught:
        load_config(text, registry)
    assert str(caught.value) == problem


class Batch(FilterPlugin):
    enable_gpu: bool = False
    max_pods: int = 1


@pytest.mark.parametrize(
    "args",
    [
        pytest.param("{enableGpu: true, maxPods: 3}", id="as YAML has it"),
        pytest.param("{enableGPU: true, maxPODs: 3}", id="abbreviations in capitals"),
        pytest.param("{enable_gpu: true, max_pods: 3}", id="as Python has it"),
    ],
)
def test_arguments_of_own_plugins_may_be_spelt_in_several_ways(
    registry: Registry, args: str
) -> None:
    registry.add(Batch)
    found = load_config(LOADED + f"    args: {args}\n", registry).profiles[0].args["Batch"]
    assert (found.enable_gpu, found.max_pods) == (True, 3)  # type: ignore[attr-defined]


def test_the_same_argument_in_two_spellings_is_refused(registry: Registry) -> None:
    registry.add(Batch)
    with pytest.raises(ConfigError, match='unknown field "enable_gpu"; did you mean "enableGpu"'):
        load_config(LOADED + "    args: {enableGpu: true, enable_gpu: false}\n", registry)


LOADED = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    filter: {enabled: [{name: Batch}]}
  pluginConfig:
  - name: Batch
"""
