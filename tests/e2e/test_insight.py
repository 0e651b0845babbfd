"""Asking a running scheduler why, on the real API server: found by its lease, known by its certificate, asked as oneself."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from bayplan.telemetry.decision_files import read_decisions
from bayplan.testing.control_plane import Obj, wait_until
from tests.e2e.stage import Stage, node, pod

pytestmark = pytest.mark.e2e

READER = "bayplan-reader"

POLICY = """\
apiVersion: v1
kind: Policy
rules:
- {level: Debug, resources: [pods], verbs: [bind]}
- {level: Warning, resources: [pods], verbs: [schedule]}
"""
TRACING = """\
apiVersion: apiserver.config.k8s.io/v1beta1
kind: TracingConfiguration
endpoint: 127.0.0.1:{port}
samplingRatePerMillion: 1000000
"""


@contextmanager
def collecting() -> Iterator[tuple[int, list[bytes]]]:
    """A collector of spans: its port, and what it was sent."""
    bodies: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"]))
            compressed = self.headers.get("Content-Encoding") == "gzip"
            bodies.append(gzip.decompress(text) if compressed else text)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port, bodies
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def bayplan(login: Path, *words: str, program: tuple[str, ...] = ()) -> tuple[int, str]:
    """Status and everything that a command says."""
    command = program or (sys.executable, "-m", "bayplan")
    done = subprocess.run(
        [*command, *words, f"--kubeconfig={login}"],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def asked(login: Path, *words: str) -> Any:
    status, text = bayplan(login, *words, "-o", "json")
    assert status == 0, text
    return json.loads(text)


def granted(user: str) -> list[Obj]:
    """The role that docs/logging.md asks for."""
    group = "rbac.authorization.k8s.io"
    _, namespace, name = user.rsplit(":", 2)
    role: Obj = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": READER},
        "rules": [
            {
                "nonResourceURLs": ["/debug/decisions/*", "/debug/queue", "/debug/summary"],
                "verbs": ["get"],
            },
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["list"]},
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
        ],
    }
    binding: Obj = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": READER},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": READER},
        "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": name}],
    }
    return [role, binding]


def kubectl_with_plugin(stage: Stage, folder: Path) -> tuple[str, ...]:
    """kubectl, with the plugin where kubectl looks for plugins."""
    folder.mkdir()
    script = folder / "kubectl-bayplan"
    script.write_text(
        f"#!{sys.executable}\nfrom bayplan.cli.kubectl_bayplan import main\n\nmain()\n",
        encoding="utf-8",
    )
    script.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return ("env", f"PATH={path}", str(stage.plane.binaries.path("kubectl")), "bayplan")


def test_why_here_why_not_there_and_what_would_help(stage: Stage, tmp_path: Path) -> None:
    stage.add(node("n1"), node("n2", cpu="2"))
    scheduler = stage.start_scheduler(elect=True).wait_ready()
    stage.add(pod("web").requests(cpu="1"), pod("big").requests(cpu="5"))
    stage.may_wait.add("default/big")
    home = stage.wait_bound("default/web")["default/web"]
    stage.wait_refused("default/big")
    admin = stage.plane.user("admin", ["system:masters"]).kubeconfig

    told = asked(admin, "explain", "default/web")
    assert (told["state"], told["node"]) == ("placed", home)
    assert told["explanation"]["chosen"] == home
    assert "asOf" in told["explanation"]
    assert [a["result"] for a in told["history"]["attempts"]] == ["scheduled"]

    status, text = bayplan(admin, "explain", "default/big")
    assert status == 0, text
    assert "default/big waits: unschedulable for" in text
    assert "0/2 nodes are available: 2 Insufficient cpu." in text
    assert "any one of these would make it fit:" in text

    # Another attempt, after something happened, and both are told.
    stage.add(node("n3", cpu="6").taint("dedicated"))
    wait_until(
        lambda: any("0/3" in a["message"] for a in story(admin)["history"]["attempts"]),
        "a second attempt",
        30,
    )
    assert [a["last"] for a in story(admin)["history"]["attempts"]] == [1, 2]
    detail = asked(admin, "explain", "default/big", "--node", "n2")["explanation"]["detail"]
    assert detail["objections"] == [{"plugin": "NodeResourcesFit", "message": "Insufficient cpu"}]

    status, text = bayplan(admin, "queue")
    assert status == 0, text
    assert "1 unschedulable" in text
    assert "NodeResourcesFit" in text
    status, text = bayplan(admin, "top", "--once")
    assert status == 0, text
    assert "1 scheduled, 2 unschedulable" in text
    assert "3 nodes (0 cordoned)" in text

    stage.need("kubectl")
    kubectl = kubectl_with_plugin(stage, tmp_path / "plugins")
    status, text = bayplan(admin, "why", "pod/big", "-n", "default", program=kubectl)
    assert status == 0, text
    assert "2 attempts" in text
    # The what-ifs were tried in copies: the scheduler itself has noticed nothing.
    assert scheduler.process.running
    assert stage.audit() == []


def story(login: Path) -> Any:
    return asked(login, "explain", "default/big")


def test_who_may_ask(stage: Stage) -> None:
    stage.add(node("n1"))
    scheduler = stage.start_scheduler(elect=True).wait_ready()
    stage.add(pod("web"))
    stage.wait_bound("default/web")
    stage.add(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "reader", "namespace": "kube-system"},
        }
    )
    reader = stage.plane.service_account("reader")

    status, text = bayplan(reader.kubeconfig, "explain", "default/web")
    assert status == 1
    assert "forbidden" in text
    stage.add(*granted(reader.user))
    # A refusal is remembered for ten seconds.
    wait_until(
        lambda: bayplan(reader.kubeconfig, "explain", "default/web")[0] == 0, "an answer", 30
    )
    status, text = bayplan(reader.kubeconfig, "explain", "default/nobody")
    assert (status, "not found" in text) == (1, True), text

    # Whoever is at the address without being the holder of the lease gets no token.
    lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/bayplan-e2e"
    said = stage.plane.admin.get(lease)["metadata"]["annotations"]
    assert said["bayplan.io/serving-address"] == f"https://127.0.0.1:{scheduler.port}"
    assert said["bayplan.io/profiles"] == "bayplan"
    wrong = ("--server", said["bayplan.io/serving-address"])
    status, text = bayplan(reader.kubeconfig, "explain", "default/web", *wrong)
    assert (status, "--certificate-authority" in text) == (1, True), text
    status, text = bayplan(
        reader.kubeconfig, "explain", "default/web", *wrong, "--insecure-skip-tls-verify"
    )
    assert status == 0, text


def test_records_spans_and_a_logging_policy(stage: Stage, tmp_path: Path) -> None:
    stage.add(node("n1"), node("n2"))
    record = stage.plane.folder / "records" / "decisions.jsonl"
    policy = tmp_path / "logging.yaml"
    policy.write_text(POLICY, encoding="utf-8")
    with collecting() as (port, bodies):
        tracing = tmp_path / "tracing.yaml"
        tracing.write_text(TRACING.format(port=port), encoding="utf-8")
        scheduler = stage.start_scheduler(
            own={"record": {"file": str(record)}},
            values={
                "extraArgs": [f"--tracing-config-file={tracing}", f"--logging-config={policy}"]
            },
        ).wait_ready()
        stage.add(*(pod(f"p{number}").requests(cpu="100m") for number in range(8)))
        stage.add(pod("big").requests(cpu="50"))
        stage.may_wait.add("default/big")
        homes = stage.wait_bound(*(f"default/p{number}" for number in range(8)))
        stage.wait_refused("default/big")
        assert stage.audit() == []
        assert scheduler.process.stop() == 0

    found = {one["pod"]: one for one in read_decisions(record)}
    assert {key: found[key]["node"] for key in homes} == homes
    assert all(found[key]["score"] == sum(found[key]["scores"].values()) for key in homes)
    assert (found["default/big"]["result"], found["default/big"]["feasible"]) == (
        "unschedulable",
        0,
    )
    # The last spans are sent before the process ends.
    spans = b"".join(bodies)
    assert spans.count(b"Schedule pod") == 9
    assert spans.count(b"POST /api/v1/namespaces/{namespace}/pods/{name}/binding") == 8
    # Bindings in detail, leases not at all; the rest as -v says.
    log = scheduler.log()
    assert '"Attempting to bind pod to node" pod="default/p0"' in log
    assert "Attempting to schedule pod" not in log
    assert "Unable to schedule pod" not in log
