from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bayplan.errors import ConfigError
from bayplan.framework.plugin import ScorePlugin

if TYPE_CHECKING:
    from tests.framework.config.conftest import Load


class ByReference(ScorePlugin):
    """Named in files by module and class."""

    name = "Referred"


HERE = f"{__name__}:ByReference"


def problems(load: Load, text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(text)
    return [str(problem) for problem in caught.value.problems]


def test_the_percentage_of_a_profile_beats_that_of_the_file(load: Load) -> None:
    text = (
        "percentageOfNodesToScore: 30\nprofiles:\n"
        "- schedulerName: a\n- schedulerName: b\n  percentageOfNodesToScore: 0\n"
    )
    config = load(text)
    assert [p.percentage_of_nodes_to_score for p in config.profiles] == [30, 0]
    assert config.profile("b") is config.profiles[1]
    assert config.profile("c") is None


def test_places_say_where_a_plugin_is_configured(load: Load) -> None:
    text = (
        "profiles:\n- schedulerName: a\n  plugins:\n    score:\n      enabled:\n      - name: LowCpu\n"
        "  pluginConfig:\n  - name: NodeResourcesFit\n"
    )
    places = load(text).profiles[0].places
    assert places["LowCpu"] == ("profiles[0].plugins.score.enabled[0]", 8)
    assert places["NodeResourcesFit"] == ("profiles[0].pluginConfig[0]", 10)
    assert places["NodeName"] == ("profiles[0].plugins.multiPoint", 5)


def test_a_plugin_by_module_and_class(load: Load) -> None:
    text = (
        f"profiles:\n- plugins: {{score: {{enabled: [{{name: '{HERE}', weight: 3}}]}}}}\n"
        f"  pluginConfig: [{{name: '{HERE}'}}]\n"
    )
    assert load(text).profiles[0].plugins["score"][-1] == ("Referred", 3)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        pytest.param(
            "nowhere.to:Be",
            "cannot import to: ModuleNotFoundError: No module named 'nowhere'",
            id="no such module",
        ),
        pytest.param("json:JSONDecoder", "json:JSONDecoder is not a plugin class", id="no plugin"),
    ],
)
def test_what_cannot_be_loaded(load: Load, reference: str, message: str) -> None:
    text = f"profiles:\n- plugins: {{score: {{enabled: [{{name: '{reference}'}}]}}}}\n"
    assert problems(load, text) == [f"line 4: profiles[0].plugins.score.enabled[0]: {message}"]


def test_profiles_share_the_order_of_the_queue(load: Load) -> None:
    text = (
        "profiles:\n- schedulerName: a\n- schedulerName: b\n"
        "  plugins: {queueSort: {disabled: [{name: '*'}], enabled: [{name: OtherSort}]}}\n"
    )
    assert problems(load, text) == [
        "line 6: profiles[1].plugins.queueSort: Invalid value: "
        '{"Enabled":[{"Name":"OtherSort","Weight":0}],"Disabled":[{"Name":"*","Weight":0}]}: '
        "must be the same for all profiles",
        'line 6: profiles[1].plugins.queueSort: different queue sort plugins for profile "b": "OtherSort", '
        'first: "PrioritySort"',
    ]


def test_profiles_share_the_arguments_of_the_queue(load: Load) -> None:
    sort = "plugins: {queueSort: {disabled: [{name: '*'}], enabled: [{name: OtherSort}]}}"
    text = (
        f"profiles:\n- schedulerName: a\n  {sort}\n- schedulerName: b\n  {sort}\n"
        "  pluginConfig: [{name: OtherSort, args: {by: size}}]\n"
    )
    assert problems(load, text) == [
        'line 7: profiles[1].plugins.queueSort: different queue sort plugin args for profile "b"'
    ]
