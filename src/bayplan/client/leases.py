"""Leader election: one of several holds a lease, and the others wait for it to lapse.

As client-go's: the time of a foreign lease is counted from when we saw it change, on our own clock, so that clocks need not
agree. There is no fencing in Kubernetes: whoever is about to write asks ``may_write`` first, which is over as soon as the
lease was not renewed for ``renew_deadline_s``, even if the process was stopped in between and no line of this module has
run since. Run by ``bayplan.app``; asked by ``runtime.binding`` and by health checks, from any thread.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import msgspec

from bayplan.client.api import Sender
from bayplan.client.lanes import Lane
from bayplan.client.lease_requests import create_lease, get_lease, update_lease
from bayplan.client.request import Request
from bayplan.clock import Clock
from bayplan.errors import (
    ApiError,
    Conflict,
    CredentialsError,
    DecodeError,
    NotFound,
    Unreachable,
)
from bayplan.model import Lease, decode_as
from bayplan.model.lease import LeaseSpec
from bayplan.model.meta import ObjectMeta
from bayplan.telemetry.log import get_logger

_log = get_logger(__name__)

#: Waiting for a foreign lease, each wait is stretched by up to so many times its length.
_JITTER: Final = 1.2
_FAILURES: Final = (ApiError, Unreachable, CredentialsError, DecodeError, TimeoutError)


@dataclass(frozen=True, slots=True)
class ElectionSettings:
    """Which lease, and its rhythm; kube-scheduler's numbers."""

    name: str
    namespace: str = "kube-system"
    #: How long others wait after a renewal before they take over.
    lease_duration_s: float = 15.0
    #: After so long without a renewal the leader gives up of itself.
    renew_deadline_s: float = 10.0
    #: How often the leader renews, and the others look.
    retry_period_s: float = 2.0

    def problems(self) -> list[str]:
        """What is wrong with the numbers."""
        found = []
        if self.lease_duration_s <= self.renew_deadline_s:
            found.append("leaseDuration must be greater than renewDeadline")
        if self.renew_deadline_s <= _JITTER * self.retry_period_s:
            found.append(f"renewDeadline must be greater than {_JITTER} times retryPeriod")
        if self.retry_period_s <= 0:
            found.append("retryPeriod must be greater than zero")
        return found


