"""The flags of ``bayplan run``: as kube-scheduler's, in all their spellings."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner

from bayplan.app import Options
from bayplan.cli.flags import options_of, remarks, scheduler_flags
from bayplan.cli.run import run
from bayplan.framework.config import load_config
from bayplan.plugins import default_registry
from bayplan.serve.configz import kube_configuration
from bayplan.telemetry import log


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    """``run`` sets up the log of the whole process."""
    root = logging.getLogger()
    handlers, level, raising = list(root.handlers), root.level, logging.raiseExceptions
    yield
    root.handlers[:] = handlers
    log.set_verbosity(0)
    root.setLevel(level)
    logging.raiseExceptions = raising
    logging.captureWarnings(capture=False)


@click.command()
@scheduler_flags
@click.pass_context
def _parse(_context: click.Context, /, **given: Any) -> None:
    _context.obj.update(given)


def given(*flags: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    result = CliRunner().invoke(_parse, flags, obj=found)
    assert result.exit_code == 0, result.output
    return found


def options(*flags: str) -> Options:
    return options_of(given(*flags))


def test_nothing_given_is_nothing_wanted() -> None:
    found = options()
    flags = found.serving.flags
    assert flags is not None
    assert {flags[name] for name in ("secure-port", "config", "dry-run")} == {"10259", "", "false"}
    assert replace(found, serving=replace(found.serving, flags={})) == Options()


def test_flagz_shows_values_as_go_writes_them_and_gates_turn_pages_off() -> None:
    flags = options(
        "--leader-elect-lease-duration=90s", "--feature-gates=A=true", "-v=3"
    ).serving.flags
    assert flags is not None
    assert (flags["leader-elect-lease-duration"], flags["feature-gates"]) == ("1m30s", "A=true")
    assert flags["v"] == "3"
    off = options("--feature-gates=ComponentFlagz=false,ComponentStatusz=false").serving
    assert (off.flags, off.statusz) == (None, False)


@pytest.mark.parametrize("flags", [("-v", "5"), ("-v=5",), ("-v5",), ("--v=5",), ("--v", "5")])
def test_all_spellings_of_the_verbosity(flags: tuple[str, ...]) -> None:
    assert given(*flags)["verbosity"] == 5


@pytest.mark.parametrize(
    ("flag", "elect"),
    [("--leader-elect", True), ("--leader-elect=true", True), ("--leader-elect=false", False)],
)
def test_a_flag_that_is_true_or_false(flag: str, *, elect: bool) -> None:
    assert options(flag, "--dry-run").lease.elect is elect


def test_a_bare_flag_does_not_eat_the_next() -> None:
    found = options("--dry-run", "--take-over", "--scheduler-name=x")
    assert (found.dry_run, found.take_over, found.scheduler_name) == (True, True, "x")


def test_the_lease() -> None:
    lease = options(
        "--leader-elect-lease-duration=3s",
        "--leader-elect-renew-deadline=2s",
        "--leader-elect-retry-period=500ms",
        "--leader-elect-resource-lock=leases",
        "--leader-elect-resource-name=mine",
        "--leader-elect-resource-namespace=there",
    ).lease
    assert (lease.duration, lease.renew_deadline, lease.retry_period) == (
        timedelta(seconds=3),
        timedelta(seconds=2),
        timedelta(milliseconds=500),
    )
    assert (lease.name, lease.namespace) == ("mine", "there")


def test_serving() -> None:
    serving = options(
        "--bind-address=127.0.0.1",
        "--secure-port=0",
        "--http-port=8080",
        "--client-ca-file=ca.crt",
        "--authentication-skip-lookup",
        "--authorization-always-allow-paths=/healthz,/metrics",
    ).serving
    assert (serving.secure_port, serving.http_port) == (0, 8080)
    assert (serving.client_ca_file, serving.authentication_skip_lookup) == ("ca.crt", True)
    assert serving.always_allow_paths == ("/healthz", "/metrics")


def test_a_kube_scheduler_s_command_line_is_taken_over_as_it_is() -> None:
    found = given(
        "--authentication-kubeconfig=/etc/kubernetes/scheduler.conf",
        "--authorization-kubeconfig=/etc/kubernetes/scheduler.conf",
        "--bind-address=127.0.0.1",
        "--kubeconfig=/etc/kubernetes/scheduler.conf",
        "--leader-elect=true",
        "--profiling=false",
        "--tls-min-version=VersionTLS12",
        "--contention-profiling",
    )
    assert list(remarks(found)) == [
        "--contention-profiling has no effect in bayplan",
        "--profiling has no effect in bayplan",
        "--tls-min-version has no effect in bayplan",
    ]


def test_feature_gates() -> None:
    gates = "SchedulerQueueingHints=true,GangScheduling=true,OpportunisticBatching=false,New=true"
    assert list(remarks(given(f"--feature-gates={gates}"))) == [
        "--feature-gates: GangScheduling is off in bayplan and cannot be changed",
        "--feature-gates: New is not known to bayplan and has no effect",
    ]


@pytest.mark.parametrize(
    ("flag", "says"),
    [
        ("--leader-elct", "'--leader-elect'"),
        ("--feature-gates=A", "missing bool value for 'A': say A=true"),
        ("--leader-elect-retry-period=2", "2"),
        ("-v=x", "'x' is not a number"),
        ("--secure-port=70000", "70000"),
    ],
)
def test_a_flag_that_is_wrong(flag: str, says: str) -> None:
    result = CliRunner().invoke(run, [flag])
    assert result.exit_code == 2
    assert says in result.output


def test_the_configuration_is_written_and_gives_the_same_again(tmp_path: Path) -> None:
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    flags = ["--scheduler-name=mine", "--leader-elect-lease-duration=20s"]
    assert CliRunner().invoke(run, [*flags, f"--write-config-to={first}"]).exit_code == 0
    written = yaml.safe_load(first.read_text())
    assert written["leaderElection"]["leaseDuration"] == "20s"
    assert [profile["schedulerName"] for profile in written["profiles"]] == ["mine"]
    again = kube_configuration(load_config(first, default_registry()))
    second.write_text(yaml.safe_dump(again))
    assert yaml.safe_load(second.read_text()) == written


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    result = CliRunner().invoke(run, [f"--write-config-to={tmp_path / 'no' / 'file'}"])
    assert result.exit_code == 1
    assert "No such file or directory" in result.output
