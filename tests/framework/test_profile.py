from __future__ import annotations

import msgspec
import pytest

from bayplan.errors import ConfigError
from bayplan.framework.config import load_config
from bayplan.framework.plugin import (
    BindPlugin,
    FilterPlugin,
    PermitPlugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)
from bayplan.framework.profile import Profile, build_profile
from bayplan.framework.registry import Registry


class Sort(QueueSortPlugin):
    """Orders the queue."""


class Binder(BindPlugin):
    """Binds."""


class Everything(
    PreEnqueuePlugin,
    PreFilterPlugin,
    FilterPlugin,
    PostFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    ReservePlugin,
    PermitPlugin,
    PreBindPlugin,
    PostBindPlugin,
):
    """Serves all other points, as one instance."""

    threshold: float = 0.8


class Cheap(ScorePlugin):
    """Scores."""


class Fussy(FilterPlugin):
    """Cannot be built from these arguments."""

    limit: int = 0

    def setup(self) -> None:
        if self.limit < 1:
            raise ValueError("limit is too low")


def build(text: str) -> Profile:
    head = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
        "- schedulerName: s\n  plugins:\n    multiPoint:\n      disabled: [{name: '*'}]\n"
    )
    registry = Registry([Sort, Binder, Everything, Cheap, Fussy])
    config = load_config(head + text, registry)
    return build_profile(config.profiles[0], registry)


def test_one_instance_serves_all_its_points() -> None:
    profile = build(
        "      enabled: [{name: Binder}, {name: Everything, weight: 2}, {name: Sort}]\n"
        "    score: {enabled: [{name: Cheap, weight: 3}]}\n"
        "  pluginConfig: [{name: Everything, args: {threshold: 0.5}}]\n"
    )
    assert profile.name == "s"
    assert [plugin.name for plugin in profile.plugins] == ["Binder", "Everything", "Sort", "Cheap"]
    binder, everything, sort, cheap = profile.plugins
    assert profile.queue_sort == (sort,)
    assert profile.bind == (binder,)
    assert profile.score == (everything, cheap)
    assert profile.weights == {"Everything": 2, "Cheap": 3}
    others = (
        profile.pre_enqueue,
        profile.prefilter,
        profile.filter,
        profile.postfilter,
        profile.prescore,
        profile.reserve,
        profile.permit,
        profile.prebind,
        profile.postbind,
    )
    assert others == ((everything,),) * 9
    assert msgspec.structs.asdict(everything.args) == {"threshold": 0.5}


def test_a_weight_is_at_least_one() -> None:
    profile = build("      enabled: [{name: Binder}, {name: Sort}, {name: Cheap, weight: 0}]\n")
    assert profile.weights == {"Cheap": 1}


def test_a_plugin_that_cannot_be_built() -> None:
    with pytest.raises(ConfigError) as caught:
        build("      enabled: [{name: Binder}, {name: Sort}, {name: Fussy}]\n")
    assert str(caught.value) == (
        "line 8: profiles[0].plugins.multiPoint.enabled[2]: "
        'initializing plugin "Fussy": ValueError: limit is too low'
    )


def test_a_plugin_that_cannot_be_built_from_its_arguments() -> None:
    with pytest.raises(ConfigError) as caught:
        build(
            "      enabled: [{name: Binder}, {name: Sort}, {name: Fussy}]\n"
            "  pluginConfig:\n  - name: Fussy\n    args: {limit: -1}\n"
        )
    problem = caught.value.problems[0]
    assert (problem.path, problem.line) == ("profiles[0].pluginConfig[0]", 10)


def test_a_registry_that_has_lost_a_plugin() -> None:
    registry = Registry([Sort, Binder])
    config = load_config(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
        "- plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: Sort}, {name: Binder}]}}\n",
        registry,
    )
    with pytest.raises(ConfigError, match="the registry has no plugin Sort"):
        build_profile(config.profiles[0], Registry([Binder]))
