"""From a command line and a file to a configuration: who goes before whom."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from bayplan.app import Lease, Options
from bayplan.app.options import configure, election_settings, rate_limit
from bayplan.errors import ConfigError
from bayplan.framework.config.types import ClientConnection, LeaderElection


def file(folder: Path, **document: Any) -> Path:
    path = folder / "config.yaml"
    whole = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        **document,
    }
    path.write_text(yaml.safe_dump(whole), encoding="utf-8")
    return path


TWO = [{"schedulerName": "first"}, {"schedulerName": "second"}]


def names(options: Options) -> list[str]:
    return [profile.scheduler_name for profile in configure(options)[0].profiles]


def test_without_anything_the_defaults_hold() -> None:
    config, registry = configure(Options())
    assert [profile.scheduler_name for profile in config.profiles] == ["default-scheduler"]
    assert config.leader_election.resource_name == "bayplan-default-scheduler"
    assert "NodeResourcesFit" in registry


def test_a_name_selects_the_profile(tmp_path: Path) -> None:
    options = Options(config=file(tmp_path, profiles=TWO), scheduler_name="second")
    assert names(options) == ["second"]


def test_a_name_renames_the_only_profile(tmp_path: Path) -> None:
    options = Options(config=file(tmp_path), scheduler_name="mine")
    assert names(options) == ["mine"]
    assert configure(options)[0].leader_election.resource_name == "bayplan-mine"


def test_a_name_that_none_of_several_has_is_refused_with_those_there_are(tmp_path: Path) -> None:
    options = Options(config=file(tmp_path, profiles=TWO), scheduler_name="third")
    with pytest.raises(ConfigError, match=r"--scheduler-name third.*first, second"):
        configure(options)


@pytest.mark.parametrize(
    ("in_file", "flag", "used"),
    [
        pytest.param(None, None, "bayplan-default-scheduler", id="neither"),
        pytest.param("mine", None, "mine", id="the file"),
        pytest.param("mine", "yours", "yours", id="the flag goes before the file"),
        pytest.param(None, "kube-scheduler", "kube-scheduler", id="kube-scheduler's own by flag"),
    ],
)
def test_what_the_lease_is_called(
    tmp_path: Path, in_file: str | None, flag: str | None, used: str
) -> None:
    election = {"resourceName": in_file} if in_file else {}
    path = file(tmp_path, leaderElection=election)
    config, _ = configure(Options(config=path, lease=Lease(name=flag)))
    assert config.leader_election.resource_name == used


def test_flags_of_the_election_go_before_the_file(tmp_path: Path) -> None:
    path = file(tmp_path, leaderElection={"leaderElect": True, "leaseDuration": "30s"})
    lease = Lease(elect=False, retry_period=timedelta(seconds=1))
    election = configure(Options(config=path, lease=lease))[0].leader_election
    assert not election.leader_elect
    assert election.lease_duration == timedelta(seconds=30)
    assert election.retry_period == timedelta(seconds=1)


def test_numbers_of_an_election_that_do_not_go_together_are_refused() -> None:
    election = LeaderElection(lease_duration=timedelta(seconds=5))
    with pytest.raises(ConfigError, match="leaseDuration must be greater than renewDeadline"):
        election_settings(election)


def test_plugins_come_from_the_directories_that_are_named(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from bayplan import FilterPlugin\n\n\nclass Mine(FilterPlugin):\n    pass\n",
        encoding="utf-8",
    )
    _, registry = configure(Options(plugin_dirs=[tmp_path]))
    assert "Mine" in registry


def test_extenders_are_read(tmp_path: Path) -> None:
    path = file(tmp_path, extenders=[{"urlPrefix": "http://x", "filterVerb": "filter"}])
    config, _ = configure(Options(config=path))
    assert config.extenders[0].filter_verb == "filter"


@pytest.mark.parametrize(
    ("connection", "options", "limit"),
    [
        pytest.param(ClientConnection(), Options(), (0.0, 100), id="none"),
        pytest.param(
            ClientConnection(qps=5000, burst=6000), Options(), (5000.0, 6000), id="the file's"
        ),
        pytest.param(
            ClientConnection(qps=5000), Options(qps=10, burst=20), (10.0, 20), id="the flags'"
        ),
        pytest.param(ClientConnection(qps=-1), Options(), (0.0, 100), id="switched off"),
    ],
)
def test_requests_per_second(
    connection: ClientConnection, options: Options, limit: tuple[float, int]
) -> None:
    assert rate_limit(connection, options) == limit
