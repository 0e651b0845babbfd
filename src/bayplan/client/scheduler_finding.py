"""Which scheduler runs, and where: read from the leases of the cluster. Used by ``cli``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from bayplan.client.announcement import Announcement
from bayplan.client.lanes import Lane
from bayplan.client.leases import is_fresh
from bayplan.client.request import Request
from bayplan.client.resources import LEASES, PODS
from bayplan.client.retry import IDEMPOTENT
from bayplan.errors import ApiError, BayplanError, NotFound
from bayplan.model.decode import decode_as
from bayplan.model.lease import Lease

if TYPE_CHECKING:
    from bayplan.client.api import Sender

#: Where schedulers keep their leases unless told otherwise.
NAMESPACE = "kube-system"


class NoScheduler(BayplanError):
    """No scheduler can be found."""


@dataclass(frozen=True, slots=True)
class Found:
    """One scheduler that leads."""

    lease: str
    holder: str
    said: Announcement


class _Leases(msgspec.Struct):
    items: list[msgspec.Raw] = []


class _Spec(msgspec.Struct, rename="camel"):
    scheduler_name: str = "default-scheduler"
    node_name: str = ""


class _Pod(msgspec.Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)


async def find_schedulers(api: Sender, namespace: str, now: float) -> list[Found]:
    """Every bayplan that holds a lease and says where it is. Raises ``ApiError`` or ``Unreachable``."""
    request = Request("GET", LEASES.path(namespace=namespace), retry=IDEMPOTENT)
    listed = msgspec.json.decode(await api.send(request, Lane.READ), type=_Leases)
    found = []
    for raw in listed.items:
        lease = decode_as(Lease, bytes(raw))
        said = Announcement.of(lease.metadata.annotations)
        if said is not None and is_fresh(lease, now):
            found.append(Found(lease.key, lease.spec.holder_identity, said))
    return sorted(found, key=lambda one: one.lease)


def choose(found: Sequence[Found], scheduler_name: str, namespace: str) -> Found:
    """The one that serves this name, or the only one.

    Raises:
        NoScheduler: there is none, or several and nobody says which.
    """
    if not found:
        raise NoScheduler(
            f"no bayplan holds a lease in {namespace} and says where it is; one without leader election, or "
            "with its lease elsewhere, is named with --server https://HOST:10259 or --lease-namespace"
        )
    serving = [one for one in found if scheduler_name in one.said.profiles]
    if len(serving) == 1:
        return serving[0]
    if not scheduler_name and len(found) == 1:
        return found[0]
    those = "; ".join(f"{', '.join(one.said.profiles)} (lease {one.lease})" for one in found)
    if scheduler_name:
        raise NoScheduler(f"no bayplan serves {scheduler_name}; there are: {those}")
    raise NoScheduler(f"which one? Say --scheduler NAME; there are: {those}")


async def scheduler_of(api: Sender, namespace: str, name: str) -> str:
    """The scheduler that a pod asks for; empty where we may not see the pod.

    Raises:
        NotFound: there is no such pod.
    """
    try:
        answer = await api.send(
            Request("GET", PODS.path(name, namespace), retry=IDEMPOTENT), Lane.READ
        )
    except NotFound:
        raise
    except ApiError:
        return ""
    return msgspec.json.decode(answer, type=_Pod).spec.scheduler_name
