"""Rules that change while pods are placed, on a real API server: plugins, configuration and scheduling policies."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest
import yaml
from bench.reload import run

from bayplan.errors import NotFound
from bayplan.testing.control_plane import Binaries, ControlPlane, Obj
from bayplan.testing.control_plane.users import ADMINISTRATORS
from bayplan.testing.control_plane.waiting import wait_until
from tests.e2e.stage import PROFILE, Stage, node, pod

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
CRD = ROOT / "deploy" / "crds" / "policy.bayplan.io_schedulingpolicies.yaml"

PREFER = """\
from bayplan import ScorePlugin

class Prefer(ScorePlugin):
    def score_node(self, pod, node):
        return 100 if node.name == "{node}" else 0
"""


def test_thirty_reloads_while_pods_stream_in(tmp_path: Path, binaries: Binaries) -> None:
    """The short form of ``python -m bench.reload``; the figures are that one's to judge."""
    with ControlPlane(tmp_path, binaries) as plane:
        kubeconfig = plane.user("bayplan", [ADMINISTRATORS]).kubeconfig
        wanted = Namespace(pods=600, reloads=30, rate=60.0)
        found = run(tmp_path / "run", plane.admin, kubeconfig, wanted)
    assert (found["lost"], found["wrong"], found["errors"]) == ([], [], 0)
    assert (found["applied"], found["refused"], found["rolled_back"]) == (27, 3, 0)
    assert found["generations_with_pods"] >= 10


