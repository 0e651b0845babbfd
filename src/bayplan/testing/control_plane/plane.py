"""A control plane of one's own: etcd and kube-apiserver on loopback, ready in a few seconds, gone at the end.

    with ControlPlane(folder) as plane:
        plane.admin.create(pod)
        plane.start_scheduler()

For test suites, of bayplan and of plugins. Everything it writes, logs included, is in ``folder``, which it leaves there.
What it started it ends, by process id, also when ``with`` is left by an error.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import yaml

from bayplan.clock import Clock, SystemClock
from bayplan.testing.control_plane.api import Api
from bayplan.testing.control_plane.api_server import ApiServer, Keys
from bayplan.testing.control_plane.binaries import (
    CONTROLLER_MANAGER,
    SCHEDULER,
    Binaries,
    find_binaries,
)
from bayplan.testing.control_plane.etcd import Etcd
from bayplan.testing.control_plane.files import write_atomically
from bayplan.testing.control_plane.ports import LOOPBACK, Port
from bayplan.testing.control_plane.processes import Process
from bayplan.testing.control_plane.users import ADMINISTRATORS, CertificateUser, ServiceAccount

#: Those that tests lean on; the others would only make work.
CONTROLLERS = (
    "deployment-controller",
    "disruption-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "persistentvolume-binder-controller",
    "replicaset-controller",
    "serviceaccount-controller",
)

SCHEDULER_CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}


class ControlPlane:
    """etcd and one API server, and the programs that a test starts beside them."""

    def __init__(
        self,
        folder: Path,
        binaries: Binaries | None = None,
        clock: Clock | None = None,
        *,
        api_flags: Sequence[str] = (),
    ) -> None:
        """Prepare one; nothing runs before it is entered.

        Args:
            folder: for all its files. What an etcd left there in ``etcd`` before is taken over.
            binaries: those that ``make kube`` built, unless others are given.
            clock: the system's, unless another is given.
            api_flags: for the API server, beside the usual ones.
        """
        self.folder = folder
        self._api_flags = tuple(api_flags)
        self.binaries = binaries or find_binaries()
        self.clock = clock or SystemClock()
        self._open = contextlib.ExitStack()
        self._keys = Keys.make(folder / "keys", self.clock)

    def __enter__(self) -> ControlPlane:
        with contextlib.ExitStack() as opening:
            self.etcd = opening.enter_context(Etcd(self.binaries, self.folder, self.clock))
            self._server = opening.enter_context(self._api_server("kube-apiserver"))
            self.admin = self.user("admin", [ADMINISTRATORS]).api()
            opening.callback(self.admin.close)
            self._server.start()
            self._open = opening.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    # The API server -------------------------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        return self._server.server.url

    @property
    def pids(self) -> dict[str, int]:
        """Process ids of etcd and the API server, for whoever measures them."""
        return {"etcd": self.etcd.pid, "kube-apiserver": self._server.pid}

    def stop_api(self, *, in_order: bool = False) -> None:
        """End the API server; etcd stays. At once and without a word to those who watch, unless ``in_order``."""
        self._server.stop(in_order=in_order)
        self.admin.close()

    def start_api(self) -> None:
        """Start it again, on the same port, and wait until it is ready."""
        self._server.start()

    def renew_server_certificate(self) -> None:
        """Put another certificate and key where the API server reads them when it starts."""
        self._keys.renew()

    @contextlib.contextmanager
    def second_api(self) -> Iterator[Api]:
        """One more API server on the same etcd: its ``Api`` for an administrator, to act while the first is away."""
        with self._api_server("kube-apiserver-2") as other:
            user = CertificateUser(
                "admin",
                (ADMINISTRATORS,),
                self.folder / "second",
                other.server,
                self._keys.authority,
            )
            api = user.write().api()
            other.start()
            yield api
            api.close()

    def _api_server(self, name: str) -> ApiServer:
        server = ApiServer(name, self.binaries, self.folder, self.etcd.url, self._keys, self.clock)
        server.flags = self._api_flags
        return server

    # Users ----------------------------------------------------------------------------------------------------------------

    def user(
        self, name: str, groups: Sequence[str] = (), lifetime_s: float = 86_400.0
    ) -> CertificateUser:
        """Somebody with a certificate and a kubeconfig; may do what RBAC grants, no more."""
        folder = self.folder / "users"
        user = CertificateUser(
            name, tuple(groups), folder, self._server.server, self._keys.authority
        )
        return user.write(lifetime_s)

    def service_account(self, name: str, namespace: str = "kube-system") -> ServiceAccount:
        """Log in as this service account, which exists already, by a token in a file."""
        return ServiceAccount.create(
            name, namespace, self.folder / "users", self._server.server, self.admin
        )

    # Programs beside it ---------------------------------------------------------------------------------------------------

    def start(
        self, name: str, command: Sequence[str | Path], env: Mapping[str, str] | None = None
    ) -> Process:
        """Any program, with its log in the folder; ended before the API server is."""
        process = Process(name, command, self.folder / "logs" / f"{name}.log", env)
        self._open.callback(process.stop)
        return process

    def start_scheduler(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        name: str = "kube-scheduler",
        kubeconfig: Path | None = None,
        flags: Sequence[str] = (),
    ) -> Process:
        """A stock kube-scheduler; ``config`` are fields of its configuration, over one without leader election.

        ``flags``: what only the command line has, such as feature gates.
        """
        login = kubeconfig or self.user(name, [ADMINISTRATORS]).kubeconfig
        document = {
            **SCHEDULER_CONFIG,
            "leaderElection": {"leaderElect": False},
            "clientConnection": {"kubeconfig": str(login), "qps": 5000, "burst": 5000},
            **(config or {}),
        }
        file = self.folder / f"{name}.yaml"
        write_atomically(file, yaml.safe_dump(document, sort_keys=False).encode())
        return self.start(
            name,
            [
                self.binaries.path(SCHEDULER),
                f"--config={file}",
                f"--bind-address={LOOPBACK}",
                f"--secure-port={self._reserve()}",
                "--permit-port-sharing=true",
                f"--authentication-kubeconfig={login}",
                f"--authorization-kubeconfig={login}",
                "--v=2",
                *flags,
            ],
        )

    def start_controller_manager(self, controllers: Sequence[str] = CONTROLLERS) -> Process:
        """A stock kube-controller-manager with these controllers and no other."""
        login = self.user("kube-controller-manager", [ADMINISTRATORS]).kubeconfig
        return self.start(
            "kube-controller-manager",
            [
                self.binaries.path(CONTROLLER_MANAGER),
                f"--kubeconfig={login}",
                f"--controllers={','.join(controllers)}",
                "--leader-elect=false",
                f"--bind-address={LOOPBACK}",
                f"--secure-port={self._reserve()}",
                "--permit-port-sharing=true",
                "--kube-api-qps=500",
                "--kube-api-burst=500",
            ],
        )

    def _reserve(self) -> Port:
        port = Port()
        self._open.callback(port.close)
        return port
