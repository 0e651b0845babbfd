from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bayplan.app.coordinating import check_standbys
from bayplan.errors import ConfigError
from bayplan.framework.config import Configuration, load_config_objects
from bayplan.plugins import default_registry


def config(*standby: dict[str, Any], lease: str = "bayplan-main") -> Configuration:
    return load_config_objects(
        [
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "leaderElection": {"leaderElect": True, "resourceName": lease},
                "profiles": [{"schedulerName": "main"}, {"schedulerName": "batch"}],
            },
            {
                "apiVersion": "bayplan.io/v1alpha1",
                "kind": "BayplanConfiguration",
                "standby": list(standby),
            },
        ],
        default_registry(),
    )


def test_a_standby_for_a_profile_of_the_file() -> None:
    given = config({"schedulerName": "batch"})
    check_standbys(given)
    assert given.own.standby[0].reference == ("kube-system", "bayplan-batch")


def test_a_profile_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match=r"standby\[0\].schedulerName: .*no such profile"):
        config({"schedulerName": "gpu"})


def test_a_profile_that_the_command_line_leaves_out() -> None:
    given = config({"schedulerName": "batch"})
    alone = replace(given, profiles=given.profiles[:1])
    with pytest.raises(ConfigError, match=r'standby\[0\].schedulerName: "batch" is no profile'):
        check_standbys(alone)


def test_ones_own_lease() -> None:
    with pytest.raises(ConfigError, match=r"standby\[0\].lease: .*this process's own lease"):
        check_standbys(config({"schedulerName": "batch"}, lease="bayplan-batch"))


@pytest.mark.parametrize(
    ("standby", "why"),
    [
        pytest.param({"lease": "a/b"}, r"standby\[0\].schedulerName: Required", id="no name"),
        pytest.param(
            {"schedulerName": "batch", "lease": "mine"},
            r"standby\[0\].lease: .*namespace/name",
            id="no namespace",
        ),
        pytest.param(
            {"schedulerName": "batch", "patience": "-1s"},
            r"standby\[0\].patience: .*negative",
            id="impatient",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(standby: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        config(standby)


def test_two_standbys_for_one_profile() -> None:
    with pytest.raises(ConfigError, match=r"standby\[1\].schedulerName: Duplicate"):
        config({"schedulerName": "batch"}, {"schedulerName": "batch"})
