"""An API server that holds leases and nothing else."""

from __future__ import annotations

from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.errors import BayplanError, NotFound
from bayplan.model import Lease
from bayplan.model.lease import LeaseSpec, encode_lease
from bayplan.model.meta import ObjectMeta


class Leases:
    """Leases by the last part of their path."""

    def __init__(self) -> None:
        self.held: dict[str, Lease] = {}
        #: What every request comes to; None: an answer.
        self.trouble: BayplanError | None = None
        self._version = 0

    def put(self, name: str, holder: str, lasts_s: int = 15) -> None:
        """Somebody writes a lease."""
        self._version += 1
        meta = ObjectMeta(name=name, namespace="kube-system", resource_version=str(self._version))
        self.held[name] = Lease(
            metadata=meta, spec=LeaseSpec(holder_identity=holder, lease_duration_seconds=lasts_s)
        )

    async def send(self, request: Request, lane: Lane, *, timeout_s: float | None = None) -> bytes:
        del lane, timeout_s
        if self.trouble is not None:
            raise self.trouble
        name = request.path.rpartition("/")[2]
        if name not in self.held:
            raise NotFound(404, "NotFound", f'leases "{name}" not found')
        return encode_lease(self.held[name])
