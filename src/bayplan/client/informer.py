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
from typing import Final, Generic, Protocol, TypeVar

from bayplan.client.api import Api
from bayplan.client.backoff import Backoff
from bayplan.client.decoding import DELETED, Bookmark, Change, Decoder, Failure, Unreadable
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
    Gone,
    NotFound,
    TimedOut,
    Unreachable,
)
from bayplan.model import KubeObject
from bayplan.telemetry.log import get_logger

T = TypeVar("T", bound=KubeObject)
T_contra = TypeVar("T_contra", bound=KubeObject, contravariant=True)

_log = get_logger(__name__)

#: As kube-scheduler watches pods: one that has finished leaves the selection, and so arrives as deleted.
UNFINISHED_PODS: Final = "status.phase!=Succeeded,status.phase!=Failed"


class Handler(Protocol[T_contra]):
    """Hears what there is. Calls are never nested and never overlap for one informer."""

    def on_put(self, obj: T_contra, /) -> None:
        """An object is new, or another version of one that is known; never the version that was there already."""

    def on_gone(self, namespace: str, name: str, uid: str, last: T_contra | None, /) -> None:
        """An object that is known does not exist any more, or has left the selection.

        Args:
            namespace: the object's.
            name: the object's.
            uid: of the one that is gone; the next ``on_put`` may be about another of the same name.
            last: its last version; None if it went unseen.
        """

    def on_listed(self) -> None:
        """A list has been handed over in full."""


