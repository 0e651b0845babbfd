"""Leases read and written, as requests. Pure; used by ``client.leases``, and by whoever asks who leads."""

from __future__ import annotations

from bayplan.client.request import JSON, Request
from bayplan.client.resources import LEASES
from bayplan.model.lease import Lease, encode_lease

# One try each: the elector has a rhythm of its own, and a second try would outlive its deadline.


def get_lease(namespace: str, name: str) -> Request:
    """Read a lease."""
    return Request("GET", LEASES.path(name, namespace))


def create_lease(lease: Lease) -> Request:
    """Create a lease; refused with AlreadyExists if somebody was faster."""
    path = LEASES.path(namespace=lease.namespace)
    return Request("POST", path, encode_lease(lease), JSON, guarded=True)


def update_lease(lease: Lease) -> Request:
    """Write a lease; refused with a Conflict unless it is still of the resourceVersion it carries."""
    path = LEASES.path(lease.name, lease.namespace)
    return Request("PUT", path, encode_lease(lease), JSON)
