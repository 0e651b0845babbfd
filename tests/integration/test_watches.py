"""Fault cases 15 to 19 and 21: watches end, fall silent, talk nonsense; the API server is away, or we are."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from bayplan.app.process import Process
from bayplan.testing import make_node
from tests.integration.rig import Rig, make_pod, on_rig


def test_case_15_the_history_is_gone(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"), make_node("goes"))
        rig.add(make_pod("ends").requests(cpu="4").node_selector({"kubernetes.io/hostname": "a"}))
        async with rig.scheduler():
            await rig.until_bound("ends")
            rig.api.faults.freeze_watches()
            rig.delete("pods", "ends")
            rig.delete("nodes", "goes")
            rig.api.faults.expire()
            rig.api.faults.cut_watches()
            rig.add(make_pod("next").requests(cpu="4"))
            await rig.until_bound("next")
            assert rig.node_of("next") == "a"

    on_rig(scenario, tmp_path)


def test_case_16_watches_fall_silent(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with rig.scheduler():
            rig.add(make_pod("before"))
            await rig.until_bound("before")
            rig.api.faults.freeze_watches()
            rig.add(make_pod("after"))
            await rig.until_bound("after", within_s=200)

    on_rig(scenario, tmp_path)


def test_case_17_nonsense_in_the_watch(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with rig.scheduler():
            rig.add(make_pod("before"))
            await rig.until_bound("before")
            for raw in (b"{]\n", b'{"type":"STRANGE","object":{}}\n', b'{"type":"ADDED","obj'):
                rig.api.faults.send(raw, "pods")
                rig.api.faults.end_watches("pods")
            rig.add(make_pod("after"))
            await rig.until_bound("after")

    on_rig(scenario, tmp_path)


def test_case_19_the_api_server_is_away_for_a_minute(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        names = [f"p{i}" for i in range(60)]
        rig.add(*(make_node(f"n{i}") for i in range(3)))
        async with rig.scheduler():
            rig.add(*(make_pod(name).requests(cpu="100m") for name in names[:30]))
            await rig.until(lambda: rig.node_of(names[0]))
            lists = rig.count("list", "")
            await rig.api.stop_listening()
            rig.add(*(make_pod(name).requests(cpu="100m") for name in names[30:]))
            away_since = rig.clock.monotonic()
            await rig.until(lambda: rig.clock.monotonic() > away_since + 60)
            await rig.api.listen()
            await rig.until_bound(*names)
            # The watches go on where they were.
            assert lists.met == 0

    on_rig(scenario, tmp_path)


def restarts(process: Process, resource: str) -> Counter[str]:
    """How often the watch of a kind was begun anew, by cause."""
    values = process.around.metrics._watch_restarts.values
    return Counter({cause: int(n) for (what, cause), n in values.items() if what == resource})


@pytest.mark.parametrize("kind", ["pods", "nodes"])
def test_case_15_the_list_after_it_is_too_old_as_well(tmp_path: Path, kind: str) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"), make_node("goes"))
        async with rig.scheduler() as process:
            await rig.until(lambda: process.synced)
            rig.api.faults.freeze_watches(kind)
            rig.delete("nodes", "goes")
            rig.add(make_pod("on-it").on("a").requests(cpu="3"))
            refused = rig.api.faults.refuse("list", kind, status=410, times=2)
            rig.api.faults.expire(kind)
            rig.api.faults.thaw_watches(kind)
            await rig.until(lambda: refused.met == 2)
            rig.add(make_pod("next").requests(cpu="1"))
            await rig.until_bound("next")
            assert rig.node_of("next") == "a"
            assert restarts(process, kind)["expired"] >= 2

    on_rig(scenario, tmp_path)


def test_case_16_watches_are_closed_every_five_seconds(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with rig.scheduler() as process:
            await rig.until(lambda: process.synced)
            lists = rig.count("list", "")
            for number in range(12):
                rig.add(make_pod(f"p{number}"))
                await rig.pass_s(5)
                rig.api.faults.end_watches()
            await rig.until_bound(*(f"p{number}" for number in range(12)))
            await rig.until(lambda: restarts(process, "pods") == {"closed": 12})
            assert lists.met == 0

    on_rig(scenario, tmp_path)


def test_case_17_objects_that_cannot_be_read_and_one_of_five_megabytes(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with rig.scheduler() as process:
            await rig.until(lambda: process.synced)
            meta = {"name": "odd", "namespace": "default", "uid": "u", "resourceVersion": "7"}
            odd = {"kind": "Pod", "metadata": meta, "spec": {"containers": "none"}}
            lost = {"kind": "Status", "code": 500, "reason": "InternalError", "message": "broken"}
            events = {"ADDED": odd, "STRANGE": {"x": "y" * 5_000_000}, "ERROR": lost}
            for kind, obj in events.items():
                raw = json.dumps({"type": kind, "object": obj})
                rig.api.faults.send(raw.encode() + b"\n", "pods")
                rig.add(make_pod(f"after-{kind.lower()}"))
                await rig.until_bound(f"after-{kind.lower()}")
            assert process.around.metrics._objects_skipped.values == {("pods",): 2}

    on_rig(scenario, tmp_path)


def test_case_18_nothing_but_bookmarks_for_ten_minutes(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with rig.scheduler() as process:
            await rig.until(lambda: process.synced)
            lists = rig.count("list", "")
            (pods,) = [one for one in process.informers if one.name == "pods"]
            before = int(pods._version)
            # Elsewhere much happens, and what has become of the version of the pods nobody keeps.
            for number in range(66):
                rig.add(make_node(f"n{number}"))
                await rig.pass_s(10)
            assert int(pods._version) > before
            assert lists.met == 0
            assert not restarts(process, "pods")["expired"]
            rig.add(make_pod("web"))
            await rig.until_bound("web")

    on_rig(scenario, tmp_path)


def test_case_21_the_event_loop_stood_still_for_two_seconds(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"), make_node("goes"))
        rig.add(make_pod("ends").requests(cpu="4").node_selector({"kubernetes.io/hostname": "a"}))
        async with rig.scheduler() as process:
            await rig.until_bound("ends")
            # Meanwhile the API server gives up on us and forgets what it had to tell.
            rig.api.faults.freeze_watches()
            rig.delete("pods", "ends")
            rig.delete("nodes", "goes")
            rig.api.faults.expire()
            rig.api.faults.cut_watches()
            rig.clock.advance(2.0)
            rig.add(make_pod("next").requests(cpu="4"))
            await rig.until_bound("next")
            assert rig.node_of("next") == "a"
            (cells,) = process.around.metrics._stalls.cells.values()
            assert sum(cells[:-1]) >= 1

    on_rig(scenario, tmp_path)
