"""How to reach the cluster: from kubeconfig files, or from what a pod is given.

``load`` is called once by ``bayplan.app`` and by every command that needs a live cluster. Nothing is contacted here, and no
secret is read before it is needed.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NoReturn

from bayplan.client import kubeconfig as files
from bayplan.client.access import Address, ClusterAccess, Credentials, Proxy
from bayplan.client.credentials import Fixed, TokenFile
from bayplan.client.exec_plugin import VERSIONS, Command, ExecPlugin
from bayplan.client.kubeconfig import Cluster, Exec, Kubeconfig, User
from bayplan.client.trust import Pem, Trust
from bayplan.errors import ConfigError, CredentialsError, Problem
from bayplan.telemetry.redaction import Secret

#: Where a pod finds what it needs to reach the API server.
SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_EXEC_EXTENSION: Final = "client.authentication.k8s.io/exec"


def load(
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str = "",
    *,
    master: str = "",
    environment: Mapping[str, str] | None = None,
) -> ClusterAccess:
    """How to reach the cluster.

    A kubeconfig that is given counts alone. Else the files of ``$KUBECONFIG``, else what the pod we run in is given, else
    ``~/.kube/config``.

    Args:
        kubeconfig: a file.
        context: which context of it; empty: the current one.
        master: the API server's URL, if not that of the kubeconfig.
        environment: the process's, unless another is given.

    Raises:
        ConfigError: a file is wrong, or there is none.
    """
    environment = os.environ if environment is None else environment
    if kubeconfig:
        access = from_kubeconfig(files.read([Path(kubeconfig)], all_needed=True), context)
    elif paths := [
        Path(each) for each in environment.get("KUBECONFIG", "").split(os.pathsep) if each
    ]:
        access = from_kubeconfig(files.read(paths, all_needed=False), context)
    elif environment.get("KUBERNETES_SERVICE_HOST") and not context:
        access = in_cluster(environment)
    else:
        home = Path(environment.get("HOME") or "~").expanduser() / ".kube" / "config"
        if not home.exists():
            if master:
                return ClusterAccess(
                    _address(master, "--master", ""), Fixed(), Trust(), source=master
                )
            _fail(
                "",
                f"there is no kubeconfig: give one with --kubeconfig or $KUBECONFIG, or put it at {home}",
            )
        access = from_kubeconfig(files.read([home], all_needed=True), context)
    if master:
        return replace(access, server=_address(master, "--master", ""))
    return access


def in_cluster(environment: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> ClusterAccess:
    """What a pod is given: the API server's address, a token that is renewed, and a certificate authority."""
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    port = environment.get("KUBERNETES_SERVICE_PORT", "443")
    token = folder / "token"
    if not token.exists():
        _fail(
            str(token),
            "there is no such file: the pod has no service account token "
            "(automountServiceAccountToken: false?); give a kubeconfig with --kubeconfig",
        )
    named = f"[{host}]" if ":" in host else host
    try:
        namespace = (folder / "namespace").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        namespace = ""
    return ClusterAccess(
        _address(f"https://{named}:{port}", "KUBERNETES_SERVICE_HOST", "environment"),
        TokenFile(token, entry="the service account token"),
        Trust(
            authority=Pem(folder / "ca.crt", entry="the service account's certificate authority")
        ),
        namespace=namespace or "default",
        source="the service account of this pod",
    )


def from_kubeconfig(config: Kubeconfig, context: str = "") -> ClusterAccess:
    """One context of a kubeconfig; raises ``ConfigError``."""
    name = context or config.current_context
    if not name:
        _fail(
            config.source,
            "there is no current-context; the contexts are " + files.names(config.contexts),
        )
    if name not in config.contexts:
        _fail(
            config.source,
            f'there is no context "{name}"; there are ' + files.names(config.contexts),
        )
    chosen, path = config.contexts[name]
    for kind, wanted, there in (
        ("cluster", chosen.cluster, config.clusters),
        ("user", chosen.user, config.users),
    ):
        if wanted not in there and (kind == "cluster" or wanted):
            _fail(
                str(path),
                f'context "{name}" names {kind} "{wanted}", which is not there; '
                f"there are {files.names(there)}",
            )
    cluster, cluster_path = config.clusters[chosen.cluster]
    user, user_path = config.users.get(chosen.user, (User(), path))
    clusters = _Entry(f'cluster "{chosen.cluster}"', cluster_path)
    users = _Entry(f'user "{chosen.user}"', user_path)
    if not cluster.server:
        clusters.fail("server", "is not given")
    address = _address(cluster.server, f"server of {clusters.name}", str(cluster_path))
    return ClusterAccess(
        address,
        _credentials(user, users, cluster, clusters),
        _trust(cluster, clusters, user, users) if address.secure else None,
        _proxy(cluster, clusters),
        chosen.namespace or "default",
        f'context "{name}" of {path}',
    )


