"""What is written into the status of groups, and what is not written again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from tests.runtime.sent import Sent

from bayplan.model.meta import Condition
from bayplan.model.pod_group import Group, GroupApi, GroupKey, GroupStatus
from bayplan.runtime.gangs.status import GroupStatuses
from bayplan.testing import make_node, make_pod
from bayplan.testing.scheduler import make_cluster
from bayplan.testing.virtual_time import VirtualClock, run

LABEL = "scheduling.x-k8s.io/pod-group"
PLUGIN = GroupKey("default", "train")
NATIVE = GroupKey("default", "train", native=True)


class Scene:
    def __init__(self, group: Group) -> None:
        self.clock = VirtualClock()
        self.sent = Sent()
        self.cluster = make_cluster(make_node("a").capacity(cpu="9", pods="9"))
        self.group = group
        self.cluster.gangs.put(group)
        self.statuses = GroupStatuses(self.sent, self.clock, self.cluster, lambda: True)

    def place(self, count: int) -> None:
        for number in range(count):
            pod = make_pod(f"w-{number}").uid(f"u{number}").on("a")
            if self.group.key.native:
                pod.manifest["spec"]["schedulingGroup"] = {"podGroupName": "train"}
            self.cluster.put(pod.label(LABEL, "train").build())

    def wish(self) -> None:
        self.statuses.wish(self.group, self.cluster.gangs.standing(self.group.key))

    @property
    def written(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(request.body)["status"] for request in self.sent.requests]


def with_writer(scene: Scene, scenario: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        writing = asyncio.create_task(scene.statuses.run())
        await scenario()
        await asyncio.sleep(1)
        writing.cancel()

    run(main(), scene.clock)


def test_phase_and_counts() -> None:
    scene = Scene(Group(PLUGIN, GroupApi.COSCHEDULING, 2, uid="g"))

    async def scenario() -> None:
        scene.wish()
        await asyncio.sleep(1)
        scene.place(2)
        scene.wish()
        scene.wish()
        await asyncio.sleep(1)
        scene.wish()

    with_writer(scene, scenario)
    assert [status["phase"] for status in scene.written] == ["Pending", "Running"]
    assert "scheduleStartTime" not in scene.written[0]
    assert scene.written[1]["scheduleStartTime"].endswith("Z")
    request = scene.sent.requests[0]
    assert request.path.endswith(
        "scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups/train/status"
    )
    assert msgspec.json.decode(request.body)["metadata"] == {"uid": "g"}


def test_what_the_status_says_already_is_not_written() -> None:
    scene = Scene(Group(PLUGIN, GroupApi.COSCHEDULING, 2, status=GroupStatus(phase="Pending")))

    async def scenario() -> None:
        scene.wish()

    with_writer(scene, scenario)
    assert scene.written == []


def test_the_condition_of_a_native_group() -> None:
    scene = Scene(Group(NATIVE, GroupApi.NATIVE, 2, uid="g"))

    async def scenario() -> None:
        scene.wish()
        scene.statuses.was_short(NATIVE, "gang train: 1 of 2 members fit")
        scene.wish()
        await asyncio.sleep(1)
        scene.statuses.was_short(NATIVE, "")
        scene.place(2)
        scene.wish()

    with_writer(scene, scenario)
    conditions = [status["conditions"][0] for status in scene.written]
    assert [(c["type"], c["status"], c["reason"], c["message"]) for c in conditions] == [
        ("PodGroupScheduled", "False", "Unschedulable", "gang train: 1 of 2 members fit"),
        ("PodGroupScheduled", "True", "Scheduled", ""),
    ]
    assert scene.sent.requests[0].content_type == "application/strategic-merge-patch+json"


def test_a_native_group_never_becomes_unscheduled_again() -> None:
    status = GroupStatus(conditions=(Condition("PodGroupScheduled", "True", "Scheduled"),))
    scene = Scene(Group(NATIVE, GroupApi.NATIVE, 2, status=status))

    async def scenario() -> None:
        scene.statuses.was_short(NATIVE, "gang train: 1 of 2 members fit")
        scene.wish()

    with_writer(scene, scenario)
    assert scene.written == []
