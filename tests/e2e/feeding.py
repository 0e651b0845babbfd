"""Pods that are created by a thread of their own, as users would, while the test does something to the cluster."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from types import TracebackType

from bayplan.errors import ApiError, TimedOut, Unreachable
from bayplan.testing import PodBuilder
from bayplan.testing.control_plane import Api

#: Before the next try, while the API server is away.
RETRY_S = 0.1


class Feeder:
    """Creates these pods one after another, and each until the API server has it."""

    def __init__(self, api: Api, pods: Iterable[PodBuilder]) -> None:
        self._api = api
        self._pods = list(pods)
        self._changed = threading.Condition()
        self._tries_in_vain = 0
        self._abandoned = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feeder", daemon=True)

    @property
    def keys(self) -> list[str]:
        """``namespace/name`` of all of them."""
        metadata = [pod.manifest["metadata"] for pod in self._pods]
        return [f"{each['namespace']}/{each['name']}" for each in metadata]

    def __enter__(self) -> Feeder:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self._abandoned.set()
        self._thread.join()

    @property
    def tries_in_vain(self) -> int:
        """How often the API server was not there, or refused."""
        with self._changed:
            return self._tries_in_vain

    def wait_in_vain(self, tries: int, timeout_s: float = 60.0) -> None:
        """Wait until it has failed so often in all; a way to let time pass that is no sleep."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._tries_in_vain >= tries, timeout_s):
                raise TimedOut(f"no {tries} tries in vain within {timeout_s:g} s")

    def _run(self) -> None:
        for pod in self._pods:
            while not self._abandoned.is_set() and not self._created(pod):
                with self._changed:
                    self._tries_in_vain += 1
                    self._changed.notify_all()
                self._abandoned.wait(RETRY_S)

    def _created(self, pod: PodBuilder) -> bool:
        try:
            self._api.create(pod.manifest)
        except Unreachable:
            return False
        except ApiError as refused:
            # The first try may have been carried out though its answer was lost.
            return refused.reason == "AlreadyExists"
        return True
