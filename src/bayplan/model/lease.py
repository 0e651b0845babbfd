"""Leases: who leads, and until when.

Fed by ``decode``; read and written by leader election.
"""

from typing import ClassVar

import msgspec

from bayplan.model.meta import Int32, KubeObject, Record, Time, format_micro_time, format_time


class LeaseSpec(Record, frozen=True):
    """Who holds the lease, since when, and for how long after each renewal."""

    holder_identity: str = ""
    lease_duration_seconds: Int32 = 0
    acquire_time: Time | None = None
    renew_time: Time | None = None
    lease_transitions: Int32 = 0
    #: For coordinated leader election only.
    strategy: str = ""
    preferred_holder: str = ""


class Lease(KubeObject, frozen=True):
    """A lock that has to be renewed."""

    api_versions: ClassVar[tuple[str, ...]] = ("coordination.k8s.io/v1",)

    spec: LeaseSpec = LeaseSpec()


def encode_lease(lease: Lease) -> bytes:
    """The lease as the API server reads it, whose times need a fixed number of decimals."""
    body = msgspec.to_builtins(lease, builtin_types=())
    body["apiVersion"] = lease.api_versions[0]
    meta, spec = lease.metadata, lease.spec
    for name, moment in (("acquireTime", spec.acquire_time), ("renewTime", spec.renew_time)):
        if moment is not None:
            body["spec"][name] = format_micro_time(moment)
    if meta.creation_timestamp is not None:
        body["metadata"]["creationTimestamp"] = format_time(meta.creation_timestamp)
    if meta.deletion_timestamp is not None:
        body["metadata"]["deletionTimestamp"] = format_time(meta.deletion_timestamp)
    return msgspec.json.encode(body)
