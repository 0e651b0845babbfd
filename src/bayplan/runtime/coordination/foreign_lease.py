"""Whether somebody else's lease is alive, judged as candidates for it judge.

The time of a lease is counted from when we saw it change, on our own clock; it lapses after its own duration. Asked by
``standing_in``, of the lease of a profile's own scheduler, and by ``handing_back``, of the lease of whoever stands in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayplan.client.lanes import Lane
from bayplan.client.lease_requests import get_lease
from bayplan.errors import ApiError, CredentialsError, DecodeError, NotFound, Unreachable
from bayplan.model import Lease, decode_as
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.client.api import Sender
    from bayplan.clock import Clock

_log: Final = get_logger(__name__)
_FAILURES: Final = (ApiError, Unreachable, CredentialsError, DecodeError, TimeoutError)


class ForeignLease:
    """One lease that is not ours."""

    def __init__(
        self, api: Sender, clock: Clock, namespace: str, name: str, absent_for_s: float
    ) -> None:
        """Know nothing yet; ``look`` finds out.

        Args:
            api: where the lease is.
            clock: our own.
            namespace: of the lease.
            name: of the lease.
            absent_for_s: a lease that was never there, or says no duration, lapses after this.
        """
        self._api = api
        self._clock = clock
        self._namespace = namespace
        self._name = name
        self._absent_for_s = absent_for_s
        self._version: str | None = None
        self._changed_at = 0.0
        self._lasts_s = absent_for_s
        #: Who holds it, by what was last seen; empty: nobody.
        self.holder = ""
        self.last_error = ""

    @property
    def lock(self) -> str:
        """``namespace/name``."""
        return f"{self._namespace}/{self._name}"

    async def look(self) -> None:
        """Read it. What cannot be read stays as it was, and counts as alive: nobody takes over blindly."""
        now = self._clock.monotonic()
        try:
            body = await self._api.send(get_lease(self._namespace, self._name), Lane.LEASE)
            lease = decode_as(Lease, body)
        except NotFound:
            self._see("absent", "", self._absent_for_s, now)
        except _FAILURES as error:
            if str(error) != self.last_error:
                _log.warning("Cannot read a lease", lock=self.lock, err=str(error))
            self.last_error = str(error)
            self._changed_at = now
            return
        else:
            spec = lease.spec
            lasts_s = float(spec.lease_duration_seconds or self._absent_for_s)
            self._see(lease.metadata.resource_version, spec.holder_identity, lasts_s, now)
        self.last_error = ""

    def _see(self, version: str, holder: str, lasts_s: float, now: float) -> None:
        if version != self._version:
            self._version, self._changed_at = version, now
        self.holder, self._lasts_s = holder, lasts_s

    def lapsed_for_s(self) -> float:
        """For how long it has been lapsed; negative while it is alive, or may be."""
        if self._version is None:
            return -self._absent_for_s
        return self._clock.monotonic() - self._changed_at - self._lasts_s

    @property
    def is_held(self) -> bool:
        """Whether somebody holds it who may be alive."""
        return bool(self.holder) and self.lapsed_for_s() < 0
