"""Host ports in use, by protocol and number.

Kept by the cluster as pods come and go; read by NodePorts through the view.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from bayplan.cluster.podinfo import HostPort


class PortTable:
    """(protocol, port) to the rows where it is held, and by which addresses."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, int], dict[int, Counter[str]]] = defaultdict(dict)

    def place(self, ports: Iterable[HostPort], row: int, sign: int) -> None:
        """A pod with these ports comes to (+1) or leaves (-1) a row."""
        for ip, protocol, port in ports:
            rows = self._held[protocol, port]
            ips = rows.setdefault(row, Counter())
            ips[ip] += sign
            if not ips[ip]:
                del ips[ip]
                if not ips:
                    del rows[row]
                    if not rows:
                        del self._held[protocol, port]

    def holders(self, protocol: str, port: int) -> Mapping[int, Mapping[str, int]]:
        """Row to the addresses that hold this port there."""
        return self._held.get((protocol, port), {})

    def snapshot(self) -> dict[tuple[str, int], dict[int, dict[str, int]]]:
        """Everything held, for a recount to compare with."""
        return {
            key: {row: dict(ips) for row, ips in rows.items()} for key, rows in self._held.items()
        }
