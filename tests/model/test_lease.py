"""Leases: read leniently, written as the API server wants them."""

from __future__ import annotations

import json

import msgspec

from bayplan.model.decode import decode, decode_as
from bayplan.model.lease import Lease, encode_lease

DOCUMENT = {
    "kind": "Lease",
    "metadata": {"name": "bayplan", "creationTimestamp": "2024-05-01T10:00:00Z"},
    "spec": {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "renewTime": "2024-05-01T10:00:00.000000Z",
        "acquireTime": "2024-05-01T12:00:00.123456+02:00",
    },
    "apiVersion": "coordination.k8s.io/v1",
}


def test_times_are_written_with_six_decimals() -> None:
    lease = decode(DOCUMENT)
    assert isinstance(lease, Lease)
    written = json.loads(encode_lease(lease))
    assert written["spec"]["renewTime"] == "2024-05-01T10:00:00.000000Z"
    assert written["spec"]["acquireTime"] == "2024-05-01T10:00:00.123456Z"
    assert written["metadata"]["creationTimestamp"] == "2024-05-01T10:00:00Z"
    assert (written["apiVersion"], written["kind"]) == ("coordination.k8s.io/v1", "Lease")
    assert decode_as(Lease, encode_lease(lease)) == lease


def test_a_lease_without_times() -> None:
    lease = Lease()
    assert json.loads(encode_lease(lease)) == {
        "kind": "Lease",
        "apiVersion": "coordination.k8s.io/v1",
    }


def test_seconds_without_decimals_are_read_too() -> None:
    lease = decode_as(Lease, {"spec": {"renewTime": "2024-05-01T10:00:00Z"}})
    assert lease.spec.renew_time is not None
    assert msgspec.json.encode(lease.spec.renew_time) == b'"2024-05-01T10:00:00Z"'
