"""`bayplan run` on the real API server, once in every `make test`; the scenarios are in `make e2e`."""

from __future__ import annotations

from tests.e2e.stage import Stage, node, pod


def test_it_schedules_and_ends_in_order(stage: Stage) -> None:
    stage.add(node("n1"), node("n2"))
    scheduler = stage.start_scheduler(elect=True).wait_ready()
    stage.add(*(pod(f"p{number}").requests(cpu="500m") for number in range(16)))
    stage.add(pod("one-too-many").requests(cpu="500m"))
    stage.may_wait.add("default/one-too-many")

    homes = stage.wait_bound(*(f"default/p{number}" for number in range(16)))

    assert sorted(homes.values()) == ["n1"] * 8 + ["n2"] * 8
    assert "2 Insufficient cpu" in stage.wait_refused("default/one-too-many")
    assert stage.wait_event("default/p0", "Scheduled").startswith(
        "Successfully assigned default/p0"
    )
    assert stage.audit() == []
    assert scheduler.process.stop() == 0
