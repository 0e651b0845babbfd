"""The dashboard asks for nothing that we do not expose."""

from __future__ import annotations

import json

import pytest
import yaml

from bayplan.testing.control_plane import Obj
from tests.deploy.chart import CHART, render
from tests.deploy.queries import exposed, unknown

DASHBOARD: Obj = json.loads((CHART / "files" / "dashboard.json").read_text(encoding="utf-8"))
PANELS: list[Obj] = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


@pytest.mark.parametrize("panel", PANELS, ids=[panel["title"] for panel in PANELS])
def test_a_panel_asks_for_metrics_that_there_are(panel: Obj) -> None:
    assert panel["targets"]
    for target in panel["targets"]:
        assert unknown(target["expr"]) == []
        assert 'job=~"$job"' in target["expr"]


def test_the_schedulers_to_choose_from_are_found_by_a_metric_that_there_is() -> None:
    (job,) = (each for each in DASHBOARD["templating"]["list"] if each["name"] == "job")
    assert job["query"].startswith("label_values(bayplan_build_info,")
    assert "bayplan_build_info" in exposed()


def test_no_two_panels_lie_on_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_grafana_is_given_it_as_it_is() -> None:
    chart = render({"monitoring": {"dashboard": {"enabled": True}}})
    config_map = chart.one("ConfigMap", "bayplan-dashboard")
    assert json.loads(config_map["data"]["bayplan.json"]) == DASHBOARD
    assert config_map["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert len(yaml.safe_dump(config_map)) < 1_000_000


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        pytest.param("rate(scheduler_pending_podz[5m])", ["scheduler_pending_podz"], id="a slip"),
        pytest.param('up{job="a"} == 1', [], id="what every scrape has"),
        pytest.param(
            'sum(scheduler_pending_pods{kind="x"})',
            ["scheduler_pending_pods{kind}"],
            id="a label that it has not",
        ),
        pytest.param(
            "sum by (node) (scheduler_pending_pods)",
            ["by (node)"],
            id="grouped by what is not there",
        ),
        pytest.param(
            "scheduler_scheduling_attempt_duration_seconds > 1",
            ["scheduler_scheduling_attempt_duration_seconds"],
            id="a histogram without its ending",
        ),
        pytest.param(
            "process_cpu_seconds_total and on (instance) leader_election_master_status == 1",
            [],
            id="joined",
        ),
    ],
)
def test_a_name_that_nobody_exposes_is_noticed(query: str, wrong: list[str]) -> None:
    assert unknown(query) == wrong
