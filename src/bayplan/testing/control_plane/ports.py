"""Ports on the loopback interface that stay ours while a server restarts.

A port that was merely seen to be free may be gone a moment later, the more so with tests side by side. A reserved one
is held by a bound socket that does not listen; the server binds beside it, since Kubernetes' servers and etcd
take a flag that sets SO_REUSEPORT. The kernel never hands out a port that is held so.
"""

from __future__ import annotations

import socket

LOOPBACK = "127.0.0.1"


class Port:
    """One reserved port; ``close`` gives it back."""

    def __init__(self) -> None:
        self._holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            self._holder.bind((LOOPBACK, 0))
        except OSError:
            self._holder.close()
            raise
        self.number: int = self._holder.getsockname()[1]

    def __str__(self) -> str:
        return str(self.number)

    def close(self) -> None:
        """Let somebody else have it."""
        self._holder.close()
