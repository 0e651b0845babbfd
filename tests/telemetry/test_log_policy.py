from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest

from bayplan.errors import ConfigError
from bayplan.telemetry import log
from bayplan.telemetry.log_policy import SUBJECTS, inner_text, levels

POLICY = {"apiVersion": "v1", "kind": "Policy"}


def rules(*given: Any) -> dict[str, int]:
    return levels({**POLICY, "rules": list(given)}, "logging.yaml")


def test_the_seeds_rule() -> None:
    found = rules({"level": "Info", "resources": ["pods"], "verbs": ["schedule", "bind"]})
    assert set(found.values()) == {2}
    assert {SUBJECTS[module] for module in found} == {("pods", "schedule"), ("pods", "bind")}


def test_the_first_rule_that_matches_decides() -> None:
    found = rules({"level": "Trace", "verbs": ["bind"]}, {"level": "Error", "resources": ["*"]})
    assert found["bayplan.runtime.binding"] == 10
    assert found["bayplan.client.leases"] == -2
    assert set(found) == set(SUBJECTS)


def test_a_number_is_a_level_as_for_v() -> None:
    assert rules({"level": 4, "verbs": ["lead"]}) == {"bayplan.client.leases": 4}


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        ({"level": "Loud"}, r"rules\[0\].level: 'Loud' is none of None, Error"),
        ({"level": True}, r"rules\[0\].level"),
        ({"level": "Info", "resources": ["pod"]}, r"rules\[0\].resources\[0\]: 'pod' is none of"),
        ({"level": "Info", "verbs": "bind"}, r"rules\[0\].verbs: has to be a list"),
        ({"level": "Info", "users": ["me"]}, r"rules\[0\].users: unknown field"),
        ("Info", r"rules\[0\]: has to be a mapping"),
    ],
)
def test_what_is_wrong_is_named(rule: Any, wrong: str) -> None:
    with pytest.raises(ConfigError, match=wrong):
        rules(rule)


@pytest.mark.parametrize("document", [{"kind": "Pod"}, ["x"], None, {**POLICY, "rules": "all"}])
def test_what_is_no_policy(document: Any) -> None:
    with pytest.raises(ConfigError):
        levels(document, "logging.yaml")


def test_the_text_in_a_config_map() -> None:
    holds = {"kind": "ConfigMap", "data": {"logging.yaml": "kind: Policy"}}
    assert inner_text(holds) == "kind: Policy"
    assert inner_text({"kind": "ConfigMap", "data": {}}) is None
    assert inner_text(POLICY) is None


# --- what comes of it --------------------------------------------------------------------------------------------------


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    written = io.StringIO()
    log.setup(0, "text", written)
    yield written
    log.set_levels({})
    log.set_verbosity(0)


def say(module: str) -> None:
    logger = log.get_logger(module)
    logger.info("plain")
    logger.warning("odd")
    logger.error("broken")
    for level in (2, 5):
        if debug := logger.v(level):
            debug.info(f"at {level}")


def shown(stream: io.StringIO) -> list[str]:
    return [line.partition('] "')[2].split('"')[0] for line in stream.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("level", "messages"),
    [
        (2, ["plain", "odd", "broken", "at 2"]),
        (5, ["plain", "odd", "broken", "at 2", "at 5"]),
        (0, ["plain", "odd", "broken"]),
        (-1, ["odd", "broken"]),
        (-2, ["broken"]),
        (-3, []),
    ],
)
def test_each_level_shows_what_it_should(
    stream: io.StringIO, level: int, messages: list[str]
) -> None:
    log.set_levels({"bayplan.runtime.binding": level})
    say("bayplan.runtime.binding")
    assert shown(stream) == messages


def test_other_modules_go_by_v(stream: io.StringIO) -> None:
    log.set_levels({"bayplan.runtime.bind": 5, "bayplan.queueing": -2})
    log.set_verbosity(2)
    say("bayplan.runtime.binding")
    assert shown(stream) == ["plain", "odd", "broken", "at 2"]
    say("bayplan.queueing.hints")
    assert shown(stream)[4:] == ["broken"]
