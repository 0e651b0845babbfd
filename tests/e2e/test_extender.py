"""A stock kube-scheduler that calls our extender: over HTTP and mTLS, with nodes in full and by name, every verb."""

from __future__ import annotations

import contextlib
import http.client
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from bayplan.testing import PodBuilder
from bayplan.testing.control_plane import Obj
from bayplan.testing.control_plane.certificates import Authority
from bayplan.testing.control_plane.ports import Port
from bayplan.testing.control_plane.processes import Process
from bayplan.testing.control_plane.waiting import wait_ready
from tests.e2e.stage import Stage, node, pod

pytestmark = pytest.mark.e2e

EXAMPLE = Path(__file__).parents[2] / "examples" / "extender"
START_S = 60.0
PROGRAM = (sys.executable, "-m", "bayplan", "extender")


@dataclass
class Ours:
    """Our extender at work."""

    process: Process
    port: int
    secure: bool
    tls: dict[str, str] = field(default_factory=dict)

    def entry(self, *verbs: str, whole: bool) -> dict[str, Any]:
        """What the scheduler's configuration says of it."""
        entry: dict[str, Any] = {
            "urlPrefix": f"{'https' if self.secure else 'http'}://127.0.0.1:{self.port}",
            "nodeCacheCapable": not whole,
            "enableHTTPS": self.secure,
            "weight": 5,
            **{f"{verb}Verb": verb for verb in verbs},
        }
        return entry | ({"tlsConfig": self.tls} if self.secure else {})

    def listens(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        with contextlib.closing(connection):
            try:
                if self.secure:
                    connection.connect()
                    return True
                connection.request("GET", "/readyz")
                return connection.getresponse().status == 200
            except (OSError, http.client.HTTPException):
                return False


def start_ours(stage: Stage, *, cluster: bool, secure: bool = False) -> Ours:
    """Serve the example's plugin."""
    plane = stage.plane
    with contextlib.closing(Port()) as free:
        port = free.number
    words = [*PROGRAM, f"--config={EXAMPLE / 'config.yaml'}"]
    words += [f"--plugin-dir={EXAMPLE}", f"--bind=127.0.0.1:{port}"]
    tls: dict[str, str] = {}
    if secure:
        tls = _keys(stage, plane.folder / "extender")
        words += [f"--tls-cert={tls.pop('server')}", f"--tls-key={tls.pop('serverKey')}"]
        words.append(f"--client-ca={tls['caFile']}")
    if cluster:
        words.append(f"--kubeconfig={stage.account().kubeconfig}")
    ours = Ours(plane.start("extender", words), port, secure, tls)
    wait_ready(ours.listens, ours.process, START_S)
    return ours


def _keys(stage: Stage, folder: Path) -> dict[str, str]:
    folder.mkdir()
    authority = Authority("extenders", stage.plane.clock)
    files = {name: str(folder / name) for name in ("ca", "server", "serverKey", "user", "userKey")}
    Path(files["ca"]).write_bytes(authority.pem)
    authority.server(["127.0.0.1"]).write(Path(files["server"]), Path(files["serverKey"]))
    authority.client("scheduler", []).write(Path(files["user"]), Path(files["userKey"]))
    return {
        "caFile": files["ca"],
        "certFile": files["user"],
        "keyFile": files["userKey"],
        "server": files["server"],
        "serverKey": files["serverKey"],
    }


def theirs(name: str, **labels: str) -> PodBuilder:
    """A pod of the stock scheduler."""
    return pod(name, scheduler="default-scheduler").labels(labels)


@pytest.fixture
def stage(stage: Stage) -> Stage:
    """Three nodes, two of them with fast disks."""
    stage.need("kube-scheduler")
    stage.add(
        node("fast-1").labels({"disk": "fast", "rank": "10"}),
        node("fast-2").labels({"disk": "fast", "rank": "90"}),
        node("slow-1").labels({"disk": "slow", "rank": "95"}),
    )
    return stage


@pytest.mark.parametrize("secure", [False, True], ids=["http", "mtls"])
@pytest.mark.parametrize("whole", [True, False], ids=["nodes", "names"])
def test_pods_land_where_the_plugin_says(stage: Stage, *, whole: bool, secure: bool) -> None:
    ours = start_ours(stage, cluster=not whole, secure=secure)
    entry = ours.entry("filter", "prioritize", whole=whole)
    stage.plane.start_scheduler({"extenders": [entry]})
    names = [f"p{number}" for number in range(6)]
    stage.add(*(theirs(name, disk="fast") for name in names))
    found = stage.wait_bound(*(f"default/{name}" for name in names))
    assert set(found.values()) == {"fast-2"}
    stage.add(theirs("any"))
    assert stage.wait_bound("default/any") == {"default/any": "slow-1"}


@pytest.mark.parametrize("whole", [True, False], ids=["nodes", "names"])
def test_a_pod_that_the_plugin_turns_down_is_told_our_reason(stage: Stage, *, whole: bool) -> None:
    for name in ("fast-1", "fast-2"):
        stage.plane.admin.delete(node(name).manifest)
    ours = start_ours(stage, cluster=not whole)
    stage.plane.start_scheduler({"extenders": [ours.entry("filter", whole=whole)]})
    stage.may_wait.add("default/web")
    stage.add(theirs("web", disk="fast"))
    assert "1 disk is slow" in stage.wait_event("default/web", "FailedScheduling")


def test_the_bind_verb_binds(stage: Stage) -> None:
    ours = start_ours(stage, cluster=True)
    stage.plane.start_scheduler({"extenders": [ours.entry("filter", "bind", whole=False)]})
    stage.add(theirs("web", disk="fast"))
    assert stage.wait_bound("default/web")["default/web"].startswith("fast-")
    assert _count(ours, "bind", "ok") == 1


@pytest.mark.parametrize("whole", [True, False], ids=["nodes", "names"])
def test_preemption_consults_us(stage: Stage, *, whole: bool) -> None:
    ours = start_ours(stage, cluster=True)
    stage.add(_urgent())
    # No filter verb: only by the preempt verb can it be known that slow-1 would not do.
    entry = ours.entry("preempt", whole=whole)
    stage.plane.start_scheduler({"extenders": [entry]})
    fillers = [f"filler-{number}" for number in range(3)]
    stage.add(*(theirs(name).requests(cpu="4") for name in fillers))
    where = stage.wait_bound(*(f"default/{name}" for name in fillers))
    urgent = theirs("urgent", disk="fast").requests(cpu="4")
    urgent.manifest["spec"]["priorityClassName"] = "urgent"
    stage.add(urgent)
    assert stage.wait_bound("default/urgent")["default/urgent"].startswith("fast-")
    (slow,) = [key for key, name in where.items() if name == "slow-1"]
    assert stage.node_of(slow) == "slow-1"
    assert _count(ours, "preempt", "ok") >= 1


def test_the_printed_stanza_is_what_kube_scheduler_takes(stage: Stage) -> None:
    ours = start_ours(stage, cluster=True)
    words = [*PROGRAM, f"--config={EXAMPLE / 'config.yaml'}"]
    words += [f"--plugin-dir={EXAMPLE}", f"--bind=127.0.0.1:{ours.port}", "--print-config"]
    words.append(f"--kubeconfig={stage.account().kubeconfig}")
    printed = _output(stage, words)
    stage.plane.start_scheduler(yaml.safe_load(printed))
    stage.add(theirs("web", disk="fast"))
    assert stage.wait_bound("default/web")["default/web"].startswith("fast-")
    assert _count(ours, "filter", "ok") >= 1


@pytest.mark.parametrize("whole", [True, False], ids=["nodes", "names"])
def test_our_scheduler_calls_extenders_too(stage: Stage, *, whole: bool) -> None:
    ours = start_ours(stage, cluster=not whole)
    entry = ours.entry("filter", "prioritize", whole=whole)
    stage.start_scheduler(extenders=[entry]).wait_ready()
    stage.add(pod("web").labels({"disk": "fast"}), pod("any"))
    found = stage.wait_bound("default/web", "default/any")
    assert found == {"default/web": "fast-2", "default/any": "slow-1"}
    assert _count(ours, "prioritize", "ok") == 2


def _output(stage: Stage, words: Sequence[str]) -> str:
    process = stage.plane.start("print", words)
    assert process.wait(30.0) == 0
    return process.log.read_text(encoding="utf-8")


def _urgent() -> Obj:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "urgent"},
        "value": 1000,
    }


def _count(ours: Ours, verb: str, result: str) -> float:
    """How many requests came to this."""
    connection = http.client.HTTPConnection("127.0.0.1", ours.port, timeout=10)
    with contextlib.closing(connection):
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    name = "bayplan_extender_request_duration_seconds_count"
    sample = f'{name}{{verb="{verb}",result="{result}"}} '
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(sample))
