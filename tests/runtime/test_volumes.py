"""Volumes and claims: patched for the version they were decided on, and waited for as long as it makes sense."""

from __future__ import annotations

import asyncio

from bayplan.runtime.volumes import LiveVolumes
from bayplan.testing.virtual_time import VirtualClock, run, settle
from tests.runtime.sent import Sent


def test_a_patch_goes_out_and_the_object_comes_back() -> None:
    async def main() -> None:
        sent = Sent()
        sent.answer = lambda _: {"metadata": {"name": "v", "resourceVersion": "9"}}
        volumes = LiveVolumes(sent, VirtualClock())
        volume = await volumes.patch_volume("v", {"metadata": {"resourceVersion": "8"}})
        claim = await volumes.patch_claim("ns", "c", {"metadata": {"annotations": {"x": "y"}}})
        assert volume.metadata.resource_version == claim.metadata.resource_version == "9"
        assert [(r.method, r.path) for r in sent.requests] == [
            ("PATCH", "/api/v1/persistentvolumes/v"),
            ("PATCH", "/api/v1/namespaces/ns/persistentvolumeclaims/c"),
        ]
        assert sent.bodies()[0] == {"metadata": {"resourceVersion": "8"}}

    run(main())


def test_a_change_is_looked_at_at_once_and_anything_else_within_a_second() -> None:
    clock = VirtualClock()

    async def main() -> None:
        volumes = LiveVolumes(Sent(), clock)
        looked: list[float] = []

        def ready() -> bool:
            looked.append(clock.monotonic())
            return len(looked) == 4

        waiting = asyncio.create_task(volumes.wait_until(ready, 60))
        await settle()
        volumes.changed()
        await settle()
        assert looked == [0, 0]
        assert await waiting
        assert looked == [0, 0, 1, 2]

    run(main(), clock)


def test_time_runs_out() -> None:
    clock = VirtualClock()

    async def main() -> None:
        volumes = LiveVolumes(Sent(), clock)
        assert not await volumes.wait_until(lambda: False, 7.5)
        assert clock.monotonic() == 7.5

    run(main(), clock)