class _Entry:
    """An entry of a kubeconfig, for messages and relative paths."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path

    def of(self, field: str) -> str:
        """``tokenFile of user "me" in /home/me/.kube/config``."""
        return f"{field} of {self.name} in {self.path}"

    def fail(self, field: str, message: str) -> NoReturn:
        _fail(str(self.path), f"{field} of {self.name} {message}")

    def pem(self, field: str, file: str, data: str) -> Pem | None:
        """A PEM document that is given as data, or else in a file."""
        if data:
            try:
                return Pem(
                    data=base64.b64decode(data, validate=True), entry=self.of(f"{field}-data")
                )
            except binascii.Error:
                self.fail(f"{field}-data", "is not in base64")
        if file:
            return Pem(self.path.parent / file, entry=self.of(field))
        return None


def _trust(cluster: Cluster, clusters: _Entry, user: User, users: _Entry) -> Trust:
    authority = clusters.pem(
        "certificate-authority", cluster.certificate_authority, cluster.certificate_authority_data
    )
    if cluster.insecure_skip_tls_verify and authority is not None:
        clusters.fail(
            "insecure-skip-tls-verify",
            "and certificate-authority exclude each other: believe anybody, or only this one?",
        )
    certificate = users.pem(
        "client-certificate", user.client_certificate, user.client_certificate_data
    )
    key = users.pem("client-key", user.client_key, user.client_key_data)
    if certificate is not None and key is None:
        users.fail("client-certificate", "needs a client-key")
    if key is not None and certificate is None:
        users.fail("client-key", "needs a client-certificate")
    return Trust(
        authority=authority,
        certificate=certificate,
        key=key,
        server_name=cluster.tls_server_name,
        insecure=cluster.insecure_skip_tls_verify,
    )


def _credentials(user: User, users: _Entry, cluster: Cluster, clusters: _Entry) -> Credentials:
    if user.impersonate:
        users.fail("as", "is not supported: a scheduler acts for itself")
    if user.token_file:
        return TokenFile(
            users.path.parent / user.token_file,
            entry=users.of("tokenFile"),
            fallback=_token(user.token, users) if user.token else None,
        )
    if user.token:
        return Fixed.token(_token(user.token, users))
    if user.username:
        return Fixed.basic(user.username, Secret(user.password))
    if user.client_certificate or user.client_certificate_data:
        return Fixed()
    if user.exec_ is not None:
        return ExecPlugin(_command(user.exec_, users, cluster, clusters))
    if user.auth_provider is not None:
        users.fail(
            "auth-provider", "is not supported, nor by kubectl any more: use an exec plugin instead"
        )
    return Fixed()


def _token(text: str, users: _Entry) -> Secret:
    text = text.strip()
    if not (text.isascii() and text.isprintable()):
        users.fail("token", "has characters that no token has")
    return Secret(text)


def _command(plugin: Exec, users: _Entry, cluster: Cluster, clusters: _Entry) -> Command:
    if not plugin.command:
        users.fail("exec.command", "is not given")
    if plugin.api_version not in VERSIONS:
        users.fail(
            "exec.apiVersion",
            f"is {plugin.api_version!r}; supported are {' and '.join(VERSIONS)}",
        )
    if plugin.interactive_mode == "Always":
        users.fail("exec.interactiveMode", "is Always, and there is nobody to ask here")
    program = plugin.command
    if os.sep in program:
        program = str(users.path.parent / program)
    return Command(
        program,
        plugin.args,
        {variable.name: variable.value for variable in plugin.env},
        plugin.api_version,
        _described(cluster, clusters) if plugin.provide_cluster_info else None,
        plugin.install_hint,
        users.of("exec"),
    )


def _described(cluster: Cluster, clusters: _Entry) -> dict[str, Any]:
    """The cluster as a credential plugin is told of it."""
    found: dict[str, Any] = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "proxy-url": cluster.proxy_url,
        "config": next(
            (each.extension for each in cluster.extensions if each.name == _EXEC_EXTENSION), None
        ),
    }
    authority = clusters.pem(
        "certificate-authority", cluster.certificate_authority, cluster.certificate_authority_data
    )
    if authority is not None:
        try:
            data = authority.read()
        except CredentialsError as error:
            raise ConfigError([Problem("", str(error))]) from error
        found["certificate-authority-data"] = base64.b64encode(data).decode()
    return {name: value for name, value in found.items() if value}


def _proxy(cluster: Cluster, clusters: _Entry) -> Proxy | None:
    if not cluster.proxy_url:
        return None
    try:
        return Proxy.of(cluster.proxy_url)
    except ValueError as error:
        clusters.fail("proxy-url", f"cannot be used: {error}")


def _address(url: str, entry: str, source: str) -> Address:
    try:
        return Address.of(url)
    except ValueError as error:
        _fail(source, f"{entry}: {error}")


def _fail(source: str, message: str) -> NoReturn:
    raise ConfigError([Problem("", message)], source)
