"""A volcano-scheduler.conf as ours."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.framework.config import load_config
from bayplan.kit.importing.draft import Verdict
from bayplan.kit.importing.result import Imported, import_config
from bayplan.plugins import default_registry

#: As Volcano installs it.
STOCK = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""


def imported(text: str) -> Imported:
    return import_config(text, default_registry())


def profile(result: Imported) -> Any:
    return load_config(result.text, default_registry()).profiles[0]


def weights(result: Imported) -> dict[str, int]:
    return {ref.name: ref.weight for ref in profile(result).plugins["score"]}


def verdicts(result: Imported) -> dict[str, Verdict]:
    return {row.theirs: row.verdict for row in result.rows}


def plugins(*names: str) -> str:
    return "tiers:\n- plugins:\n" + "".join(f"  - {name}\n" for name in names)


def test_the_stock_file() -> None:
    result = imported(STOCK)
    assert result.source == "Volcano"
    assert profile(result).scheduler_name == "volcano"
    assert verdicts(result)["action allocate"] is Verdict.BUILT_IN
    assert verdicts(result)["tier 1: gang"] is Verdict.BUILT_IN
    assert verdicts(result)["tier 2: overcommit"] is Verdict.NONE
    strategy = profile(result).args["NodeResourcesFit"].scoring_strategy
    assert strategy.type == "MostAllocated"


def test_without_the_action_nobody_is_preempted() -> None:
    def making_room(text: str) -> list[str]:
        return [ref.name for ref in profile(imported(text)).plugins["postFilter"]]

    assert making_room(STOCK) == ["DynamicResources"]
    with_it = 'actions: "allocate, preempt"\n' + plugins("{name: priority}")
    assert "DefaultPreemption" in making_room(with_it)


def test_node_order_is_weights() -> None:
    result = imported(
        plugins("{name: nodeorder, arguments: {nodeaffinity.weight: 5, imagelocality.weight: 0}}")
    )
    found = weights(result)
    assert found["NodeAffinity"] == 5
    assert "ImageLocality" not in found
    assert found["TaintToleration"] == 3


def test_without_node_order_nothing_is_scored() -> None:
    found = weights(imported(plugins("{name: priority}", "{name: predicates}")))
    assert not set(found) & {
        "NodeResourcesFit",
        "NodeAffinity",
        "PodTopologySpread",
        "ImageLocality",
    }


@pytest.mark.parametrize("order", [("nodeorder", "binpack"), ("binpack", "nodeorder")])
def test_bin_packing(order: tuple[str, str]) -> None:
    binpack = (
        "{name: binpack, arguments: {binpack.weight: 10, binpack.cpu: 5, binpack.resources: 'nvidia.com/gpu, a/b',"
        " binpack.resources.nvidia.com/gpu: 2}}"
    )
    lines = {"binpack": binpack, "nodeorder": "{name: nodeorder}"}
    result = imported(plugins(*(lines[name] for name in order)))
    assert weights(result)["NodeResourcesFit"] == 10
    resources = profile(result).args["NodeResourcesFit"].scoring_strategy.resources
    assert [(one.name, one.weight) for one in resources] == [
        ("cpu", 5),
        ("memory", 1),
        ("nvidia.com/gpu", 2),
        ("a/b", 1),
    ]


def test_usage() -> None:
    text = plugins("{name: usage, arguments: {usage.weight: 3, thresholds: {cpu: 70, mem: 90}}}")
    result = imported(f"{text}metrics: {{type: prometheus, address: 'http://prom:9090'}}\n")
    args = profile(result).args["LowCpuScheduler"]
    assert (args.threshold, args.memory_threshold) == (0.7, 0.9)
    assert weights(result)["LowCpuScheduler"] == 3
    assert result.documents[1]["providers"][0]["url"] == "http://prom:9090"


@pytest.mark.parametrize("actions", ["allocate", "allocate, reclaim"])
def test_queues_are_quotas(actions: str) -> None:
    result = imported(f'actions: "{actions}"\n' + plugins("{name: proportion}", "{name: capacity}"))
    at = {point: [ref.name for ref in refs] for point, refs in profile(result).plugins.items()}
    assert "CapacityScheduling" in at["preFilter"]
    assert "CapacityScheduling" in at["filter"]
    assert ("CapacityScheduling" in at["postFilter"]) is ("reclaim" in actions)
    assert "DefaultPreemption" not in at["postFilter"]


def test_fair_shares() -> None:
    found = profile(imported(plugins("{name: drf, arguments: {drf.enable_hierarchy: true}}")))
    assert [ref.name for ref in found.plugins["queueSort"]] == ["FairQueues"]
    assert found.args["FairQueues"].label == "volcano.sh/queue-name"


def test_predicates() -> None:
    text = "{name: predicates, arguments: {predicate.NodePortsEnable: false, predicate.GPUSharingEnable: true, predicate.X: 1}}"
    result = imported(plugins(text))
    filters = [ref.name for ref in profile(result).plugins["filter"]]
    assert "NodePorts" not in filters
    assert "GPUFragmentation" in filters
    assert verdicts(result)["tier 1: predicates: predicate.X"] is Verdict.NONE


@pytest.mark.parametrize(
    "name",
    [
        "numaaware",
        "deviceshare",
        "extender",
        "pdb",
        "sla",
        "tdm",
        "nodegroup",
        "task-topology",
        "mine",
    ],
)
def test_every_other_plugin_is_accounted_for(name: str) -> None:
    result = imported(plugins(f"{{name: {name}}}"))
    assert f"tier 1: {name}" in verdicts(result)
    profile(result)


def test_what_has_no_counterpart() -> None:
    result = imported(
        STOCK.replace("backfill", "shuffle") + "configurations: [{name: init-params}]\n"
    )
    assert verdicts(result)["action shuffle"] is Verdict.NONE
    assert verdicts(result)["tier 1: gang: enablePreemptable"] is Verdict.NONE
    assert verdicts(result)["configurations"] is Verdict.NONE
    assert not result.is_whole
