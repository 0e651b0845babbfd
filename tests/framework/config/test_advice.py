from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.framework.config.conftest import Load

HEAD = "profiles:\n- schedulerName: s\n  plugins:\n    "


@pytest.mark.parametrize(
    ("plugins", "warning"),
    [
        pytest.param(
            "score: {enabled: [{name: LowCpu, weight: 0}]}",
            "line 6: profiles[0].plugins.score.enabled[0].weight: a weight of 0 counts as 1, as in kube-scheduler; "
            "to leave LowCpu out, disable it at score",
            id="a weight of zero",
        ),
        pytest.param(
            "preScore: {disabled: [{name: InterPodAffinity}]}",
            "line 6: profiles[0].plugins.preScore.disabled[0]: InterPodAffinity is not enabled at preScore, so its "
            "Score is skipped (kube-scheduler would fail every pod)",
            id="a Score without its PreScore",
        ),
        pytest.param(
            "preFilter: {disabled: [{name: NodePorts}]}",
            "line 6: profiles[0].plugins.preFilter.disabled[0]: NodePorts is not enabled at preFilter, which its "
            "Filter needs (kube-scheduler would fail every pod)",
            id="a Filter without its PreFilter",
        ),
        pytest.param(
            "placementScore: {enabled: [{name: NodeResourcesFit}]}",
            "line 6: profiles[0].plugins.placementScore: not used: pods of a group are placed one by one",
            id="a point that is not used",
        ),
        pytest.param(
            "score: {disabled: [{name: ImageLocalty}]}",
            'line 6: profiles[0].plugins.score.disabled[0]: "ImageLocalty" would not run here anyway; '
            'did you mean "ImageLocality"?',
            id="a misspelt name under disabled",
        ),
        pytest.param(
            "multiPoint: {enabled: [{name: CapacityScheduling}]}",
            "line 5: profiles[0].plugins.postFilter: DefaultPreemption is enabled beside CapacityScheduling and evicts "
            "pods that CapacityScheduling spares; disable it at postFilter",
            id="a rival in preemption",
        ),
        pytest.param(
            "multiPoint: {disabled: [{name: Bogus}]}",
            'line 6: profiles[0].plugins.multiPoint.disabled[0]: "Bogus" would not run here anyway',
            id="no default",
        ),
    ],
)
def test_warnings(load: Load, plugins: str, warning: str) -> None:
    assert load(HEAD + plugins).warnings == [warning]


def test_a_score_without_its_prescore_is_left_out(load: Load) -> None:
    config = load(HEAD + "preScore: {disabled: [{name: '*'}]}")
    found = [ref.name for ref in config.profiles[0].plugins["score"]]
    assert found == [
        "NodeAffinity",
        "NodeResourcesFit",
        "VolumeBinding",
        "DynamicResources",
        "NodeResourcesBalancedAllocation",
        "ImageLocality",
    ]
    assert len(config.warnings) == 3


def test_nothing_to_say_about_a_plain_profile(load: Load) -> None:
    plugins = (
        "score: {disabled: [{name: ImageLocality}, {name: '*'}], enabled: [{name: ImageLocality}]}"
    )
    assert load(HEAD + plugins).warnings == []
