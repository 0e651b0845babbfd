"""Fault cases 50 and 51: numbers that users make up, and plugins that do as they like."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bayplan.errors import PluginHung
from bayplan.testing import make_node
from tests.integration.plugins import Odd, profile
from tests.integration.rig import Rig, make_pod, on_rig


def raises() -> float:
    raise RuntimeError("broken")


def hangs() -> float:
    # What the watchdog does after five seconds; that it does is tested beside it, in true time.
    raise PluginHung("did not return within 5 s and was interrupted")


@pytest.mark.parametrize(
    ("does", "said"),
    [
        pytest.param(raises, "RuntimeError: broken", id="raises"),
        pytest.param(lambda: float("nan"), "nan is not a finite number", id="NaN"),
        pytest.param(lambda: float("inf"), "inf is not a finite number", id="infinite"),
        pytest.param(lambda: 10.0**18, "invalid score", id="too much"),
        pytest.param(lambda: [1, 2], "not a finite number", id="a list"),
        pytest.param(hangs, "was interrupted", id="hangs"),
    ],
)
def test_case_51_a_plugin_that_misbehaves_costs_one_pod_an_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: Callable[[], float], said: str
) -> None:
    monkeypatch.setattr(Odd, "does", staticmethod(does))

    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"), make_node("b"))
        async with rig.scheduler(config=profile("Odd")) as process:
            rig.add(make_pod("bad").label("odd", "yes"))
            await rig.until(lambda: rig.condition("bad"))
            condition = rig.condition("bad")
            assert condition["reason"] == "SchedulerError"
            assert 'running Score plugin "Odd"' in condition["message"]
            assert said in condition["message"]
            rig.add(make_pod("good"))
            await rig.until_bound("good")
            # It backs off, and is bound as soon as the plugin behaves.
            assert process.scheduler.board.queue.pending()["backoff"] == 1
            monkeypatch.setattr(Odd, "does", staticmethod(float))
            await rig.until_bound("bad")

    on_rig(scenario, tmp_path)


def test_case_50_numbers_that_users_make_up(tmp_path: Path) -> None:
    most = 2**31 - 1

    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a").capacity({"example.com/device": str(2**62)}).zone("z"))
        replicas = {
            "metadata": {"name": "rs", "namespace": "default"},
            "spec": {
                "replicas": most,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "c", "image": "x"}]},
                },
            },
        }
        rig.api.store.create("replicasets.apps", replicas)
        pod = make_pod("web").label("app", "web").requests({"example.com/device": str(2**61)})
        pod.spread(most, "topology.kubernetes.io/zone", {"app": "web"})
        pod.manifest["spec"]["topologySpreadConstraints"][0]["minDomains"] = most
        async with rig.scheduler():
            rig.add(pod)
            await rig.until_bound("web")

    on_rig(scenario, tmp_path)
