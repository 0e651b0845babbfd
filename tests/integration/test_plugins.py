"""Fault cases 47, 50 and 51: foreign extenders, numbers that users make up, plugins that do as they like."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bayplan.errors import PluginHung
from bayplan.testing import make_node
from tests.integration.plugins import Odd, profile
from tests.integration.rig import Obj, Rig, make_pod, on_rig
from tests.runtime.extending.foreign import foreign_extender, only


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


def as_reply(answer: object) -> bytes:
    body = json.dumps(answer).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        pytest.param(b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", "code 500", id="500"),
        pytest.param(
            b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
            "code 302",
            id="a redirect",
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n{}", "longer than", id="100 MB"
        ),
        pytest.param(as_reply({"NodeNames": ["z"]}), "not found in the input", id="wrong names"),
        pytest.param(None, "extender at", id="no answer"),
    ],
)
def test_case_47_an_extender_goes_wrong_and_comes_right(
    tmp_path: Path, raw: bytes | None, said: str
) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with foreign_extender() as foreign:
            foreign.raw = raw
            foreign.verbs["filter"] = only("a")

            async def hang(_arguments: Obj) -> None:
                await asyncio.sleep(60)

            foreign.before = hang if raw is None else None
            extender = {"urlPrefix": foreign.url, "filterVerb": "filter", "nodeCacheCapable": True}
            async with rig.scheduler(config={"extenders": [extender]}):
                rig.add(make_pod("web"))
                await rig.until(lambda: rig.condition("web"))
                assert said in rig.condition("web")["message"]
                foreign.raw = foreign.before = None
                await rig.until_bound("web")

    on_rig(scenario, tmp_path)
