"""Kubeconfigs for a control plane: who logs in, and with what.

Written by ``plane``; read by kubectl, by the stock components that run beside the API server and by whatever is under test.
Certificates are embedded, so a file may be copied anywhere; a token may stand in a file of its own, so that it can be rotated.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bayplan.testing.control_plane.certificates import KeyPair
from bayplan.testing.control_plane.files import write_atomically


@dataclass(frozen=True, slots=True)
class Server:
    """What every client has to know: where, and whom to trust."""

    url: str
    authority_pem: bytes


def by_certificate(pair: KeyPair) -> dict[str, Any]:
    """The user entry of somebody who logs in with a client certificate."""
    return {
        "client-certificate-data": _text(pair.certificate),
        "client-key-data": _text(pair.key),
    }


def by_certificate_files(certificate: Path, key: Path) -> dict[str, Any]:
    """The same with a certificate that stands in files and may be renewed."""
    return {"client-certificate": str(certificate), "client-key": str(key)}


def by_token(token: str) -> dict[str, Any]:
    """The user entry of somebody who logs in with this token."""
    return {"token": token}


def by_token_file(path: Path) -> dict[str, Any]:
    """The user entry of somebody whose token stands in a file and may change."""
    return {"tokenFile": str(path)}


def write_kubeconfig(
    path: Path, server: Server, name: str, user: dict[str, Any], namespace: str = "default"
) -> Path:
    """Write a kubeconfig with one cluster, one user and one context; readable by its owner alone."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "test",
                "cluster": {
                    "server": server.url,
                    "certificate-authority-data": _text(server.authority_pem),
                },
            }
        ],
        "users": [{"name": name, "user": user}],
        "contexts": [
            {
                "name": "test",
                "context": {"cluster": "test", "user": name, "namespace": namespace},
            }
        ],
        "current-context": "test",
    }
    write_atomically(path, yaml.safe_dump(document, sort_keys=False).encode(), mode=0o600)
    return path


def _text(pem: bytes) -> str:
    return b64encode(pem).decode()
