"""Who talks to the API server: users with a certificate, and service accounts with a token that can be rotated.

Made by ``plane``. What each may do is RBAC's business: administrators are in ``system:masters``, everybody else needs a role.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bayplan.testing.control_plane.api import Api, Login, Obj
from bayplan.testing.control_plane.certificates import Authority
from bayplan.testing.control_plane.files import write_atomically
from bayplan.testing.control_plane.kubeconfig import (
    Server,
    by_certificate_files,
    by_token_file,
    write_kubeconfig,
)

#: The group that RBAC refuses nothing.
ADMINISTRATORS = "system:masters"

#: The least that the API server grants.
TOKEN_LIFETIME_S = 600


@dataclass(frozen=True, slots=True)
class CertificateUser:
    """Logs in with a certificate that stands in files of its own, so that it can be renewed."""

    name: str
    groups: tuple[str, ...]
    folder: Path
    server: Server
    authority: Authority

    @property
    def certificate(self) -> Path:
        return self.folder / f"{self.name}.crt"

    @property
    def key(self) -> Path:
        return self.folder / f"{self.name}.key"

    @property
    def kubeconfig(self) -> Path:
        return self.folder / f"{self.name}.kubeconfig"

    def renew(self, lifetime_s: float = 86_400.0) -> None:
        """A fresh certificate and key in the same files; the old ones stay good until their time is over."""
        self.authority.client(self.name, self.groups, lifetime_s).write(self.certificate, self.key)

    def write(self, lifetime_s: float = 86_400.0) -> CertificateUser:
        """Make the certificate, the key and the kubeconfig."""
        self.renew(lifetime_s)
        user = by_certificate_files(self.certificate, self.key)
        write_kubeconfig(self.kubeconfig, self.server, self.name, user)
        return self

    def api(self) -> Api:
        """To talk as this user, with the certificate of this moment."""
        return Api(self.server.url, self.server.authority_pem, Login(self.certificate, self.key))


@dataclass(slots=True)
class ServiceAccount:
    """Logs in with a token in a file. Each token is bound to a secret, and dies with it."""

    name: str
    namespace: str
    folder: Path
    server: Server
    admin: Api
    _secrets: list[Obj]

    @classmethod
    def create(
        cls, name: str, namespace: str, folder: Path, server: Server, admin: Api
    ) -> ServiceAccount:
        """Create the account, unless it is there, its first token and its kubeconfig."""
        account = cls(name, namespace, folder, server, admin, [])
        account.rotate()
        write_kubeconfig(account.kubeconfig, server, name, by_token_file(account.token_file))
        return account

    @property
    def user(self) -> str:
        """What RBAC calls it."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    @property
    def token_file(self) -> Path:
        return self.folder / f"{self.name}.token"

    @property
    def kubeconfig(self) -> Path:
        return self.folder / f"{self.name}.kubeconfig"

    def rotate(self) -> None:
        """Write a fresh token to the file; those before stay good until ``revoke_old``."""
        secret = self.admin.create(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"generateName": f"{self.name}-", "namespace": self.namespace},
            }
        )
        self._secrets.append(secret)
        account = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{self.name}"
        reference = {
            "kind": "Secret",
            "apiVersion": "v1",
            "name": secret["metadata"]["name"],
            "uid": secret["metadata"]["uid"],
        }
        answer = self.admin.post(
            f"{account}/token",
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {"expirationSeconds": TOKEN_LIFETIME_S, "boundObjectRef": reference},
            },
        )
        write_atomically(self.token_file, answer["status"]["token"].encode(), mode=0o600)

    def revoke_old(self) -> None:
        """End all tokens but the newest; the API server may remember them for ten more seconds."""
        while len(self._secrets) > 1:
            self.admin.delete(self._secrets.pop(0))

    def api(self) -> Api:
        """To talk as this account, with the token of this moment."""
        token = self.token_file.read_text(encoding="utf-8")
        return Api(self.server.url, self.server.authority_pem, Login(token=token))
