from __future__ import annotations

from datetime import timedelta

import pytest

from bayplan.errors import ConfigError
from bayplan.framework.config import load_config
from bayplan.framework.registry import Registry
from bayplan.plugins import default_registry

TWO = (
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    "profiles: [{schedulerName: a}, {schedulerName: b}, {schedulerName: c}]\n"
)
OWN = "---\napiVersion: bayplan.io/v1alpha1\nkind: BayplanConfiguration\n"


def arm(text: str) -> str:
    return f"{TWO}{OWN}profiles: [{{schedulerName: a, arm: {{{text}}}}}]\n"


def test_an_arm_belongs_to_its_profile(registry: Registry) -> None:
    config = load_config(arm("profile: b, mode: canary, percent: 5"), registry)
    found = [profile.arm for profile in config.profiles]
    assert found[0] is not None
    assert (found[0].profile, found[0].mode, found[0].percent) == ("b", "canary", 5.0)
    assert found[1:] == [None, None]


def test_changes_are_watched_for_unless_told_otherwise(registry: Registry) -> None:
    reload = load_config(TWO, registry).own.reload
    assert (reload.watch, reload.interval, reload.dry_run_pods) == (True, timedelta(seconds=1), 50)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            arm("profile: z, percent: 5"),
            'line 7: profiles[0].arm.profile: Invalid value: "z": the KubeSchedulerConfiguration has no such profile',
            id="no such profile",
        ),
        pytest.param(
            arm("profile: a, percent: 5"),
            'line 7: profiles[0].arm.profile: Invalid value: "a": must be another profile',
            id="itself",
        ),
        pytest.param(
            arm("profile: b"),
            "line 7: profiles[0].arm.percent: Required value: a share of the pods, or matchLabels, or both",
            id="no share",
        ),
        pytest.param(
            arm("profile: b, percent: 101"),
            "line 7: profiles[0].arm.percent: Invalid value: 101.0: must be from 0 to 100",
            id="more than all",
        ),
        pytest.param(
            arm("profile: b, percent: 1, mode: half"),
            'line 7: profiles[0].arm.mode: Unsupported value: "half": supported values: "canary", "shadow"',
            id="no such mode",
        ),
        pytest.param(
            TWO + OWN + "profiles: [{schedulerName: a, arm: {profile: b, percent: 1}},\n"
            " {schedulerName: b, arm: {profile: c, percent: 1}}]\n",
            'line 7: profiles[0].arm.profile: Invalid value: "b": that profile has an arm of its own',
            id="a chain",
        ),
        pytest.param(
            TWO + OWN + "reload: {interval: 1ms}\n",
            'line 7: reload.interval: Invalid value: "1ms": must be at least 100ms',
            id="too often",
        ),
        pytest.param(
            TWO + OWN + "reload: {dryRunPods: 51}\n",
            "line 7: reload.dryRunPods: Invalid value: 51: must be from 0 to 50",
            id="too many pods",
        ),
        pytest.param(
            TWO + OWN + "reload: {rollback: {errors: 0}}\n",
            "line 7: reload.rollback.errors: Invalid value: 0: must be greater than 0",
            id="no error at all",
        ),
    ],
)
def test_mistakes_have_their_place(text: str, said: str, registry: Registry) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(text, registry)
    assert [str(problem) for problem in caught.value.problems] == [said]


def test_an_arm_does_not_lead_past_scheduling_policies() -> None:
    with_policies = "plugins: {multiPoint: {enabled: [{name: SchedulingPolicy}]}}"
    text = arm("profile: b, percent: 1").replace(
        "{schedulerName: a},", f"{{schedulerName: a, {with_policies}}},"
    )
    with pytest.raises(ConfigError) as caught:
        load_config(text, default_registry())
    assert [problem.message for problem in caught.value.problems] == [
        'Invalid value: "b": SchedulingPolicy has to be in both or in neither'
    ]
