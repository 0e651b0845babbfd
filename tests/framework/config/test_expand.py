"""Which plugin runs where; the cases of upstream's TestNewFrameworkMultiPointExpansion and of default_plugins_test.go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bayplan.errors import ConfigError
from bayplan.framework.config.expand import total_overflows
from bayplan.framework.config.points import DEFAULTS

if TYPE_CHECKING:
    from tests.framework.config.conftest import Load

DEFAULT_SCORES = [
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodeResourcesFit", 1),
    ("VolumeBinding", 1),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DynamicResources", 2),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
]


def profile(plugins: str) -> str:
    """A profile whose ``plugins`` are given one per line, ``score: {...}``."""
    lines = "".join(f"    {line}\n" for line in plugins.splitlines())
    return f"profiles:\n- schedulerName: s\n  plugins:\n{lines}"


def scores(load: Load, plugins: str) -> list[tuple[str, int]]:
    refs = load(profile(plugins)).profiles[0].plugins["score"]
    return [(ref.name, ref.weight) for ref in refs]


def names(load: Load, plugins: str, point: str) -> list[str]:
    return [ref.name for ref in load(profile(plugins)).profiles[0].plugins[point]]


def problems(load: Load, plugins: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(profile(plugins))
    return [str(problem) for problem in caught.value.problems]


def without(*gone: str) -> list[tuple[str, int]]:
    return [(name, weight) for name, weight in DEFAULT_SCORES if name not in gone]


def test_the_default_profile(load: Load) -> None:
    config = load("")
    found = {
        point: " ".join(ref.name for ref in refs)
        for point, refs in config.profiles[0].plugins.items()
    }
    assert found == {
        "preEnqueue": "SchedulingGates DynamicResources DefaultPreemption",
        "queueSort": "PrioritySort",
        "preFilter": "NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions NodeVolumeLimits VolumeBinding "
        "VolumeZone PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures",
        "filter": "NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts NodeResourcesFit "
        "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity "
        "DynamicResources NodeDeclaredFeatures",
        "postFilter": "DynamicResources DefaultPreemption",
        "preScore": "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread InterPodAffinity "
        "NodeResourcesBalancedAllocation",
        "score": " ".join(name for name, _ in DEFAULT_SCORES),
        "reserve": "VolumeBinding DynamicResources",
        "permit": "",
        "preBind": "VolumeBinding DynamicResources",
        "bind": "DefaultBinder",
        "postBind": "",
    }
    assert [tuple(ref) for ref in config.profiles[0].plugins["score"]] == DEFAULT_SCORES
    assert config.profiles[0].order == tuple(DEFAULTS)
    assert config.warnings == []


@pytest.mark.parametrize(
    ("plugins", "result"),
    [
        pytest.param(
            "score: {enabled: [{name: NodeResourcesFit, weight: 6}]}",
            [("NodeResourcesFit", 6), *without("NodeResourcesFit")],
            id="enabled at the point: its own weight, and first",
        ),
        pytest.param(
            "score: {enabled: [{name: ImageLocality}, {name: NodeAffinity}]}",
            [("ImageLocality", 1), ("NodeAffinity", 1), *without("ImageLocality", "NodeAffinity")],
            id="without a weight it is 1, not that of MultiPoint",
        ),
        pytest.param(
            "score: {enabled: [{name: LowCpu, weight: 4}]}",
            [*DEFAULT_SCORES, ("LowCpu", 4)],
            id="a plugin of the point alone goes last",
        ),
        pytest.param(
            "score: {enabled: [{name: LowCpu, weight: 4}, {name: ImageLocality, weight: 2}]}",
            [("ImageLocality", 2), *without("ImageLocality"), ("LowCpu", 4)],
            id="overriding first, MultiPoint, then the rest",
        ),
        pytest.param(
            "score: {disabled: [{name: ImageLocality}]}",
            without("ImageLocality"),
            id="disabled at the point",
        ),
        pytest.param(
            "score: {disabled: [{name: ImageLocality}], enabled: [{name: ImageLocality, weight: 9}]}",
            [*without("ImageLocality"), ("ImageLocality", 9)],
            id="disabled and enabled: enabled, but no longer an override",
        ),
        pytest.param(
            "score: {disabled: [{name: '*'}], enabled: [{name: LowCpu}, {name: NodeAffinity, weight: 3}]}",
            [("LowCpu", 1), ("NodeAffinity", 3)],
            id="all disabled: only what the point enables",
        ),
        pytest.param(
            "multiPoint: {enabled: [{name: LowCpu, weight: 5}]}",
            [*DEFAULT_SCORES, ("LowCpu", 5)],
            id="a plugin in MultiPoint comes after the defaults",
        ),
        pytest.param(
            "multiPoint: {enabled: [{name: NodeAffinity, weight: 5}]}",
            [("TaintToleration", 3), ("NodeAffinity", 5), *DEFAULT_SCORES[2:]],
            id="a default in MultiPoint keeps its place",
        ),
        pytest.param(
            "multiPoint: {enabled: [{name: NodeAffinity}]}",
            [("TaintToleration", 3), ("NodeAffinity", 1), *DEFAULT_SCORES[2:]],
            id="and loses its default weight",
        ),
        pytest.param(
            "multiPoint: {disabled: [{name: NodeAffinity}]}",
            without("NodeAffinity"),
            id="a default disabled in MultiPoint",
        ),
        pytest.param(
            "multiPoint: {disabled: [{name: NodeAffinity}], enabled: [{name: NodeAffinity, weight: 7}]}",
            [*without("NodeAffinity"), ("NodeAffinity", 7)],
            id="disabled and enabled in MultiPoint: at the end",
        ),
        pytest.param(
            "multiPoint: {disabled: [{name: NodeAffinity}]}\nscore: {enabled: [{name: NodeAffinity, weight: 2}]}",
            [*without("NodeAffinity"), ("NodeAffinity", 2)],
            id="out of MultiPoint, in at the point",
        ),
        pytest.param(
            "multiPoint: {enabled: [{name: LowCpu, weight: 5}]}\nscore: {enabled: [{name: LowCpu, weight: 2}]}",
            [("LowCpu", 2), *DEFAULT_SCORES],
            id="the weight of the point beats that of MultiPoint",
        ),
    ],
)
def test_scores(load: Load, plugins: str, result: list[tuple[str, int]]) -> None:
    assert scores(load, plugins) == result


def test_all_of_multipoint_disabled(load: Load) -> None:
    plugins = (
        "multiPoint: {disabled: [{name: '*'}], enabled: [{name: DefaultBinder}]}\n"
        "queueSort: {enabled: [{name: PrioritySort}]}\nfilter: {enabled: [{name: LowCpu}]}"
    )
    resolved = load(profile(plugins)).profiles[0]
    assert resolved.order == ("DefaultBinder", "LowCpu", "PrioritySort")
    assert [point for point, refs in resolved.plugins.items() if refs] == [
        "queueSort",
        "filter",
        "bind",
    ]


def test_a_plugin_disabled_everywhere_is_still_built(load: Load) -> None:
    resolved = load(profile("score: {disabled: [{name: ImageLocality}]}")).profiles[0]
    assert "ImageLocality" in resolved.order, "as upstream, which builds what MultiPoint names"


def test_another_queue_sort(load: Load) -> None:
    plugins = "queueSort: {disabled: [{name: '*'}], enabled: [{name: OtherSort}]}"
    assert names(load, plugins, "queueSort") == ["OtherSort"]


@pytest.mark.parametrize(
    ("plugins", "found"),
    [
        pytest.param(
            "filter: {enabled: [{name: DefaultPreemption}]}",
            [
                'line 6: profiles[0].plugins.filter.enabled[0]: plugin "DefaultPreemption" does not extend '
                "FilterPlugin plugin; it implements preEnqueue, postFilter"
            ],
            id="a plugin at a point that it does not implement",
        ),
        pytest.param(
            "score: {enabled: [{name: NodeAfinity}]}",
            [
                'line 6: profiles[0].plugins.score.enabled[0]: ScorePlugin "NodeAfinity" does not exist; '
                'did you mean "NodeAffinity"?'
            ],
            id="a misspelt name",
        ),
        pytest.param(
            "multiPoint: {enabled: [{name: Bogus}]}",
            [
                'line 6: profiles[0].plugins.multiPoint.enabled[0]: PreFilterPlugin "Bogus" does not exist; '
                "install its package, name its directory with --plugin-dir or pluginDirs, or write module:Class"
            ],
            id="an unknown name in MultiPoint",
        ),
        pytest.param(
            "filter: {enabled: [{name: NodePorts}, {name: NodePorts}]}",
            [
                'line 6: profiles[0].plugins.filter.enabled[1]: plugin "NodePorts" already registered as '
                '"FilterPlugin"'
            ],
            id="twice at a point",
        ),
        pytest.param(
            "multiPoint: {enabled: [{name: LowCpu}, {name: LowCpu}]}",
            [
                'line 6: profiles[0].plugins.multiPoint.enabled[1]: plugin "LowCpu" already registered as '
                '"FilterPlugin"'
            ],
            id="twice in MultiPoint",
        ),
        pytest.param(
            "filter: {enabled: [{name: EBSLimits}]}",
            [
                'line 6: profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": was invalid in version '
                '"kubescheduler.config.k8s.io/v1" (KubeSchedulerConfiguration is version '
                '"kubescheduler.config.k8s.io/v1")'
            ],
            id="a plugin that is gone",
        ),
        pytest.param(
            "score: {enabled: [{name: LowCpu, weight: -1}]}",
            [
                "line 6: profiles[0].plugins.score.enabled[0].weight: Invalid value: -1: "
                "should not be a negative value"
            ],
            id="a negative weight",
        ),
        pytest.param(
            "score: {enabled: [{name: LowCpu, weight: 2147483648}]}",
            [
                "line 6: profiles[0].plugins.score.enabled[0].weight: "
                "cannot unmarshal number 2147483648 into field of type int32"
            ],
            id="a weight that overflows",
        ),
        pytest.param(
            "queueSort: {enabled: [{name: OtherSort}]}",
            [
                "line 6: profiles[0].plugins.queueSort: only one queue sort plugin required for profile with "
                'scheduler name "s", but got 2'
            ],
            id="two orders of the queue",
        ),
        pytest.param(
            "bind: {disabled: [{name: DefaultBinder}]}",
            [
                "line 6: profiles[0].plugins.bind: at least one bind plugin is needed for profile with "
                'scheduler name "s"'
            ],
            id="nobody binds",
        ),
    ],
)
def test_what_is_refused(load: Load, plugins: str, found: list[str]) -> None:
    assert problems(load, plugins) == found


def test_two_queue_sorts_at_the_point(load: Load) -> None:
    found = problems(load, "queueSort: {enabled: [{name: PrioritySort}, {name: OtherSort}]}")
    assert found[0] == (
        "line 6: profiles[0].plugins.queueSort.enabled: Invalid value: 2: only one queue sort plugin can be enabled"
    )


@pytest.mark.parametrize(
    ("weights", "overflows"),
    [
        pytest.param([2**63 // 100], False, id="just fits"),
        pytest.param([2**63 // 100, 1], True, id="one too many"),
    ],
)
def test_total_overflows(weights: list[int], overflows: bool) -> None:
    assert total_overflows(weights) is overflows