class InformerObserver(Protocol):
    """Counts what goes wrong (``telemetry.metrics.Metrics``)."""

    def watch_restart(self, resource: str, cause: str) -> None:
        """A watch ended: ``closed``, ``expired``, ``silent`` or ``error``."""

    def object_skipped(self, resource: str) -> None:
        """An object could not be read, or its handler failed."""


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
            field_selector: which of them; ``UNFINISHED_PODS``.
            clock: for slices and waits.
            rng: so that clients which failed together do not come back together.
            observer: counts.
            optional: a kind that the API server does not serve counts as one without objects.
            settings: the rhythm.
        """
        self._api = api
        self._resource = resource
        self._handler = handler
        self._selector = field_selector
        self._clock = clock
        self._rng = rng
        self._observer = observer
        self._optional = optional
        self._settings = settings or InformerSettings()
        self._decoder = Decoder(resource.kind)
        self._backoff = Backoff(rng)
        self._known = Known()
        #: Where to go on watching; empty: with a list.
        self._version = ""
        #: Uids and versions of objects that could not be read, so that each is reported once.
        self._reported: set[tuple[str, str]] = set()
        self._slice_ends = 0.0
        self._hurry = asyncio.Event()
        #: Called when the API server answers again after it did not; set by whoever runs several informers.
        self.on_back: Callable[[], None] = lambda: None
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
        return len(self._known)

    def hurry(self) -> None:
        """Try again now, where it waits after an error: somebody else has just been answered."""
        self._hurry.set()

    async def run(self) -> None:
        """Keep the handler up to date until cancelled."""
        while True:
            try:
                if not self._version:
                    await self._list()
                    self._works()
                await self._watch()
            except Gone as error:
                if not self._version:
                    await self._pause(error, "expired")
                    continue
                # What becomes of a watch after a long pause: nothing is wrong with anybody.
                _log.info("The watch is too old to be gone on with", resource=self.name)
                self._version = ""
                self._restarted("expired")
                await asyncio.sleep(self._backoff.next(self._clock.monotonic()))
            except NotFound as error:
                self._version = ""
                await self._absent(error)
            except (ApiError, Unreachable, CredentialsError, DecodeError) as error:
                await self._pause(error, "error")

    # The list ---------------------------------------------------------------------------------------------------------

    async def _list(self) -> None:
        # Nothing can be missing from the first list; and of a million objects one list is enough.
        listed = Known() if len(self._known) else None
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
                self._take_listed(item, listed)
                if self._slice_is_over():
                    await self._yield()
            version = page.resource_version or version
        self._begin_slice()
        if listed is not None:
            await self._drop_unless(listed)
        self._listed()
        self._version = version

    async def _drop_unless(self, listed: Known) -> None:
        """Tell of the objects that are known and not listed."""
        for namespace, name in self._known.names():
            known = self._known.get(namespace, name)
            if known is not None and listed.get(namespace, name) is None:
                self._gone(namespace, name, known[0], None)
            if self._slice_is_over():
                await self._yield()

    def _take_listed(self, item: T | Unreadable, listed: Known | None) -> None:
        if listed is not None:
            meta = item.meta if isinstance(item, Unreadable) else item.metadata
            listed.put(meta.namespace, meta.name, (meta.uid, meta.resource_version))
        if isinstance(item, Unreadable):
            self._skip(item)
        else:
            self._put(item)

    def _listed(self) -> None:
        self.synced = True
        try:
            self._handler.on_listed()
        except Exception as error:  # noqa: BLE001 - a handler's fault must not end the watch
            self._failed("everything listed", error)

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
            heard = await self._follow(stream, path)
        except TimedOut:
            # Either nobody is there any more, or nothing happened: a new connection tells.
            self._restarted("silent")
            return
        finally:
            stream.close()
        if not heard and self._clock.monotonic() - begun < 1.0:
            # Something on the way, or a server in trouble, closes at once: do not hammer it.
            raise Unreachable(f"GET {path}: the watch was closed as soon as it was open")
        self._restarted("closed")

    async def _follow(self, stream: Stream, path: str) -> bool:
        """Hand over line after line until the server ends the watch; whether there was any."""
        heard = False
        skipped = 0
        while lines := await stream.batch():
            heard = True
            self._begin_slice()
            for line in lines:
                self._take_line(line, path)
                if self._slice_is_over():
                    await self._yield()
            if stream.skipped > skipped:
                skipped = stream.skipped
                self._report("a line that is too long", "left out")
        return heard

    def _take_line(self, line: bytes, path: str) -> None:
        found = self._decoder.line(line)
        if isinstance(found, Change):
            obj = found.object
            if isinstance(obj, Unreadable):
                self._take_unreadable(found.type, obj)
                return
            if found.type == DELETED:
                meta = obj.metadata
                self._gone(meta.namespace, meta.name, meta.uid, obj)
            else:
                self._put(obj)
            self._version = obj.metadata.resource_version or self._version
        elif isinstance(found, Bookmark):
            self._version = found.resource_version or self._version
        elif isinstance(found, Failure):
            raise error_of(0, found.status, request=f"GET {path}")
        else:
            self._report(found.why, "left out")

    def _take_unreadable(self, kind: str, item: Unreadable) -> None:
        meta = item.meta
        if kind == DELETED:
            self._gone(meta.namespace, meta.name, meta.uid, None)
        else:
            self._skip(item)
        self._version = meta.resource_version or self._version

    # Objects ----------------------------------------------------------------------------------------------------------

    def _put(self, obj: T) -> None:
        meta = obj.metadata
        known = self._known.get(meta.namespace, meta.name)
        if known is not None:
            if known[0] != meta.uid:
                self._gone(meta.namespace, meta.name, known[0], None)
            elif known[1] == meta.resource_version:
                return
        self._known.put(meta.namespace, meta.name, (meta.uid, meta.resource_version))
        try:
            self._handler.on_put(obj)
        except Exception as error:  # noqa: BLE001 - a handler's fault with one object must not cost the others
            self._failed(obj.key, error)

    def _gone(self, namespace: str, name: str, uid: str, last: T | None) -> None:
        known = self._known.drop(namespace, name)
        if known is None:
            return
        if known[0] != uid:
            uid, last = known[0], None
        try:
            self._handler.on_gone(namespace, name, uid, last)
        except Exception as error:  # noqa: BLE001 - as above
            self._failed(f"{namespace}/{name}", error)

    def _skip(self, item: Unreadable) -> None:
        meta = item.meta
        known = self._known.get(meta.namespace, meta.name)
        if known is not None and meta.uid and known[0] != meta.uid:
            self._gone(meta.namespace, meta.name, known[0], None)
        version = (meta.uid or meta.name, meta.resource_version)
        if version in self._reported:
            return
        if len(self._reported) >= 10_000:
            self._reported.clear()
        self._reported.add(version)
        self._report(str(item.error), "skipped; what was known of it before stays as it was")

    def _failed(self, what: str, error: Exception) -> None:
        if self._observer is not None:
            self._observer.object_skipped(self.name)
        _log.exception("A handler failed", err=error, resource=self.name, object=what)

    def _report(self, what: str, consequence: str) -> None:
        if self._observer is not None:
            self._observer.object_skipped(self.name)
        _log.warning(
            "Cannot read what the API server sent",
            resource=self.name,
            err=what,
            consequence=consequence,
        )

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

    async def _absent(self, error: NotFound) -> None:
        """The API server does not serve this kind, or not any more."""
        if not self._optional:
            await self._pause(error, "error")
            return
        if len(self._known) or not self.synced:
            self._begin_slice()
            await self._drop_unless(Known())
            self._listed()
        self.last_error = None
        await asyncio.sleep(self._settings.absent_s * self._rng.uniform(1.0, 1.5))

    def _restarted(self, cause: str) -> None:
        if self._observer is not None:
            self._observer.watch_restart(self.name, cause)
