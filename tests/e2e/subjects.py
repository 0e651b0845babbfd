"""The scheduler under test, as a program with a command line: bayplan, or the stock one to try the tests themselves.

``BAYPLAN_E2E_SUBJECT=kube-scheduler make e2e`` runs the stock one: what fails then is wrong in the test, or known to differ.
"""

from __future__ import annotations

import http.client
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from bayplan.testing.control_plane import ControlPlane, Process, wait_ready
from bayplan.testing.control_plane.files import write_atomically
from bayplan.testing.control_plane.plane import SCHEDULER_CONFIG

Subject = Literal["bayplan", "kube-scheduler"]

#: An interpreter that loads NumPy on a busy machine, and a list of everything.
START_S = 60.0


def stock_command(
    plane: ControlPlane, name: str, configuration: Mapping[str, Any], login: Path, port: int
) -> list[str]:
    """What starts a kube-scheduler that does as configured. How ours is started says the chart: ``tests.deploy.containers``."""
    connection = {"kubeconfig": str(login), "qps": 5000, "burst": 5000}
    document = {**SCHEDULER_CONFIG, "clientConnection": connection, **configuration}
    config = plane.folder / f"{name}.yaml"
    write_atomically(config, yaml.safe_dump(document, sort_keys=False).encode())
    return [
        str(plane.binaries.path("kube-scheduler")),
        f"--config={config}",
        f"--authentication-kubeconfig={login}",
        f"--authorization-kubeconfig={login}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        "--permit-port-sharing=true",
        "-v=2",
    ]


@dataclass
class Running:
    """A scheduler that has been started."""

    name: str
    subject: Subject
    process: Process
    port: int
    #: An administrator's certificate, for the pages that are not for everybody.
    certificate: Path
    key: Path

    def log(self) -> str:
        """All that it has said so far."""
        return self.process.log.read_text(encoding="utf-8", errors="replace")

    def page(self, path: str) -> tuple[int, str]:
        """Status and text of one of its own pages; status 0 if it does not answer."""
        tls = ssl.create_default_context()
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE  # it signs its own
        tls.load_cert_chain(self.certificate, self.key)
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10, context=tls)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""
        finally:
            connection.close()

    def wait_ready(self) -> Running:
        wait_ready(lambda: self.page("/readyz")[0] == 200, self.process, START_S)
        return self

    def metric(self, sample: str) -> float:
        """A sample of its metrics by name and labels, ``scheduler_pending_pods{queue="active"}``; 0 if it has none."""
        status, text = self.page("/metrics")
        assert status == 200, f"{self.name}: /metrics answers {status}: {text[:300]}"
        found = re.search(rf"^{re.escape(sample)} (\S+)", text, re.MULTILINE)
        return float(found[1]) if found else 0.0
