"""Whatever a file holds in the place of what is expected, it is imported or refused; nothing else comes of it."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.importing.test_volcano import STOCK

from bayplan.errors import ConfigError
from bayplan.kit.importing.counterparts import COUNTERPARTS
from bayplan.kit.importing.result import import_config
from bayplan.plugins import default_registry

VOLCANO = yaml.safe_load(STOCK)
VOLCANO["tiers"][1]["plugins"] += [
    {"name": "usage", "arguments": {"usage.weight": 3, "thresholds": {"cpu": 70, "mem": 90}}},
    {"name": "predicates", "arguments": {"predicate.GPUSharingEnable": True}},
    {"name": "binpack", "arguments": {"binpack.resources": "a/b", "binpack.resources.a/b": 2}},
    {"name": "numaaware", "arguments": {"weight": 3}},
]
VOLCANO["metrics"] = {"type": "prometheus", "address": "http://prom:9090"}
PLUGINS = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "parallelism": 3,
    "extenders": [{"urlPrefix": "http://e"}],
    "profiles": [
        {
            "schedulerName": "s",
            "plugins": {
                "score": {"enabled": [{"name": name, "weight": 2} for name in COUNTERPARTS]},
                "queueSort": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]},
            },
            "pluginConfig": [
                {
                    "name": "TargetLoadPacking",
                    "args": {
                        "targetUtilization": 70,
                        "metricProvider": {"type": "Prometheus", "address": "http://p"},
                    },
                },
                {"name": "Peaks", "args": {"nodePowerModel": {"n": {"k0": 1, "k1": 2}}}},
                {"name": "NodeResourcesLeastAllocated", "args": {"resources": [{"name": "cpu"}]}},
                {
                    "name": "NodeResourceTopologyMatch",
                    "args": {"scoringStrategy": {"type": "LeastNUMANodes"}},
                },
                {"name": "LoadVariationRiskBalancing", "args": {"safeVarianceMargin": 2}},
            ],
        }
    ],
}
DOCUMENTS = [
    VOLCANO,
    PLUGINS,
    {"kind": "ConfigMap", "data": {"a": STOCK}},
    {"kind": "List", "items": []},
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    entries = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, below in entries:
        yield from places(below, (*path, key))


PLACES = [(number, path) for number, document in enumerate(DOCUMENTS) for path in places(document)]
JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [None, 0, -1, 3.5, True, "", "x", [], [3], ["a"], {}, {"a": 1}, [{}], [None], 10**30]
)


@settings(max_examples=200)
@given(st.sampled_from(PLACES), JUNK)
def test_anything_anywhere(place: tuple[int, tuple[Any, ...]], junk: Any) -> None:
    number, path = place
    document = copy.deepcopy(DOCUMENTS[number])
    at: Any = document
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = junk
    with contextlib.suppress(ConfigError):
        import_config(yaml.safe_dump(document), default_registry())
