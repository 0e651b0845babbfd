"""KubeSchedulerConfigurations from elsewhere: what stays, what stands for what, what is lost, and that the result loads."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from bayplan.framework.config import load_config
from bayplan.kit.importing.counterparts import COUNTERPARTS
from bayplan.kit.importing.draft import Verdict
from bayplan.kit.importing.result import Imported, import_config
from bayplan.plugins import default_registry

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def imported(text: str, head: str = HEAD) -> Imported:
    return import_config(head + text, default_registry())


def loaded(result: Imported) -> Any:
    """The profile, as bayplan has it once the written file is read."""
    return load_config(result.text, default_registry()).profiles[0]


def verdicts(result: Imported) -> dict[str, Verdict]:
    return {row.theirs.removeprefix("profile s: "): row.verdict for row in result.rows}


def test_a_stock_file_stays_what_it_was() -> None:
    text = """
leaderElection: {leaderElect: false}
profiles:
- schedulerName: s
  plugins:
    score:
      enabled: [{name: NodeAffinity, weight: 5}]
      disabled: [{name: ImageLocality}]
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 3}]}}
"""
    result = imported(text)
    assert result.documents == [yaml.safe_load(HEAD + text)]
    assert set(verdicts(result).values()) == {Verdict.KEPT}
    assert result.is_whole


def test_trimaran_in_an_old_version() -> None:
    text = """
apiVersion: kubescheduler.config.k8s.io/v1beta1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: s
  plugins:
    score:
      disabled: [{name: NodeResourcesBalancedAllocation}, {name: NodeResourcesLeastAllocated}]
      enabled: [{name: TargetLoadPacking, weight: 3}]
  pluginConfig:
  - name: TargetLoadPacking
    args:
      targetUtilization: 70
      defaultRequests: {cpu: 1000m}
      metricProvider: {type: Prometheus, address: "http://prom:9090", token: secret}
"""
    result = imported(text, head="")
    profile = loaded(result)
    weights = {ref.name: ref.weight for ref in profile.plugins["score"]}
    assert weights["LowCpuScheduler"] == 3
    assert "NodeResourcesBalancedAllocation" not in weights
    assert "LowCpuScheduler" not in [ref.name for ref in profile.plugins["filter"]]
    args = profile.args["LowCpuScheduler"]
    assert (args.strategy, args.target, args.missing) == ("targetPacking", 0.7, "skip")
    (provider,) = load_config(result.text, default_registry()).own.providers
    assert (provider.type, provider.url) == ("prometheus", "http://prom:9090")
    assert verdicts(result)["TargetLoadPacking: metricProvider.token"] is Verdict.NONE
    assert verdicts(result)["TargetLoadPacking: defaultRequests"] is Verdict.NONE
    assert "secret" not in result.text


def test_coscheduling_leaves_a_queue_that_is_sorted() -> None:
    result = imported("""
profiles:
- schedulerName: s
  plugins:
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: "*"}]}
    multiPoint: {enabled: [{name: Coscheduling}]}
  pluginConfig:
  - name: Coscheduling
    args: {permitWaitingTimeSeconds: 10}
""")
    assert [ref.name for ref in loaded(result).plugins["queueSort"]] == ["PrioritySort"]
    assert verdicts(result)["Coscheduling"] is Verdict.BUILT_IN
    assert "Coscheduling" not in result.text


def test_a_plugin_of_the_same_name_keeps_its_place_where_it_has_one() -> None:
    result = imported("""
profiles:
- schedulerName: s
  plugins:
    preFilter: {enabled: [{name: CapacityScheduling}]}
    postFilter: {enabled: [{name: CapacityScheduling}], disabled: [{name: "*"}]}
    reserve: {enabled: [{name: CapacityScheduling}]}
""")
    profile = loaded(result)
    assert [ref.name for ref in profile.plugins["postFilter"]] == ["CapacityScheduling"]
    assert verdicts(result)["CapacityScheduling"] is Verdict.KEPT
    assert verdicts(result)["CapacityScheduling at reserve"] is Verdict.CHANGED


def test_numa_topology_brings_its_provider() -> None:
    result = imported("""
profiles:
- schedulerName: s
  plugins:
    multiPoint: {enabled: [{name: NodeResourceTopologyMatch, weight: 2}]}
  pluginConfig:
  - name: NodeResourceTopologyMatch
    args: {scoringStrategy: {type: LeastNUMANodes}, discardReservedNodes: true}
""")
    profile = loaded(result)
    assert "NUMATopology" in [ref.name for ref in profile.plugins["filter"]]
    assert {ref.name: ref.weight for ref in profile.plugins["score"]}["NUMATopology"] == 2
    assert [p["type"] for p in result.documents[1]["providers"]] == ["numaTopology"]
    assert not result.is_whole


def test_a_plugin_that_nobody_knows_is_taken_out_and_told() -> None:
    result = imported("""
percentageOfNodesToScore: 50
profiles:
- schedulerName: s
  plugins:
    filter: {enabled: [{name: Mine}]}
    permit: {disabled: [{name: Mine}]}
  pluginConfig:
  - {name: Mine, args: {a: 1}}
""")
    assert verdicts(result)["Mine"] is Verdict.NONE
    assert "Mine" not in result.text
    assert any("bayplan new-plugin Mine" in row.remark for row in result.rows)
    assert verdicts(result)["percentageOfNodesToScore"] is Verdict.CHANGED
    loaded(result)


@pytest.mark.parametrize("name", sorted(set(COUNTERPARTS) - set(default_registry())))
def test_every_counterpart_loads(name: str) -> None:
    result = imported(f"""
profiles:
- schedulerName: s
  plugins:
    multiPoint: {{enabled: [{{name: {name}, weight: 2}}]}}
""")
    profile = loaded(result)
    ours = COUNTERPARTS[name]
    for point in ours.points:
        assert ours.name in [ref.name for ref in profile.plugins[point]]
    assert name not in [ref.name for refs in profile.plugins.values() for ref in refs]


def test_power_models_of_peaks() -> None:
    result = imported("""
profiles:
- schedulerName: s
  plugins: {score: {enabled: [{name: Peaks}]}}
  pluginConfig:
  - name: Peaks
    args: {nodePowerModel: {n1: {k0: 100, k1: 20, k2: 0.5}}}
""")
    args = loaded(result).args["EnergyPlugin"]
    assert args.power_classes["n1"].idle_watts == 120
