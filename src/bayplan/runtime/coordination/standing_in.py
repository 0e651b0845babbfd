"""Serving a profile while its own scheduler is gone, and giving it back when that one returns.

::

    away ──the owner's lease has lapsed──▶ candidate ──the stand-in's lease is ours──▶ serving
     ▲                                         │                                          │
     └────────────── the owner's lease is held again, or ours is lost ◀──────────────────┘
                     (what is under way comes to its end; the stand-in's lease goes last)

Two leases settle it: the owner's, which only the owner ever takes, and beside it one for whoever stands in, so that of
several standbys one serves. The owner, back again, takes its lease first and then waits for the other to be let go
(``handing_back``): at no time do both decide. What happens between a decision and a bound pod asks ``may_serve`` again.
Run by ``app`` while this process leads; ``runtime.ingest.turns`` keeps the pods of the profile until they are wanted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from bayplan.client.leases import Elector
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.runtime.coordination.foreign_lease import ForeignLease

_log: Final = get_logger(__name__)

#: How the lease of whoever stands in is called, beside the owner's.
SUFFIX: Final = "-standin"


class Shift(Protocol):
    """What changes when a profile is served or is not (``runtime.coordination.shift``)."""

    def take_up(self, profile: str) -> None:
        """Its pods are ours from now on."""
        ...

    async def lay_down(self, profile: str) -> None:
        """Bring what is under way to its end, and let its pods go."""
        ...


class StandIn:
    """One profile."""

    def __init__(
        self,
        profile: str,
        owner: ForeignLease,
        candidate: Callable[[], Elector],
        shift: Shift,
        *,
        patience_s: float,
        look_every_s: float,
    ) -> None:
        """Do nothing yet; ``run`` begins.

        Args:
            profile: whose pods.
            owner: the lease of its own scheduler.
            candidate: makes a candidate for the stand-in's lease.
            shift: takes pods in and lets them go.
            patience_s: how long the owner's lease has to be lapsed.
            look_every_s: how often the owner's lease is looked at.
        """
        self.profile = profile
        self._owner = owner
        self._candidate = candidate
        self._shift = shift
        self._patience_s = patience_s
        self._look_every_s = look_every_s
        self._elector: Elector | None = None
        #: Whether its pods are ours.
        self.serving = False

    def may_serve(self) -> bool:
        """Whether nobody else can serve the profile at this moment."""
        return self.serving and self._elector is not None and self._elector.may_write()

    async def run(self) -> None:
        """Watch, stand in, give back; until cancelled."""
        try:
            while True:
                await self._until(self._is_owner_gone)
                await self._stand_in()
        finally:
            self.serving = False

    async def release(self) -> None:
        """Let the lease go after ``run`` was cancelled and the last binding is through."""
        if self._elector is not None:
            await self._elector.release()

    def _is_owner_gone(self) -> bool:
        return self._owner.lapsed_for_s() >= self._patience_s

    async def _until(self, holds: Callable[[], bool]) -> None:
        while True:
            await self._owner.look()
            if holds():
                return
            await asyncio.sleep(self._look_every_s)

    async def _stand_in(self) -> None:
        elector = self._elector = self._candidate()
        leading = asyncio.create_task(elector.run(self._begin, self._lost))
        returned = asyncio.create_task(self._until(lambda: self._owner.is_held))
        try:
            await asyncio.wait((leading, returned), return_when=asyncio.FIRST_COMPLETED)
            await self._give_back()
        finally:
            for task in (leading, returned):
                task.cancel()
            answers = await asyncio.gather(leading, returned, return_exceptions=True)
            for error in answers:
                if isinstance(error, Exception):
                    _log.exception("Standing in broke off", error, profile=self.profile)
        await elector.release()

    def _begin(self) -> None:
        self.serving = True
        _log.warning(
            "Standing in for a scheduler that is gone",
            profile=self.profile,
            lease=self._owner.lock,
            holder=self._owner.holder,
        )
        self._shift.take_up(self.profile)

    def _lost(self) -> None:
        """Nothing more is bound from now on; ``_give_back`` does the rest."""

    async def _give_back(self) -> None:
        if not self.serving:
            return
        why = f"{self._owner.holder} holds it" if self._owner.is_held else "the lease was lost"
        _log.info("Giving a profile back", profile=self.profile, lease=self._owner.lock, why=why)
        await self._shift.lay_down(self.profile)
        self.serving = False


class StandIns:
    """All of a process."""

    def __init__(self, members: Sequence[StandIn] = ()) -> None:
        self._by_profile = {member.profile: member for member in members}
        self._tasks: list[asyncio.Task[None]] = []

    def __iter__(self) -> Iterator[StandIn]:
        return iter(self._by_profile.values())

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Watch the owners from now on."""
        self._tasks = [tasks.create_task(member.run()) for member in self]

    async def end(self, *, release: bool) -> None:
        """Watch no more; ``release``: the last binding is through, and others may stand in at once."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for member in self if release else ():
            await member.release()

    def may_serve(self, profile: str) -> bool:
        """Whether pods of a profile are ours to bind at this moment."""
        member = self._by_profile.get(profile)
        return member is None or member.may_serve()