class Elector:
    """One candidate for one lease."""

    def __init__(
        self,
        api: Sender,
        settings: ElectionSettings,
        identity: str,
        clock: Clock,
        rng: random.Random,
        *,
        on_new_leader: Callable[[str], None] | None = None,
    ) -> None:
        """Do nothing yet; ``run`` begins.

        Args:
            api: where the lease is.
            settings: which lease.
            identity: who we are; no two processes may have the same.
            clock: for renewals.
            rng: so that candidates do not move in step.
            on_new_leader: told the identity of whoever leads, once per change; empty: nobody.
        """
        self._api = api
        self._settings = settings
        self._identity = identity
        self._clock = clock
        self._rng = rng
        self._on_new_leader = on_new_leader
        #: The lease as we last saw or wrote it, and when that was, by our clock.
        self._observed: Lease | None = None
        self._observed_at = 0.0
        self._reported = ""
        self._is_leader = False
        #: When the renewal that last succeeded was begun.
        self._renewed_at = float("-inf")
        #: Annotations that the lease carries while it is ours; set by ``app``.
        self.announce: Callable[[], Mapping[str, str]] = dict
        #: What keeps it from reading or writing the lease.
        self.last_error: Exception | None = None

    @property
    def is_leader(self) -> bool:
        """Whether we lead, by all we know; ``may_write`` is the question to ask before writing."""
        return self._is_leader

    @property
    def leader(self) -> str:
        """Who leads, as far as we know."""
        return self._observed.spec.holder_identity if self._observed is not None else ""

    @property
    def identity(self) -> str:
        return self._identity

    def may_write(self) -> bool:
        """Whether nobody else can lead at this moment: the last renewal is more recent than the deadline."""
        return (
            self._is_leader
            and self._clock.monotonic() - self._renewed_at < self._settings.renew_deadline_s
        )

    def overdue_s(self) -> float:
        """How long the lease has lapsed although we believe we lead; 0 as long as all is well."""
        if not self._is_leader:
            return 0.0
        late = self._clock.monotonic() - self._renewed_at - self._settings.lease_duration_s
        return max(0.0, late)

    async def run(self, on_started: Callable[[], None], on_stopped: Callable[[], None]) -> None:
        """Wait until we lead, then renew until that fails; return when the lease is lost.

        When cancelled it stops renewing and leaves the lease as it is; ``release`` gives it up.

        Args:
            on_started: called when we lead.
            on_stopped: called when we do not any more; not if we never did.
        """
        await self._acquire()
        self._is_leader = True
        _log.info("Successfully acquired lease", lock=self._lock, identity=self._identity)
        try:
            on_started()
            await self._keep()
        finally:
            self._is_leader = False
            on_stopped()

    async def release(self) -> bool:
        """Give the lease up, so that another need not wait for it to lapse; whether that worked.

        To be called after ``run`` was cancelled, when the last write is done.
        """
        self._is_leader = False
        observed = self._observed
        if observed is None or observed.spec.holder_identity != self._identity:
            return False
        try:
            async with asyncio.timeout(self._settings.renew_deadline_s):
                while True:
                    try:
                        current = await self._read()
                        if current.spec.holder_identity != self._identity:
                            return False
                        await self._write(update_lease(self._released(current)))
                    except Conflict:
                        # A renewal that was under way when we stopped.
                        continue
                    else:
                        break
        except _FAILURES as error:
            _log.warning("Failed to release lease", lock=self._lock, err=str(error))
            return False
        _log.info("Released lease", lock=self._lock, identity=self._identity)
        return True

    # Waiting and renewing ---------------------------------------------------------------------------------------------

    async def _acquire(self) -> None:
        _log.info("Attempting to acquire leader lease", lock=self._lock)
        period = self._settings.retry_period_s
        while True:
            if await self._try():
                return
            await asyncio.sleep(period * (1.0 + _JITTER * self._rng.random()))

    async def _keep(self) -> None:
        settings = self._settings
        while True:
            await asyncio.sleep(settings.retry_period_s)
            if not await self._try() and not self._holds():
                _log.error("Lost the lease", lock=self._lock, holder=self.leader)
                return
            if not self.may_write():
                _log.error(
                    "Failed to renew lease in time", lock=self._lock, err=str(self.last_error)
                )
                return

    def _holds(self) -> bool:
        """Whether nobody else holds the lease, by what we last saw of it."""
        return self.leader == self._identity

    async def _try(self) -> bool:
        """Acquire the lease, or renew it; whether it is ours now."""
        begun = self._clock.monotonic()
        # Two tries fit into the deadline, as upstream's client has it; and a leader does not wait beyond the deadline.
        limit = self._settings.renew_deadline_s / 2
        left = self._renewed_at + self._settings.renew_deadline_s - begun
        try:
            async with asyncio.timeout(min(limit, left) if left > 0 else limit):
                held = await self._acquire_or_renew()
        except _FAILURES as error:
            text = str(error) or "no answer in time"
            if self.last_error is None or str(self.last_error) != text:
                _log.warning("Cannot read or write the lease", lock=self._lock, err=text)
            self.last_error = error if str(error) else TimeoutError(text)
            held = False
        else:
            self.last_error = None
        if held:
            self._renewed_at = begun
        if self.leader != self._reported:
            self._reported = self.leader
            if self._on_new_leader is not None:
                self._on_new_leader(self._reported)
        return held

    async def _acquire_or_renew(self) -> bool:
        observed = self._observed
        if observed is not None and self._is_ours(observed) and self._is_valid():
            # Mostly nobody has touched it since, and one request is enough.
            try:
                self._see(await self._write(update_lease(self._mine(observed))))
            except (ApiError, DecodeError):
                pass
            else:
                return True
        try:
            current = await self._read()
        except NotFound:
            self._see(await self._write(create_lease(self._mine(None))))
            return True
        if (
            observed is None
            or current.metadata.resource_version != observed.metadata.resource_version
        ):
            self._see(current)
        if current.spec.holder_identity and self._is_valid() and not self._is_ours(current):
            if debug := _log.v(4):
                debug.info("Lease is held and has not lapsed", holder=current.spec.holder_identity)
            return False
        self._see(await self._write(update_lease(self._mine(current))))
        return True

    def _is_ours(self, lease: Lease) -> bool:
        return lease.spec.holder_identity == self._identity

    def _is_valid(self) -> bool:
        """Whether the observed lease has not lapsed yet."""
        return self._clock.monotonic() < self._observed_at + self._settings.lease_duration_s

    def _see(self, lease: Lease) -> None:
        self._observed = lease
        self._observed_at = self._clock.monotonic()

    # Reading and writing ----------------------------------------------------------------------------------------------

    @property
    def _lock(self) -> str:
        return f"{self._settings.namespace}/{self._settings.name}"

    async def _read(self) -> Lease:
        body = await self._api.send(
            get_lease(self._settings.namespace, self._settings.name), Lane.LEASE
        )
        return decode_as(Lease, body)

    async def _write(self, request: Request) -> Lease:
        return decode_as(Lease, await self._api.send(request, Lane.LEASE))

    def _mine(self, before: Lease | None) -> Lease:
        """The lease as it is to be: ours, renewed now."""
        now = datetime.fromtimestamp(self._clock.now(), UTC)
        acquired, transitions = now, 0
        if before is not None:
            ours = self._is_ours(before)
            acquired = (before.spec.acquire_time or now) if ours else now
            transitions = before.spec.lease_transitions + (0 if ours else 1)
        spec = LeaseSpec(
            holder_identity=self._identity,
            # Whole seconds, and zero is refused.
            lease_duration_seconds=max(1, int(self._settings.lease_duration_s)),
            acquire_time=acquired,
            renew_time=now,
            lease_transitions=transitions,
        )
        return Lease(metadata=self._meta(before), spec=spec)

    def _released(self, before: Lease) -> Lease:
        now = datetime.fromtimestamp(self._clock.now(), UTC)
        spec = LeaseSpec(
            lease_duration_seconds=1,
            acquire_time=now,
            renew_time=now,
            lease_transitions=before.spec.lease_transitions,
        )
        return Lease(metadata=before.metadata, spec=spec)

    def _meta(self, before: Lease | None) -> ObjectMeta:
        said = self.announce()
        if before is None:
            name, namespace = self._settings.name, self._settings.namespace
            return ObjectMeta(name=name, namespace=namespace, annotations=dict(said))
        annotations = {**before.metadata.annotations, **said}
        return msgspec.structs.replace(before.metadata, annotations=annotations)


def is_fresh(lease: Lease, now: float) -> bool:
    """Whether somebody holds a lease and has renewed it lately, by the clocks of both sides.

    For a look at a foreign lease that we do not follow. ``now`` is in seconds since 1970.
    """
    spec = lease.spec
    if not spec.holder_identity or spec.renew_time is None:
        return False
    return now < spec.renew_time.timestamp() + spec.lease_duration_seconds
