"""Fault cases 48, 49, 52 and 53: who may see what, what is refused at the start, which right is missing, what is logged."""

from __future__ import annotations

import contextlib
import io
import logging
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bayplan.app import Options, Serving, serve_scheduler
from bayplan.embedded.reviews import ADMIN
from bayplan.errors import ConfigError
from bayplan.telemetry import log
from bayplan.testing import make_node
from bayplan.testing.control_plane.ports import Port
from bayplan.testing.virtual_time import VirtualClock, run
from tests.integration.rig import Rig, make_pod, on_rig
from tests.serve.scene import Answer, ask

OURS, PROMETHEUS = "token-of-the-scheduler", "token-of-prometheus"
USERS = {OURS: ADMIN, PROMETHEUS: "prometheus"}


class Pages:
    """What a scheduler shows to whom."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._tls = ssl.create_default_context()
        self._tls.check_hostname = False
        self._tls.verify_mode = ssl.CERT_NONE

    async def get(self, path: str, token: str = "", **headers: str) -> Answer:
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return await ask(self._port, path, tls=self._tls, headers=headers)

    async def status(self, path: str, token: str = "", **headers: str) -> int:
        return (await self.get(path, token, **headers)).status


@asynccontextmanager
async def pages_of(rig: Rig) -> AsyncIterator[Pages]:
    """A scheduler with its pages, which knows itself by a token."""
    rig.token_file = rig.folder / "token"
    rig.token_file.write_text(OURS, encoding="utf-8")
    with contextlib.closing(Port()) as free:
        port = free.number
    serving = Serving(bind_address="127.0.0.1", secure_port=port)
    async with rig.scheduler(serving=serving) as process:
        await rig.until(lambda: process.synced)
        yield Pages(port)


def test_case_48_who_may_see_what(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        async with pages_of(rig) as pages:
            for path in ("/healthz", "/livez", "/readyz"):
                assert await pages.status(path) == 200
            rig.api.faults.forbid("get", "")
            for path in ("/metrics", "/configz", "/metrics/resources", "/readyz/shutdown"):
                assert await pages.status(path) == 401
                assert await pages.status(path, "nonsense") == 401
                assert await pages.status(path, PROMETHEUS) == 403
                assert await pages.status(path, OURS) == 200
            rig.api.faults.allow("get", "")
            await rig.pass_s(11)
            assert await pages.status("/metrics", PROMETHEUS) == 200

    on_rig(scenario, tmp_path, USERS)


def test_case_48_large_bodies_and_other_paths(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        async with pages_of(rig) as pages:
            large = {"Content-Length": str(100 << 20)}
            assert await pages.status("/healthz", **large) == 413
            for path in ("/../etc/passwd", "/healthz/../metrics", "/healthz/%2e%2e/configz"):
                assert await pages.status(path) in (401, 404)
                assert await pages.status(path, OURS) == 404

    on_rig(scenario, tmp_path, USERS)


DUPLICATE = "profiles: [{schedulerName: x}, {schedulerName: x}]"
HEAVY = """profiles:
- plugins: {score: {enabled: [{name: NodeResourcesFit, weight: 9223372036854775807}]}}
"""
BOMB = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    + [f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]" for n in range(9)]
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("parallelsm: 16", "parallelsm", id="an unknown field"),
        pytest.param(DUPLICATE, "profiles[1].schedulerName", id="a name twice"),
        pytest.param(
            "leaderElection: {leaseDuration: 10s, renewDeadline: 10s}",
            "leaderElection.leaseDuration",
            id="a lease no longer than its deadline",
        ),
        pytest.param(HEAVY, "weight", id="a weight that overflows"),
        pytest.param(BOMB, "excessive aliasing", id="a billion laughs"),
        pytest.param("profiles: !!python/name:os.system", "not allowed", id="a tag of Python's"),
    ],
)
def test_case_49_a_configuration_is_refused_at_the_start(
    tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "config.yaml"
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    file.write_text(f"{head}{text}\n", encoding="utf-8")
    # No cluster is asked for anything: the file is named, and the place in it.
    with pytest.raises(ConfigError) as refused:
        run(serve_scheduler(Options(config=file), VirtualClock()))
    assert said in str(refused.value)
    assert "line " in str(refused.value)


def test_case_52_readiness_names_the_right_that_is_missing(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        async with pages_of(rig) as pages:
            for verb, resource, group in (
                ("create", "pods/binding", ""),
                ("patch", "pods/status", ""),
                ("delete", "pods", ""),
                ("list", "csinodes", "storage.k8s.io"),
                ("watch", "nodes", ""),
                ("create", "events", "events.k8s.io"),
            ):
                rig.api.faults.forbid(verb, resource, group)
                await rig.pass_s(61)
                page = await pages.get("/readyz?verbose", OURS)
                assert page.status == 500
                (failed,) = [line for line in page.body.splitlines() if line.startswith("[-]")]
                assert f"rbac:{verb}:{resource}" in failed
                rig.api.faults.allow(verb, resource, group)
                await rig.pass_s(4)
                assert await pages.status("/readyz") == 200

    on_rig(scenario, tmp_path, USERS)


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What is logged, in the form that ``bayplan run`` has it."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    stream = io.StringIO()
    log.setup(9, "text", stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)
    log.set_verbosity(0)
    logging.captureWarnings(capture=False)


def test_case_53_what_users_write_forges_no_line_and_tokens_stay_secret(
    tmp_path: Path, written: io.StringIO
) -> None:
    forged = 'x\nI0101 00:00:00.000000 1 a.py:1] "Forged" token="abc"\x1b[31m'

    async def scenario(rig: Rig) -> None:
        rig.token_file = tmp_path / "token"
        rig.token_file.write_text(OURS, encoding="utf-8")
        rig.add(make_node("a"), make_pod("odd"))

        def spoil(pod: dict[str, dict[str, object]]) -> None:
            pod["metadata"]["labels"] = {forged: forged}
            pod["spec"]["nodeSelector"] = {forged: forged}

        rig.change("pods", "odd", spoil)
        async with rig.scheduler():
            await rig.pass_s(20)
            rig.api.faults.refuse("create", "pods/binding", status=500, times=3)
            rig.add(make_pod("good"))
            await rig.until_bound("good")

    on_rig(scenario, tmp_path, USERS)
    text = written.getvalue()
    assert "default/good" in text
    assert "Forged" in text
    assert OURS not in text
    assert "\x1b" not in text
    assert not any(line.startswith("I0101 00:00:00.000000 1 a.py") for line in text.splitlines())
