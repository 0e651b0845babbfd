"""Who else schedules: leases looked at before this process begins, and named in its events.

Used by ``app``; the election itself is ``client.leases``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayplan.client.lanes import Lane
from bayplan.client.lease_requests import get_lease
from bayplan.client.leases import is_fresh
from bayplan.client.resources import LEASES, EventNote, ObjectRef
from bayplan.errors import ApiError, BayplanError, NotFound
from bayplan.framework.config.types import DEFAULT_SCHEDULER_NAME
from bayplan.model.decode import decode_as
from bayplan.model.lease import Lease
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.client.api import Sender
    from bayplan.clock import Clock
    from bayplan.framework.config import Configuration
    from bayplan.telemetry.events import EventText

_log: Final = get_logger(__name__)

#: The lease of a stock kube-scheduler.
STOCK: Final = ("kube-system", "kube-scheduler")


class AlreadyServedError(BayplanError):
    """A kube-scheduler is at work for the same pods."""


async def check_default_scheduler(api: Sender, config: Configuration, clock: Clock) -> None:
    """Two schedulers under one name fight over every pod: refuse to be the second one.

    Raises:
        AlreadyServedError: a kube-scheduler holds its lease.
    """
    election = config.leader_election
    if config.profile(DEFAULT_SCHEDULER_NAME) is None:
        return
    if election.leader_elect and (election.resource_namespace, election.resource_name) == STOCK:
        return  # the same lease: only one of the two will schedule
    try:
        answer = await api.send(get_lease(*STOCK), Lane.READ)
    except NotFound:
        return
    except ApiError as error:
        _log.warning("Cannot look whether a kube-scheduler is at work", err=error)
        return
    lease = decode_as(Lease, answer)
    if is_fresh(lease, clock.now()):
        raise AlreadyServedError(
            f"a kube-scheduler ({lease.spec.holder_identity}) serves {DEFAULT_SCHEDULER_NAME}: it holds the lease "
            f"{'/'.join(STOCK)}. Give bayplan another name (--scheduler-name bayplan), stop kube-scheduler, or say "
            "--take-over to schedule beside it"
        )


def lease_reference(namespace: str, name: str, text: EventText) -> EventNote:
    """An event about a lease."""
    regarding = ObjectRef("Lease", namespace, name, api_version=LEASES.api_version)
    return EventNote(regarding, text.reason, text.action, text.note, text.type)
