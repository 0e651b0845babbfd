"""kube-apiserver for one control plane: started, killed and started again on the same port.

``plane`` owns it. Admission and authorization are those of a real cluster, but for two plugins that count on controllers which need
not run here: one wants a service account in every namespace, the other taints each new node until somebody finds it ready.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from bayplan.clock import Clock
from bayplan.errors import ApiError, ControlPlaneError, Unreachable
from bayplan.testing.control_plane.api import Api, Login
from bayplan.testing.control_plane.binaries import API_SERVER, Binaries
from bayplan.testing.control_plane.certificates import Authority, service_account_key
from bayplan.testing.control_plane.files import write_atomically
from bayplan.testing.control_plane.kubeconfig import Server
from bayplan.testing.control_plane.ports import LOOPBACK, Port
from bayplan.testing.control_plane.processes import Process
from bayplan.testing.control_plane.waiting import wait_ready

#: Four seconds are usual; a machine that compiles something meanwhile needs more.
START_S = 90.0

#: Until a server that has been told to end is ended by force.
STOP_S = 5.0


@dataclass(frozen=True, slots=True)
class Keys:
    """Who signs what, kept when an API server starts again."""

    authority: Authority
    folder: Path

    @classmethod
    def make(cls, folder: Path, clock: Clock) -> Keys:
        """A new authority, the API server's certificate, and a key for service accounts."""
        keys = cls(Authority("control-plane", clock), folder)
        write_atomically(keys.authority_file, keys.authority.pem)
        write_atomically(keys.service_accounts, service_account_key(), mode=0o600)
        keys.renew()
        return keys

    def renew(self) -> None:
        """A fresh certificate for the API server."""
        pair = self.authority.server([LOOPBACK, "localhost", "kubernetes.default.svc", "10.0.0.1"])
        pair.write(self.certificate, self.key)

    @property
    def authority_file(self) -> Path:
        return self.folder / "ca.crt"

    @property
    def certificate(self) -> Path:
        return self.folder / "kube-apiserver.crt"

    @property
    def key(self) -> Path:
        return self.folder / "kube-apiserver.key"

    @property
    def service_accounts(self) -> Path:
        return self.folder / "service-accounts.key"


class ApiServer:
    """One kube-apiserver; holds its port for as long as it is entered, running or not."""

    def __init__(
        self,
        name: str,
        binaries: Binaries,
        folder: Path,
        etcd_url: str,
        keys: Keys,
        clock: Clock,
    ) -> None:
        self._name = name
        self._program = binaries.path(API_SERVER)
        self._folder = folder
        self._etcd_url = etcd_url
        self._keys = keys
        self._clock = clock
        self._port = Port()
        self._process: Process | None = None
        #: Beside those that every one has.
        self.flags: tuple[str, ...] = ()
        self.server = Server(f"https://{LOOPBACK}:{self._port}", keys.authority.pem)

    def __enter__(self) -> ApiServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop(in_order=True)
        self._port.close()

    def start(self) -> None:
        """Start it and wait until it is ready to serve."""
        if self._process is not None and self._process.running:
            raise ControlPlaneError(f"{self._name} runs already")
        log = self._folder / "logs" / f"{self._name}.log"
        self._process = Process(self._name, self._command(), log)
        wait_ready(self._ready, self._process, START_S, self._clock)

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    def stop(self, *, in_order: bool) -> None:
        """End it. In order, it finishes what it has been asked; else whoever is connected sees the connection break."""
        if self._process is not None and in_order:
            self._process.stop(STOP_S)
        elif self._process is not None:
            self._process.kill()

    def _ready(self) -> bool:
        # Anybody may ask that; it says no until roles and namespaces are there as well.
        api = Api(self.server.url, self._keys.authority.pem, Login())
        try:
            return bool(api.get("/readyz") == "ok")
        except (ApiError, Unreachable):
            return False
        finally:
            api.close()

    def _command(self) -> list[str | Path]:
        keys = self._keys
        return [
            self._program,
            f"--etcd-servers={self._etcd_url}",
            f"--bind-address={LOOPBACK}",
            f"--secure-port={self._port}",
            "--permit-port-sharing=true",
            f"--tls-cert-file={keys.certificate}",
            f"--tls-private-key-file={keys.key}",
            f"--client-ca-file={keys.authority_file}",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
            f"--service-account-key-file={keys.service_accounts}",
            f"--service-account-signing-key-file={keys.service_accounts}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--endpoint-reconciler-type=none",
            "--allow-privileged=true",
            "--profiling=false",
            *self.flags,
        ]
