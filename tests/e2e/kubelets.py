"""What kubelets would tell the API server: a bound pod runs, one that is being deleted is gone.

One thread stands in for all of them. Nothing runs, of course.
"""

from __future__ import annotations

import threading
from types import TracebackType

from bayplan.errors import ApiError, TimedOut, Unreachable
from bayplan.testing.control_plane import Api, History, Obj

#: How often to look whether the test is over, when no pod changes.
LOOK_S = 0.5

_READY = [{"type": kind, "status": "True"} for kind in ("Initialized", "ContainersReady", "Ready")]


class Kubelets:
    """All nodes' kubelets, from entry to exit."""

    def __init__(self, api: Api, pods: History) -> None:
        self._api = api
        self._pods = pods
        self._done: set[tuple[str, str]] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kubelets", daemon=True)

    def __enter__(self) -> Kubelets:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                objects = self._pods.wait(
                    lambda pods: any(self._duty(pod) for pod in pods.values()), "duty", LOOK_S
                )
            except TimedOut:
                continue
            for pod in objects.values():
                duty = self._duty(pod)
                if duty and not self._ended.is_set():
                    self._do(duty, pod)

    def _duty(self, pod: Obj) -> str:
        metadata = pod["metadata"]
        if not pod["spec"].get("nodeName"):
            return ""
        duty = ""
        if metadata.get("deletionTimestamp"):
            duty = "" if metadata.get("finalizers") else "end"
        elif pod["status"].get("phase") == "Pending":
            duty = "run"
        return "" if (metadata["uid"], duty) in self._done else duty

    def _do(self, duty: str, pod: Obj) -> None:
        metadata = pod["metadata"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
        uid = {"uid": metadata["uid"]}
        try:
            if duty == "end":
                self._api.call("DELETE", path, {"gracePeriodSeconds": 0, "preconditions": uid})
            else:
                running = {"phase": "Running", "conditions": _READY}
                change = {"metadata": uid, "status": running}
                strategic = "application/strategic-merge-patch+json"
                self._api.call("PATCH", f"{path}/status", change, strategic)
        except Unreachable:
            self._ended.wait(LOOK_S)
            return  # again, when the server is back
        except ApiError as refused:
            if refused.status in {401, 403, 429} or refused.status >= 500:
                return
        self._done.add((metadata["uid"], duty))
