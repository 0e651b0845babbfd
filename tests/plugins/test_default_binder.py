"""DefaultBinder: hands the pod to the handle and its answer back."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.podinfo import PodInfo
from bayplan.framework.handle import Handle
from bayplan.framework.state import CycleState
from bayplan.framework.status import Rejected
from bayplan.plugins.default_binder import DefaultBinder
from bayplan.testing.builders import make_pod


class Recorder:
    """A handle that can do nothing but bind."""

    def __init__(self, answer: Rejected | None) -> None:
        self.answer = answer
        self.bound: list[tuple[str, str]] = []

    async def bind(self, pod: PodInfo, node: str) -> Rejected | None:
        self.bound.append((pod.key, node))
        return self.answer


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(None, id="the API server agrees"),
        pytest.param(Rejected("conflict"), id="the API server refuses"),
    ],
)
def test_bind(answer: Rejected | None) -> None:
    handle = Recorder(answer)
    plugin = DefaultBinder(handle=cast("Handle", handle))
    pod = Cluster().info(make_pod("web").build())
    assert asyncio.run(plugin.bind(pod, "a", CycleState())) is answer
    assert handle.bound == [("default/web", "a")]
