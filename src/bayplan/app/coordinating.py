"""From the file's ``standby`` and ``coordination`` to what ``runtime.coordination`` does. Called by ``process``."""

from __future__ import annotations

import asyncio
import random
import secrets
import socket
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from bayplan.app.options import election_settings
from bayplan.client.leases import ElectionSettings, Elector
from bayplan.errors import ConfigError, Problem
from bayplan.runtime.coordination.foreign_lease import ForeignLease
from bayplan.runtime.coordination.handing_back import wait_let_go
from bayplan.runtime.coordination.shift import ProfileShift
from bayplan.runtime.coordination.standing_in import SUFFIX, StandIn, StandIns
from bayplan.runtime.permissions import Right

if TYPE_CHECKING:
    from bayplan.app.assembly import Surroundings
    from bayplan.framework.config import Configuration
    from bayplan.framework.config.coordination import Standby
    from bayplan.runtime.scheduler import Scheduler


def new_identity() -> str:
    """Who we are; no two processes are the same."""
    return f"{socket.gethostname()}_{secrets.token_hex(16)}"


def check_standbys(config: Configuration) -> None:
    """Refuse what cannot work.

    Raises:
        ConfigError: a standby without its profile, or for a lease that is this process's own.
    """
    problems = []
    own = (config.leader_election.resource_namespace, config.leader_election.resource_name)
    for index, standby in enumerate(config.own.standby):
        path = f"standby[{index}]"
        if config.profile(standby.scheduler_name) is None:
            why = f'"{standby.scheduler_name}" is no profile of this file; it needs one to stand in'
            problems.append(Problem(f"{path}.schedulerName", why))
        if standby.reference == own and config.leader_election.leader_elect:
            why = f"{'/'.join(own)} is this process's own lease; name another one in leaderElection"
            problems.append(Problem(f"{path}.lease", why))
    if problems:
        raise ConfigError(problems, config.source)


def stand_ins(
    config: Configuration, scheduler: Scheduler, around: Surroundings, elector: Elector | None
) -> StandIns:
    """One for each standby.

    Raises:
        ConfigError: as ``check_standbys``.
    """
    check_standbys(config)
    identity = elector.identity if elector is not None else new_identity()
    rng = random.Random(around.seed)
    settings = election_settings(config.leader_election)
    board = scheduler.board
    shift = ProfileShift(scheduler.pods, board.waiting, around.clock, scheduler.loop.wake)

    def stand_in(standby: Standby) -> StandIn:
        namespace, name = standby.reference
        lease = ElectionSettings(
            f"{name}{SUFFIX}",
            namespace,
            settings.lease_duration_s,
            settings.renew_deadline_s,
            settings.retry_period_s,
        )
        return StandIn(
            standby.scheduler_name,
            foreign_lease(config, around, namespace, name),
            partial(Elector, around.api, lease, identity, around.clock, rng),
            shift,
            patience_s=standby.patience.total_seconds(),
            look_every_s=settings.retry_period_s,
        )

    made = StandIns([stand_in(standby) for standby in config.own.standby])
    around.metrics.standing_in.pull = lambda: {
        (member.profile,): float(member.serving) for member in made
    }
    return made


async def wait_free(config: Configuration, around: Surroundings, free: asyncio.Event) -> None:
    """Say so once nobody stands in for us any more who may have bindings under way."""
    election = config.leader_election
    if election.leader_elect and not around.dry_run:
        name = f"{election.resource_name}{SUFFIX}"
        lease = foreign_lease(config, around, election.resource_namespace, name)
        await wait_let_go(lease, election.retry_period.total_seconds())
    free.set()


def lease_rights(config: Configuration) -> Iterator[Right]:
    """What it takes to look at the leases of others, and to hold those of stand-ins."""
    election = config.leader_election
    if election.leader_elect:
        name = f"{election.resource_name}{SUFFIX}"
        yield _right("get", election.resource_namespace, name)
    for standby in config.own.standby:
        namespace, name = standby.reference
        yield _right("get", namespace, name)
        yield _right("get", namespace, f"{name}{SUFFIX}")
        yield _right("create", namespace)
        yield _right("update", namespace, f"{name}{SUFFIX}")


def _right(verb: str, namespace: str, name: str = "") -> Right:
    return Right(verb, "leases", "coordination.k8s.io", namespace=namespace, name=name)


def foreign_lease(
    config: Configuration, around: Surroundings, namespace: str, name: str
) -> ForeignLease:
    """A lease of somebody else's."""
    duration_s = config.leader_election.lease_duration.total_seconds()
    return ForeignLease(around.api, around.clock, namespace, name, duration_s)
