"""Where this process can be reached by whoever reads its lease.

The address is the one that is listened on, or ``POD_IP``, or our own on the way to the API server: of several the one that
others in the cluster most likely see. Used by ``serving``.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from bayplan.client.config import SERVICE_ACCOUNT

#: Set aside for documentation: nobody is there, and the way leads through the default route.
_ELSEWHERE: Final = "192.0.2.1"
_ANYWHERE: Final = ("", "0.0.0.0", "::")


def reachable_address(bind_address: str, environment: Mapping[str, str] | None = None) -> str:
    """A host or an IP address."""
    environment = os.environ if environment is None else environment
    if bind_address not in _ANYWHERE:
        return bind_address
    if environment.get("POD_IP"):
        return environment["POD_IP"]
    towards = environment.get("KUBERNETES_SERVICE_HOST") or _ELSEWHERE
    with contextlib.suppress(OSError):
        kind, _, _, _, address = socket.getaddrinfo(towards, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(kind, socket.SOCK_DGRAM) as probe:
            # Chooses the route, and so our address on it; no packet is sent.
            probe.connect(address)
            return str(probe.getsockname()[0])
    return socket.gethostname()


def url_of(host: str, port: int) -> str:
    """``https://host:port``."""
    with contextlib.suppress(ValueError):
        if ip_address(host).version == 6:
            host = f"[{host}]"
    return f"https://{host}:{port}"


def own_pod(environment: Mapping[str, str] | None = None, folder: Path = SERVICE_ACCOUNT) -> str:
    """``namespace/name`` of the pod that we run in; empty where we run in none."""
    environment = os.environ if environment is None else environment
    if not environment.get("KUBERNETES_SERVICE_HOST"):
        return ""
    namespace = environment.get("POD_NAMESPACE", "")
    if not namespace:
        with contextlib.suppress(OSError, ValueError):
            namespace = (folder / "namespace").read_text(encoding="utf-8").strip()
    # A pod's host name is its own, unless somebody has given it another.
    name = environment.get("POD_NAME") or socket.gethostname()
    return f"{namespace}/{name}" if namespace else ""
