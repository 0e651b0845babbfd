"""Keeps a handler up to date about one kind of object: a list, then a watch, for as long as it runs.

    list ─▶ on_put for what is new or changed, on_gone for what has vanished, on_listed
      ▲        │
      │        ▼
    410 ◀── watch: each line at once to on_put or on_gone ──▶ closed, silent or broken: on from the last resourceVersion

One per kind, run by ``bayplan.app``; fed by ``client.api``, read by ``runtime.ingest``. Handlers are called here, one object
after the other, and after a slice of time everybody else has a turn; the bytes that come meanwhile are taken off the
connection all the same (``client.stream``).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from bayplan.client.api import Api
from bayplan.client.backoff import Backoff
from bayplan.client.decoding import DELETED, Bookmark, Change, Decoder, Failure, Unreadable
from bayplan.client.delivery import Delivery, Handler, InformerObserver
from bayplan.client.existence import exists
from bayplan.client.known import Known
from bayplan.client.listing import pages
from bayplan.client.resources import Resource
from bayplan.client.status import error_of
from bayplan.client.stream import Stream
from bayplan.clock import Clock
from bayplan.errors import (
    ApiError,
    BayplanError,
    CredentialsError,
    DecodeError,
    Forbidden,
    Gone,
    NotFound,
    TimedOut,
    Unreachable,
)
from bayplan.model import KubeObject
from bayplan.telemetry.log import get_logger

T = TypeVar("T", bound=KubeObject)

__all__ = ["Handler", "Informer", "InformerObserver", "InformerSettings"]

_log = get_logger(__name__)

#: A watch that ends sooner has not worked.
_SHORT_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class InformerSettings:
    """The rhythm of an informer."""

    page_size: int = 500
    #: How long the API server lets a watch last, drawn anew each time, so that they do not all end at once.
    watch_s: tuple[float, float] = (300.0, 600.0)
    #: The API server sends a bookmark every minute, in a quiet kind not even that; then the watch is merely begun again.
    silence_s: float = 90.0
    #: Handlers' turn; then everybody else's.
    slice_s: float = 0.002
    #: How often a kind that the API server does not serve is asked for again.
    absent_s: float = 60.0


class Informer(Generic[T]):
    """List and watch of one kind."""

    def __init__(  # noqa: PLR0913 - parts, by name
        self,
        api: Api,
        resource: Resource[T],
        handler: Handler[T],
        *,
        field_selector: str = "",
        clock: Clock,
        rng: random.Random,
        observer: InformerObserver | None = None,
        optional: bool = False,
        settings: InformerSettings | None = None,
    ) -> None:
        """Do nothing yet; ``run`` begins.

        Args:
            api: where.
            resource: what.
            handler: for whom.
            field_selector: which of them; one that leaves the selection arrives as deleted.
            clock: for slices and waits.
            rng: so that clients which failed together do not come back together.
            observer: counts.
            optional: a kind that the API server does not serve counts as one without objects.
            settings: the rhythm.
        """
        self._api = api
        self._resource = resource
        self._selector = field_selector
        self._clock = clock
        self._rng = rng
        self._observer = observer
        self._delivery = Delivery(resource.name, handler, observer)
        self._optional = optional
        self._settings = settings or InformerSettings()
        self._decoder = Decoder(resource.kind)
        self._backoff = Backoff(rng)
        #: Where to go on watching; empty: with a list.
        self._version = ""
        self._slice_ends = 0.0
        self._hurry = asyncio.Event()
        #: Called when the API server answers again after it did not; set by whoever runs several informers.
        self.on_back: Callable[[], None] = lambda: None
        #: Told whether the API server serves an optional kind, each time that is found out.
        self.on_served: Callable[[bool], None] = lambda _served: None
        #: Whether the handler has heard of everything that existed at some moment.
        self.synced = False
        #: What keeps it from working, None while it works.
        self.last_error: BayplanError | None = None

    @property
    def name(self) -> str:
        """``pods``, ``storageclasses.storage.k8s.io``."""
        return self._resource.name

    def __len__(self) -> int:
        """How many objects the handler knows."""
        return len(self._delivery)

    @property
    def _question(self) -> str:
        """What a watch is called in errors; the same however often it is asked for."""
        return f"WATCH {self._resource.path()}"

    def hurry(self) -> None:
        """Try again now, where it waits after an error: somebody else has just been answered."""
        self._hurry.set()

    async def run(self) -> None:
        """Keep the handler up to date until cancelled."""
        while True:
            try:
                if not self._version:
                    await self._list()
                    self._is_served(yes=True)
                    self._works()
                await self._watch()
            except Gone as error:
                if not self._version:
                    await self._pause(error, "expired")
                    continue
                # What becomes of a watch after a long pause: nothing is wrong with anybody. Yet until the list is here,
                # what the handler knows is of long ago, and nobody should decide by it.
                _log.info("The watch is too old to be gone on with", resource=self.name)
                self._version = ""
                self.last_error = error
                self._restarted("expired")
                await asyncio.sleep(self._backoff.next(self._clock.monotonic()))
            except NotFound as error:
                self._version = ""
                await self._absent(error)
            except Forbidden as error:
                if (
                    self._optional
                    and not self.synced
                    and not await exists(self._api, self._resource)
                ):
                    await self._absent(error)
                    continue
                self._is_served(yes=True)
                await self._pause(error, "error")
            except (ApiError, Unreachable, CredentialsError, DecodeError) as error:
                await self._pause(error, "error")

    # The list ---------------------------------------------------------------------------------------------------------

    async def _list(self) -> None:
        # Nothing can be missing from the first list; and of a million objects one list is enough.
        listed = Known() if len(self._delivery) else None
        version = ""
        async for page in pages(
            self._api,
            self._resource,
            self._decoder,
            field_selector=self._selector,
            size=self._settings.page_size,
        ):
            self._begin_slice()
            for item in page.items:
                if listed is not None:
                    meta = item.meta if isinstance(item, Unreadable) else item.metadata
                    listed.put(meta.namespace, meta.name, (meta.uid, meta.resource_version))
                self._delivery.put(item, listed=True)
                if self._slice_is_over():
                    await self._yield()
            # The first part's: where a list is not all of one moment, what changed meanwhile is told once more.
            version = version or page.resource_version
        await self._is_all(listed)
        self._version = version

    async def _is_all(self, listed: Known | None) -> None:
        """What is known and not listed is gone, and the handler knows all there is."""
        self._begin_slice()
        if listed is not None:
            for _ in self._delivery.drop_unless(listed):
                if self._slice_is_over():
                    await self._yield()
        self.synced = True
        self._delivery.listed()

    # The watch --------------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        settings = self._settings
        seconds = self._rng.uniform(*settings.watch_s)
        path = self._resource.collection(
            fieldSelector=self._selector,
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=self._version,
            timeoutSeconds=str(int(seconds)),
        )
        stream = await self._api.stream(path, silence_s=settings.silence_s)
        self._works()
        begun = self._clock.monotonic()
        try:
            heard = await self._follow(stream)
        except TimedOut:
            # Either nobody is there any more, or nothing happened: a new connection tells.
            self._restarted("silent")
        except Unreachable as error:
            if self._clock.monotonic() - begun < _SHORT_S:
                raise
            # It broke after it had worked. Whether there is more to it the next one tells, at once.
            _log.info("The watch broke", resource=self.name, err=str(error))
            self._restarted("error")
        else:
            if not heard and self._clock.monotonic() - begun < _SHORT_S:
                # Something on the way, or a server in trouble, closes at once: do not hammer it.
                raise Unreachable(f"{self._question}: it was closed as soon as it was open")
            self._restarted("closed")
        finally:
            stream.close()

    async def _follow(self, stream: Stream) -> bool:
        """Hand over line after line until the server ends the watch; whether there was any."""
        heard = False
        skipped = 0
        while lines := await stream.batch():
            heard = True
            self._begin_slice()
            for line in lines:
                self._take_line(line)
                if self._slice_is_over():
                    await self._yield()
            if stream.skipped > skipped:
                skipped = stream.skipped
                self._delivery.report("a line that is too long")
        return heard

    def _take_line(self, line: bytes) -> None:
        found = self._decoder.line(line)
        if isinstance(found, Change):
            item = found.object
            if found.type == DELETED:
                self._delivery.gone(item)
            else:
                self._delivery.put(item)
            meta = item.meta if isinstance(item, Unreadable) else item.metadata
            self._version = meta.resource_version or self._version
        elif isinstance(found, Bookmark):
            self._version = found.resource_version or self._version
        elif isinstance(found, Failure):
            raise error_of(0, found.status, request=self._question)
        else:
            self._delivery.report(found.why)

    # Time -------------------------------------------------------------------------------------------------------------

    def _begin_slice(self) -> None:
        self._slice_ends = self._clock.monotonic() + self._settings.slice_s

    def _slice_is_over(self) -> bool:
        return self._clock.monotonic() >= self._slice_ends

    async def _yield(self) -> None:
        await asyncio.sleep(0)
        self._begin_slice()

    # Trouble ----------------------------------------------------------------------------------------------------------

    def _works(self) -> None:
        if self.last_error is not None:
            _log.info("The API server answers again", resource=self.name)
            self.last_error = None
            self.on_back()

    async def _pause(self, error: BayplanError, cause: str) -> None:
        """Note what is wrong, and wait a little longer each time."""
        self._restarted(cause)
        if str(error) != str(self.last_error):
            _log.warning("Cannot list or watch", resource=self.name, err=str(error))
        self.last_error = error
        asked = error.retry_after_s if isinstance(error, ApiError) else 0.0
        wait = self._backoff.next(self._clock.monotonic())
        self._hurry.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(max(wait, min(asked, 30.0))):
                await self._hurry.wait()

    async def _absent(self, error: NotFound | Forbidden) -> None:
        """The API server does not serve this kind, or not any more."""
        if not self._optional:
            await self._pause(error, "error")
            return
        self._is_served(yes=False)
        if len(self._delivery) or not self.synced:
            await self._is_all(Known())
        self.last_error = None
        await asyncio.sleep(self._settings.absent_s * self._rng.uniform(1.0, 1.5))

    def _is_served(self, *, yes: bool) -> None:
        self.on_served(yes)

    def _restarted(self, cause: str) -> None:
        if self._observer is not None:
            self._observer.watch_restart(self.name, cause)
