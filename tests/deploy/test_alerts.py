"""The alerts: what they ask for is exposed, Prometheus reads them, and they fire when they should and not before."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from bayplan.testing.control_plane import Obj
from tests.deploy.chart import CHART, ROOT, one_scheduler
from tests.deploy.queries import unknown

RULES = CHART / "files" / "rules.yaml"
GROUPS: list[Obj] = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
ALL: list[Obj] = [rule for group in GROUPS for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in ALL if "alert" in rule}
RECORDED = frozenset(rule["record"] for rule in ALL if "record" in rule)


def promtool() -> str:
    built = ROOT / ".kube" / "bin" / "promtool"
    found = str(built) if os.access(built, os.X_OK) else shutil.which("promtool")
    if found is None:
        pytest.skip("no promtool: run `make prometheus`, or put one into PATH")
    return found


@pytest.mark.parametrize("rule", ALL, ids=[rule.get("alert") or rule["record"] for rule in ALL])
def test_a_rule_asks_for_metrics_that_there_are(rule: Obj) -> None:
    assert unknown(rule["expr"], RECORDED) == []
    assert 'job="bayplan"' in rule["expr"]
    if "alert" in rule:
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert rule["annotations"].keys() == {"summary", "description"}


def test_the_alerts_that_were_asked_for_are_there() -> None:
    assert {"SchedulerDown", "SchedulingLatencyHigh"} <= ALERTS.keys()
    # Older rules ask for this name, which kube-scheduler has not exposed for years.
    assert "scheduler_scheduling_duration_seconds_p99" in RECORDED
    assert ALERTS["SchedulerDown"]["for"] == "5m"
    assert ALERTS["SchedulingLatencyHigh"]["for"] == "10m"
    assert ALERTS["SchedulingLatencyHigh"]["expr"].endswith("> 1")


def test_the_page_lists_them_all() -> None:
    page = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([A-Z]\w+)` \|", page, re.M)) == ALERTS.keys()


def test_the_chart_gives_them_the_schedulers_own_job() -> None:
    chart = one_scheduler(name="gpu-scheduler", monitoring={"rules": {"enabled": True}})
    text = yaml.safe_dump(chart.one("PrometheusRule"))
    assert 'job="gpu-scheduler"' in text
    assert 'job="bayplan"' not in text
    chart = one_scheduler(
        monitoring={
            "job": "kube-scheduler",
            "rules": {"enabled": True},
            "serviceMonitor": {"enabled": True},
        }
    )
    assert 'up{job="kube-scheduler"}' in yaml.safe_dump(chart.one("PrometheusRule"))
    (endpoint,) = chart.one("ServiceMonitor")["spec"]["endpoints"]
    assert endpoint["relabelings"] == [{"targetLabel": "job", "replacement": "kube-scheduler"}]


def test_prometheus_reads_them() -> None:
    words = [promtool(), "check", "rules", str(RULES)]
    checked = subprocess.run(words, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"{len(ALL)} rules found" in checked.stdout


A = 'job="bayplan",instance="a"'
B = 'job="bayplan",instance="b"'
LEADS = {
    f'leader_election_master_status{{{A},name="bayplan"}}': "1x60",
    f'leader_election_master_status{{{B},name="bayplan"}}': "0x60",
}
UP = {f"up{{{A}}}": "1x60", f"up{{{B}}}": "1x60"}
TRIES = {f'scheduler_schedule_attempts_total{{{A},result="scheduled"}}': "0+60x60"}
WELL = UP | LEADS | TRIES


def slow(seconds: str) -> dict[str, str]:
    """Attempts that all end within so many seconds, and not within half of them."""
    name = "scheduler_scheduling_attempt_duration_seconds_bucket"
    return {
        f'{name}{{{A},le="0.512"}}': "0x60",
        f'{name}{{{A},le="{seconds}"}}': "0+60x60",
        f'{name}{{{A},le="+Inf"}}': "0+60x60",
    }


@pytest.mark.parametrize(
    ("alert", "series", "fires"),
    [
        pytest.param("SchedulerDown", {}, True, id="nobody to scrape"),
        pytest.param(
            "SchedulerDown", {f"up{{{A}}}": "0x60", f"up{{{B}}}": "0x60"}, True, id="all down"
        ),
        pytest.param(
            "SchedulerDown", {f"up{{{A}}}": "0x60", f"up{{{B}}}": "1x60"}, False, id="one"
        ),
        pytest.param("SchedulerReplicaDown", UP | {f"up{{{A}}}": "0x60"}, True, id="replica"),
        pytest.param("SchedulingLatencyHigh", slow("2.048"), True, id="attempts of two seconds"),
        pytest.param("SchedulingLatencyHigh", slow("1"), False, id="attempts of half a second"),
        pytest.param(
            "SchedulerHasNoLeader",
            LEADS | {f'leader_election_master_status{{{A},name="bayplan"}}': "0x60"},
            True,
            id="none leads",
        ),
        pytest.param(
            "SchedulerLosesLeases",
            {f'leader_election_master_status{{{A},name="bayplan"}}': "0x50 1 0 1 0 1 0 1x10"},
            True,
            id="the lease goes to and fro",
        ),
        pytest.param(
            "SchedulerStuck",
            WELL
            | {
                f'scheduler_pending_pods{{{A},queue="active"}}': "7x60",
                f'scheduler_schedule_attempts_total{{{A},result="scheduled"}}': "60x60",
            },
            True,
            id="pods wait for their turn in vain",
        ),
        pytest.param(
            "SchedulerStuck",
            {
                f'scheduler_pending_pods{{{A},queue="active"}}': "7x60",
                f'scheduler_schedule_attempts_total{{{A},result="scheduled"}}': "60x60",
            },
            True,
            id="pods wait in vain where there is no leader election",
        ),
        pytest.param(
            "SchedulerStuck",
            WELL | {f'scheduler_pending_pods{{{A},queue="active"}}': "7x60"},
            False,
            id="pods wait for their turn, and others are tried",
        ),
        pytest.param(
            "SchedulerStuck",
            UP
            | LEADS
            | {
                f'scheduler_pending_pods{{{B},queue="active"}}': "7x60",
                f'scheduler_schedule_attempts_total{{{A},result="scheduled"}}': "60x60",
            },
            False,
            id="only a standby's queue is full, as it should be",
        ),
        pytest.param(
            "PodsPendingTooLong",
            WELL | {f'bayplan_oldest_pending_pod_seconds{{{A},queue="unschedulable"}}': "3000x60"},
            True,
            id="a pod has waited long",
        ),
        pytest.param(
            "PodsPendingTooLong",
            {f'bayplan_oldest_pending_pod_seconds{{{A},queue="backoff"}}': "3000x60"},
            True,
            id="without leader election too",
        ),
        pytest.param(
            "PodsPendingTooLong",
            WELL | {f'bayplan_oldest_pending_pod_seconds{{{A},queue="gated"}}': "3000x60"},
            False,
            id="a gated pod waits for somebody else",
        ),
        pytest.param(
            "SchedulingFails",
            WELL | {f'scheduler_schedule_attempts_total{{{A},result="error"}}': "0+6x60"},
            True,
            id="one in eleven breaks",
        ),
        pytest.param(
            "SchedulingFails",
            WELL | {f'scheduler_schedule_attempts_total{{{A},result="unschedulable"}}': "0+60x60"},
            False,
            id="pods that fit nowhere are no failure",
        ),
        pytest.param(
            "BindingsRefused",
            WELL | {f'bayplan_bind_conflicts_total{{{A},kind="assigned"}}': "0+6x60"},
            True,
            id="another scheduler binds",
        ),
        pytest.param(
            "SchedulerApiErrors",
            {
                f'rest_client_requests_total{{{A},code="200"}}': "0+60x60",
                f'rest_client_requests_total{{{A},code="<error>"}}': "0+6x60",
            },
            True,
            id="no answers",
        ),
        pytest.param(
            "SchedulerColumnsDiffer",
            WELL | {f'bayplan_column_differences_total{{{A},kind="pods"}}': "0x40 1x20"},
            True,
            id="a comparison found something",
        ),
        pytest.param(
            "SchedulerDataStale",
            WELL | {f'bayplan_data_age_seconds{{{A},column="cpu"}}': "0+60x60"},
            True,
            id="nobody measures",
        ),
        pytest.param(
            "ConfigurationRefused",
            WELL | {f'bayplan_reloads_total{{{A},outcome="refused"}}': "_x40 1x20"},
            True,
            id="a configuration was refused",
        ),
        pytest.param(
            "ConfigurationRefused",
            WELL | {f'bayplan_reloads_total{{{A},outcome="applied"}}': "_x40 1x20"},
            False,
            id="a configuration was taken over",
        ),
        pytest.param(
            "SchedulerSkipsObjects",
            WELL | {f'bayplan_objects_skipped_total{{{A},resource="pods"}}': "0x40 1x20"},
            True,
            id="an object cannot be read",
        ),
        pytest.param(
            "PluginInterrupted",
            WELL | {f'bayplan_plugin_interrupts_total{{{A},plugin="Slow"}}': "0x56 1x5"},
            True,
            id="a plugin hung",
        ),
        pytest.param(
            "PluginInterrupted",
            WELL | {f'bayplan_plugin_interrupts_total{{{A},plugin="Slow"}}': "_x56 1x5"},
            True,
            id="a plugin hung for the first time, so that there is no 0 to start from",
        ),
        pytest.param(
            "PluginInterrupted",
            WELL | {f'bayplan_plugin_interrupts_total{{{A},plugin="Slow"}}': "_x10 1x50"},
            False,
            id="a plugin hung long ago",
        ),
    ],
)
def test_an_alert_fires_when_it_should(
    alert: str, series: dict[str, str], fires: bool, tmp_path: Path
) -> None:
    """An hour of a sample a minute; asked at the end, by Prometheus' own engine."""
    selector = f'alertname="{alert}",alertstate="firing"'
    check(selector, series, 1 if fires else 0, tmp_path)


def test_nothing_fires_where_all_is_well(tmp_path: Path) -> None:
    series = WELL | slow("1") | {f'scheduler_pending_pods{{{A},queue="active"}}': "7x60"}
    check('alertstate="firing"', series, 0, tmp_path)


def check(alerts: str, series: dict[str, str], number: int, folder: Path) -> None:
    """Whether so many of these alerts fire."""
    expected = {
        "expr": f"count(ALERTS{{{alerts}}}) or vector(0)",
        "eval_time": "1h",
        "exp_samples": [{"labels": "{}", "value": number}],
    }
    test: dict[str, Any] = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [expected],
    }
    file = folder / "test.yaml"
    document = {"rule_files": [str(RULES)], "tests": [test]}
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    words = [promtool(), "test", "rules", str(file)]
    tested = subprocess.run(words, capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stdout + tested.stderr