def test_a_plugin_file_that_is_watched(stage: Stage, tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    plugins.mkdir()

    def write(text: str) -> None:
        fresh = tmp_path / "fresh"
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(plugins / "prefer.py")

    write(PREFER.format(node="a"))
    stage.add(node("a"), node("b"))
    enabled = {"multiPoint": {"enabled": [{"name": "Prefer", "weight": 100}]}}
    running = stage.start_scheduler(
        profiles=[{"schedulerName": PROFILE, "plugins": enabled}],
        own={"pluginDirs": [str(plugins)]},
        elect=True,
    ).wait_ready()

    def outcomes(outcome: str) -> float:
        return running.metric(f'bayplan_reloads_total{{outcome="{outcome}"}}')

    stage.add(pod("one").requests(cpu="100m"))
    assert stage.wait_bound("default/one") == {"default/one": "a"}

    write("class Prefer(:\n")
    wait_until(lambda: outcomes("refused") == 1, "refusal", 30)
    assert "SyntaxError" in running.log()
    stage.add(pod("two").requests(cpu="100m"))
    assert stage.wait_bound("default/two") == {"default/two": "a"}

    write(PREFER.format(node="b"))
    wait_until(lambda: outcomes("applied") == 1, "reload", 30)
    stage.add(pod("three").requests(cpu="100m"))
    assert stage.wait_bound("default/three") == {"default/three": "b"}

    running.process.send(signal.SIGHUP)
    wait_until(lambda: outcomes("applied") == 2, "reload by SIGHUP", 30)
    generations = {
        name: stage.pods.objects[f"default/{name}"]["metadata"]["annotations"][
            "bayplan.io/generation"
        ]
        for name in ("one", "two", "three")
    }
    assert generations == {"one": "1", "two": "1", "three": "3"}
    events = stage.plane.admin.items("/apis/events.k8s.io/v1/namespaces/kube-system/events")
    told = {event["reason"] for event in events if event["regarding"]["kind"] == "Lease"}
    assert {"ReloadRefused", "Reloaded"} <= told
    status, shown = running.page("/configz")
    assert status == 200
    assert '"generation":4' in shown


def test_a_canary_has_its_share_and_is_compared(stage: Stage, tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "prefer.py").write_text(PREFER.format(node="b"), encoding="utf-8")
    stage.add(node("a"), node("b"))
    enabled = {"multiPoint": {"enabled": [{"name": "Prefer", "weight": 100}]}}
    running = stage.start_scheduler(
        profiles=[
            {"schedulerName": PROFILE},
            {"schedulerName": "tried", "plugins": enabled},
        ],
        own={
            "pluginDirs": [str(plugins)],
            "profiles": [
                {
                    "schedulerName": PROFILE,
                    "arm": {"profile": "tried", "mode": "canary", "percent": 30},
                }
            ],
        },
        elect=True,
    ).wait_ready()
    stage.add(*(pod(f"p{number}").requests(cpu="10m") for number in range(80)))
    stage.wait_bound(*(f"default/p{number}" for number in range(80)))
    stage.add(pod("asks").requests(cpu="10m").scheduler("tried"))
    stage.wait_bound("default/asks")

    admin = stage.plane.user("admin", ["system:masters"]).kubeconfig
    words = [sys.executable, "-m", "bayplan", "compare-arms", f"--kubeconfig={admin}"]

    def told(*more: str) -> str:
        done = subprocess.run(
            [*words, *more], capture_output=True, text=True, timeout=90, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    accounts = json.loads(told("-o", "json"))["accounts"]
    assert [accounts[name]["role"] for name in (PROFILE, "tried")] == ["stable", "canary"]
    assert accounts[PROFILE]["scheduled"] + accounts["tried"]["scheduled"] == 81
    assert 8 <= accounts["tried"]["scheduled"] <= 50
    assert accounts["tried"]["errors"] == 0
    on_b = sum(stage.node_of(f"default/p{number}") == "b" for number in range(80))
    assert on_b >= accounts["tried"]["scheduled"] - 1
    assert told().splitlines()[0].split()[:3] == ["PROFILE", "ROLE", "ATTEMPTS"]
    sample = 'scheduler_schedule_attempts_total{result="scheduled",profile="tried"}'
    assert running.metric(sample) == accounts["tried"]["scheduled"]


def test_policies_by_object_and_by_config_map(stage: Stage) -> None:
    stage.add(yaml.safe_load(CRD.read_text(encoding="utf-8")))
    wrong = policy("wrong", resourceWeights={"cpu": 101})
    wait_until(lambda: _created(stage, wrong), "kind", 30)
    stage.add(node("plain"), node("spot").taint("spot").label("kind", "spot"))
    enabled = {"multiPoint": {"enabled": [{"name": "SchedulingPolicy"}]}}
    stage.start_scheduler(
        profiles=[{"schedulerName": PROFILE, "plugins": enabled}], elect=True
    ).wait_ready()

    stage.add(pod("web").requests(cpu="100m").label("bayplan.io/policy", "spots"))
    said = stage.wait_refused("default/web", 'scheduling policy "spots" does not exist')
    assert said.startswith("0/2 nodes are available: ")
    affinity = {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "kind", "operator": "In", "values": ["spot"]}]}
            ]
        }
    }
    tolerations = [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}]
    stage.add(policy("spots", nodeAffinity=affinity, tolerations=tolerations))
    assert stage.wait_bound("default/web") == {"default/web": "spot"}

    stage.add(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "scheduling-policies", "namespace": "kube-system"},
            "data": {"mapped.yaml": yaml.safe_dump(policy("mapped"))},
        }
    )
    stage.add(pod("mapped").requests(cpu="100m").annotation("bayplan.io/policy", "mapped"))
    stage.wait_bound("default/mapped")

    def conditions() -> list[Obj]:
        found = stage.plane.admin.get("/apis/policy.bayplan.io/v1alpha1/schedulingpolicies/wrong")
        listed: list[Obj] = found.get("status", {}).get("conditions", [])
        return listed

    wait_until(lambda: bool(conditions()), "condition", 30)
    (condition,) = conditions()
    assert (condition["type"], condition["status"]) == ("Accepted", "False")
    said = "spec.resourceWeights.cpu: Invalid value: 101: must be from 1 to 100"
    assert condition["message"] == said


def policy(name: str, **spec: object) -> Obj:
    """A scheduling policy."""
    return {
        "apiVersion": "policy.bayplan.io/v1alpha1",
        "kind": "SchedulingPolicy",
        "metadata": {"name": name},
        "spec": spec,
    }


def _created(stage: Stage, obj: Obj) -> bool:
    """Whether an object of a kind that has just been defined could be made."""
    try:
        stage.plane.admin.create(obj)
    except NotFound:
        return False
    return True
