"""A gang in a file is decided as in a running scheduler, and nothing is left behind."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from bayplan.cluster.audit import check
from bayplan.framework.config import default_config
from bayplan.model.decode import decode
from bayplan.plugins import default_registry
from bayplan.sim.cases import verdict_of
from bayplan.sim.explanation import explain
from bayplan.sim.saving import case_of
from bayplan.sim.situation import Situation
from bayplan.testing import PodBuilder, make_node, make_pod

REGISTRY = default_registry()
LABEL = "scheduling.x-k8s.io/pod-group"


def worker(number: int, **more: Any) -> PodBuilder:
    return make_pod(f"w-{number}").uid(f"u{number}").label(LABEL, "train").requests(cpu="2", **more)


def group(min_member: int) -> Any:
    return decode(
        {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": "train", "namespace": "default"},
            "spec": {"minMember": min_member},
        }
    )


def situation(*objects: Any) -> Situation:
    built = [obj.build() if hasattr(obj, "build") else obj for obj in objects]
    profile = default_config(REGISTRY).profiles[0]
    return Situation(worker(0).build(), built, profile, REGISTRY)


def test_a_pod_that_fits_waits_with_its_gang() -> None:
    here = situation(make_node("a").capacity(cpu="4"), group(3), worker(1), worker(2))
    told = explain(here)
    assert told.headline() == (
        "default/w-0 would fit on a, and waits with its gang: "
        "gang train: 2 of 3 members fit; w-2 lacks cpu (needs 2, largest free 0 on a)"
    )
    check(here.cluster)
    assert len(here.cluster.pods) == 0


def test_a_gang_that_fits_is_a_note() -> None:
    told = explain(situation(make_node("a").capacity(cpu="9"), group(3), worker(1), worker(2)))
    assert told.headline().startswith("default/w-0 goes to a")
    assert "gang train: 3 of 3 members fit, and 3 are needed" in told.notes


def test_siblings_are_missing() -> None:
    told = explain(situation(make_node("a").capacity(cpu="9"), group(3), worker(1)))
    assert told.gang == "gang train: 2 of 3 members exist"


def test_members_that_run_are_enough() -> None:
    here = situation(
        make_node("a").capacity(cpu="9"), group(2), worker(1).on("a"), worker(2).on("a")
    )
    assert not explain(here).gang


def test_a_case_says_what_the_gang_comes_to() -> None:
    here = situation(make_node("a").capacity(cpu="4"), group(3), worker(1), worker(2))
    case = json.loads(msgspec.json.encode(case_of(here, None)))
    verdict = verdict_of(case, REGISTRY)
    assert verdict["gang"]["fits"] is False
    assert verdict["gang"]["message"].startswith("gang train: 2 of 3 members fit")
    case["nodes"] = [make_node("a").capacity(cpu="6").manifest]
    assert verdict_of(case, REGISTRY)["gang"] == {
        "fits": True,
        "message": "gang train: 3 of 3 members fit, and 3 are needed",
        "nodes": {f"default/w-{n}": "a" for n in range(3)},
    }
