"""What the API server says of the measured pods: when each came, when it got its node, and whether that ever changed.

Watches from outside, as anybody could; started by ``trial`` before the scheduler is.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from bayplan.bench.watched import Obj, decode_event, decode_list
from bayplan.client.api import Api
from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.clock import Clock
from bayplan.errors import BayplanError

#: The API server closes a watch after half an hour at the earliest; a run is shorter.
_SILENCE_S: Final = 300.0


class WatchEnded(BayplanError):
    """The watch that a measurement rests on broke; the run does not count."""


@dataclass(slots=True)
class Seen:
    """One pod."""

    came: float
    bound: float = 0.0
    node: str = ""


@dataclass(slots=True)
class Recorder:
    """The pods of some namespaces, from the first list on."""

    clock: Clock
    pods: dict[tuple[str, str], Seen] = field(default_factory=dict)
    bound: int = 0
    #: Pods that had one node and then another, which must not be.
    moved: list[str] = field(default_factory=list)
    #: How often the watch had to be taken up again.
    resumed: int = 0
    #: Called when more pods are bound.
    on_progress: Callable[[int], None] = lambda bound: None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def watch(self, api: Api, namespace: str, tasks: asyncio.TaskGroup) -> asyncio.Task[None]:
        """List the pods of a namespace, and go on watching in a task, which the caller cancels."""
        path = f"/api/v1/namespaces/{namespace}/pods"
        listed = decode_list(await api.send(Request("GET", path), Lane.READ))
        for pod in listed.items:
            self._take(pod)
        return tasks.create_task(self._follow(api, path, listed.metadata.resource_version))

    async def wait(self, done: Callable[[], bool], timeout_s: float, patience_s: float) -> bool:
        """Wait until ``done`` says so; False if that takes too long, or nothing is bound for so long."""
        now = progress_at = self.clock.monotonic()
        end, bound = now + timeout_s, self.bound
        while not done():
            now = self.clock.monotonic()
            if self.bound != bound:
                bound, progress_at = self.bound, now
            if now >= min(end, progress_at + patience_s):
                return False
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                # At least once a second: what is waited for may be something else than a pod.
                async with asyncio.timeout(1.0):
                    await self._changed.wait()
        return True

    async def _follow(self, api: Api, path: str, version: str) -> None:
        """Watch; where the API server hangs up on a reader that was too slow for it, go on from there."""
        while True:
            stream = await api.stream(
                f"{path}?watch=1&resourceVersion={version}", silence_s=_SILENCE_S
            )
            try:
                while lines := await stream.batch():
                    version = self._take_events(lines)
            finally:
                stream.close()
            self.resumed += 1

    def _take_events(self, lines: list[bytes]) -> str:
        before, version = self.bound, ""
        for line in lines:
            event = decode_event(line)
            if event.type == "ERROR":
                raise WatchEnded(f"the API server refuses to go on: {line.decode()}")
            version = event.object.metadata.resource_version
            if event.type != "DELETED":
                self._take(event.object)
        if self.bound != before:
            self.on_progress(self.bound)
            self._changed.set()
        return version

    def _take(self, pod: Obj) -> None:
        key = (pod.metadata.namespace, pod.metadata.name)
        seen = self.pods.get(key)
        if seen is None:
            seen = self.pods[key] = Seen(self.clock.monotonic())
        node = pod.spec.node_name
        if node == seen.node:
            return
        if seen.node:
            self.moved.append("/".join(key))
        seen.node, seen.bound = node, self.clock.monotonic()
        self.bound += 1
