"""A whole run in which configuration and plugins change: taken over, refused, given up again, and tried beside the old ones."""

from __future__ import annotations

import signal
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from bayplan.app.process import Process
from bayplan.testing import make_node
from tests.integration.rig import Obj, Rig, make_pod, on_rig

PREFER = """\
from bayplan import ScorePlugin

class Prefer(ScorePlugin):
    def score_node(self, pod, node):
        return 100 if node.name == "{node}" else 0
"""
BROKEN = """\
from bayplan import FilterPlugin

class Prefer(FilterPlugin):
    def filter_node(self, pod, node):
        raise ValueError("never works")
"""
LATE = """\
from bayplan import FilterPlugin

class Prefer(FilterPlugin):
    def filter_node(self, pod, node):
        if pod.labels.get("odd"):
            raise ValueError("not with this one")
"""


def config(**own: Any) -> Obj:
    enabled = {"multiPoint": {"enabled": [{"name": "Prefer", "weight": 100}]}}
    profile = {"schedulerName": "default-scheduler", "plugins": enabled}
    return {"profiles": [profile], "own": {"pluginDirs": ["plugins"], **own}}


def write(folder: Path, text: str) -> None:
    """Exchange the plugin's file, as an editor does that is careful."""
    (folder / "plugins").mkdir(exist_ok=True)
    fresh = folder / "fresh"
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(folder / "plugins" / "prefer.py")


def change_config(folder: Path, change: Any) -> None:
    path = folder / "config.yaml"
    documents = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
    change(*documents)
    path.write_text(yaml.safe_dump_all(documents), encoding="utf-8")


def generation(rig: Rig, pod: str) -> str:
    return str(rig.pod(pod)["metadata"]["annotations"]["bayplan.io/generation"])


async def until_read(rig: Rig, process: Process, readings: int) -> Any:
    reports = process.reloader.reports
    await rig.until(lambda: len(process.reloader.reports) >= readings)
    assert reports is not None
    return process.reloader.reports[-1]


def two_nodes(rig: Rig) -> None:
    rig.add(make_node("a").capacity({"cpu": "64"}), make_node("b").capacity({"cpu": "64"}))


def test_a_plugin_that_changes_decides_from_the_next_pod_on(tmp_path: Path) -> None:
    write(tmp_path, PREFER.format(node="a"))

    async def scenario(rig: Rig) -> None:
        two_nodes(rig)
        rig.add(make_pod("one"))
        async with rig.scheduler(config=config()) as process:
            await rig.until_bound("one")
            write(tmp_path, PREFER.format(node="b"))
            report = await until_read(rig, process, 1)
            assert (report.outcome, report.generation) == ("applied", 2)
            rig.add(make_pod("two"))
            await rig.until_bound("two")
            assert [rig.node_of(name) for name in ("one", "two")] == ["a", "b"]
            assert [generation(rig, name) for name in ("one", "two")] == ["1", "2"]

    on_rig(scenario, tmp_path)


def test_a_syntax_error_leaves_the_old_one_working_and_is_said(tmp_path: Path) -> None:
    write(tmp_path, PREFER.format(node="a"))

    async def scenario(rig: Rig) -> None:
        two_nodes(rig)
        async with rig.scheduler(config=config()) as process:
            write(tmp_path, "class Prefer(:\n")
            report = await until_read(rig, process, 1)
            assert report.outcome == "refused"
            assert "prefer.py" in report.message
            assert "SyntaxError: invalid syntax" in report.message
            rig.add(make_pod("one"))
            await rig.until_bound("one")
            assert (rig.node_of("one"), generation(rig, "one")) == ("a", "1")
            # It is not read again and again, and once it is mended it is.
            await rig.pass_s(30)
            assert len(process.reloader.reports) == 1
            write(tmp_path, PREFER.format(node="b"))
            assert (await until_read(rig, process, 2)).outcome == "applied"
            notes = rig.api.store.list("events.events.k8s.io", "default")
            said = [note["reason"] for note in notes if note["regarding"]["kind"] == "Namespace"]
            assert said == ["ReloadRefused", "Reloaded"]

    on_rig(scenario, tmp_path)


def test_what_fails_in_the_trial_is_refused(tmp_path: Path) -> None:
    write(tmp_path, PREFER.format(node="a"))

    async def scenario(rig: Rig) -> None:
        two_nodes(rig)
        rig.add(make_pod("one"))
        async with rig.scheduler(config=config()) as process:
            await rig.until_bound("one")
            write(tmp_path, BROKEN)
            report = await until_read(rig, process, 1)
            assert report.outcome == "refused"
            assert report.message == (
                'in a trial: default/one: running Filter plugin "Prefer": on node a: ValueError: never works'
            )

    on_rig(scenario, tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            "from bayplan import FilterPlugin\n\nclass Prefer(FilterPlugin):\n"
            "    def wakes_on(self):\n        raise KeyError('x')\n",
            "profiles: default-scheduler: wakes_on of Prefer raised KeyError: 'x'",
            id="does not know what wakes its pods",
        ),
        pytest.param(
            "import sys\n\nsys.exit(1)\n",
            "SystemExit: 1",
            id="wants the process to end",
        ),
        pytest.param(
            "from bayplan import ScorePlugin\n\nclass Prefer(ScorePlugin):\n"
            "    def setup(self):\n        raise RuntimeError('no')\n",
            'initializing plugin "Prefer": RuntimeError: no',
            id="cannot be made",
        ),
        pytest.param("class Prefer:\n    pass\n", '"Prefer" does not exist', id="gone"),
    ],
)
def test_what_cannot_be_used_is_refused(text: str, said: str, tmp_path: Path) -> None:
    write(tmp_path, PREFER.format(node="a"))

    async def scenario(rig: Rig) -> None:
        two_nodes(rig)
        async with rig.scheduler(config=config()) as process:
            write(tmp_path, text)
            report = await until_read(rig, process, 1)
            assert report.outcome == "refused"
            assert said in report.message
            rig.add(make_pod("one"))
            await rig.until_bound("one")
            assert rig.node_of("one") == "a"

    on_rig(scenario, tmp_path)


def test_what_fails_only_later_is_given_up_again(tmp_path: Path) -> None:
    write(tmp_path, PREFER.format(node="a"))

    async def scenario(rig: Rig) -> None:
        two_nodes(rig)
        async with rig.scheduler(config=config()) as process:
            write(tmp_path, LATE)
            assert (await until_read(rig, process, 1)).outcome == "applied"
            odd = [f"odd-{i}" for i in range(3)]
            rig.add(*(make_pod(name).label("odd", "yes") for name in odd))
            report = await until_read(rig, process, 2)
            assert report.outcome == "rolled_back"
            assert "broken by a plugin, the last by Prefer" in report.message
            await rig.until_bound(*odd)
            assert {generation(rig, name) for name in odd} == {"1"}
            assert process.reloader.present.number == 1

    on_rig(scenario, tmp_path)


def test_what_needs_a_restart_is_refused_with_every_reason(tmp_path: Path) -> None:
    write(tmp_path, PREFER.format(node="a"))

    def change(kube: Obj, own: Obj) -> None:
        kube["podMaxBackoffSeconds"] = 99
        kube["profiles"][0]["schedulerName"] = "other"
        own["record"] = {"size": 5}

    async def scenario(rig: Rig) -> None:
        rig.add(make_pod("one"))
        async with rig.scheduler(config=config()) as process:
            change_config(tmp_path, change)
            report = await until_read(rig, process, 1)
            assert report.outcome == "refused"
            assert report.message == (
                "podMaxBackoffSeconds: a change needs a restart; record: a change needs a restart; "
                "profiles: default-scheduler is gone, and 1 pods wait for it"
            )

    on_rig(scenario, tmp_path)


def test_another_order_of_the_queue_is_refused(tmp_path: Path) -> None:
    write(tmp_path, PREFER.format(node="a"))
    order = "from bayplan import QueueSortPlugin\n\nclass Eldest(QueueSortPlugin):\n    def sort_key(self, pod, queued_at):\n        return {key}\n"

    def change(kube: Obj, own: Obj) -> None:
        sort = {"enabled": [{"name": "Eldest"}], "disabled": [{"name": "*"}]}
        kube["profiles"][0]["plugins"]["queueSort"] = sort

    async def scenario(rig: Rig) -> None:
        (tmp_path / "plugins" / "eldest.py").write_text(order.format(key="queued_at"))
        async with rig.scheduler(config=config()) as process:
            change_config(tmp_path, change)
            report = await until_read(rig, process, 1)
            assert report.message == (
                "queueSort: Eldest in place of PrioritySort: the queue is in that one's order"
            )

    on_rig(scenario, tmp_path)


def test_profiles_come_and_go(tmp_path: Path) -> None:
    write(tmp_path, PREFER.format(node="a"))

    def add(kube: Obj, own: Obj) -> None:
        kube["profiles"].append({"schedulerName": "second"})

    def remove(kube: Obj, own: Obj) -> None:
        del kube["profiles"][1]

    async def scenario(rig: Rig) -> None:
        two_nodes(rig)
        early = make_pod("early")
        early.manifest["spec"]["schedulerName"] = "second"
        rig.add(early)
        async with rig.scheduler(config=config()) as process:
            await rig.pass_s(2)
            assert rig.node_of("early") == ""
            change_config(tmp_path, add)
            assert (await until_read(rig, process, 1)).outcome == "applied"
            await rig.until_bound("early")
            late = make_pod("late")
            late.manifest["spec"]["schedulerName"] = "second"
            rig.add(late)
            await rig.until_bound("late")
            change_config(tmp_path, remove)
            assert (await until_read(rig, process, 2)).outcome == "applied"
            assert list(process.scheduler.counters) == ["default-scheduler"]

    on_rig(scenario, tmp_path)


def test_sighup_reads_everything_again(tmp_path: Path) -> None:
    write(tmp_path, PREFER.format(node="a"))

    async def scenario(rig: Rig) -> None:
        async with rig.scheduler(config=config(reload={"watch": False})) as process:
            write(tmp_path, PREFER.format(node="b"))
            await rig.pass_s(30)
            assert process.reloader.reports == []
            signal.raise_signal(signal.SIGHUP)
            assert (await until_read(rig, process, 1)).cause == "SIGHUP"

    on_rig(scenario, tmp_path)


HOLD = """\
from bayplan import PermitPlugin, ReservePlugin

MINE = "{mine}"

class Prefer(ReservePlugin, PermitPlugin):
    held = {{}}

    def reserve(self, pod, node, state):
        self.held[pod.uid] = MINE
        return None

    def permit(self, pod, node, state):
        return 20.0 if pod.labels.get("wait") else None

    def unreserve(self, pod, node, state):
        assert self.held.pop(pod.uid, MINE) == MINE
        self.handle.record_event(pod, reason="Unreserved", note=MINE)
"""


def test_a_pod_that_waits_is_undone_by_the_code_that_reserved_for_it(tmp_path: Path) -> None:
    write(tmp_path, HOLD.format(mine="old"))

    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"), make_pod("web").label("wait", "yes"))
        async with rig.scheduler(config=config()) as process:
            await rig.until(lambda: len(process.scheduler.board.waiting))
            write(tmp_path, HOLD.format(mine="new"))
            assert (await until_read(rig, process, 1)).outcome == "applied"
            assert len(process.scheduler.board.waiting) == 1
            await rig.until(lambda: rig.notes("Unreserved"))
            assert rig.notes("Unreserved") == ["old"]
            rig.change("pods", "web", lambda pod: pod["metadata"]["labels"].pop("wait"))
            await rig.until_bound("web")
            assert generation(rig, "web") == "2"

    on_rig(scenario, tmp_path)


def arms(mode: str, **arm: Any) -> Obj:
    enabled = {"multiPoint": {"enabled": [{"name": "Prefer", "weight": 100}]}}
    profile = {"schedulerName": "default-scheduler", "arm": {"profile": "new", "mode": mode, **arm}}
    return {
        "profiles": [
            {"schedulerName": "default-scheduler"},
            {"schedulerName": "new", "plugins": enabled},
        ],
        "own": {"pluginDirs": ["plugins"], "profiles": [profile]},
    }


def test_a_canary_decides_its_share(tmp_path: Path) -> None:
    write(tmp_path, PREFER.format(node="a"))

    async def scenario(rig: Rig) -> None:
        two_nodes(rig)
        names = [f"p{i}" for i in range(40)]
        async with rig.scheduler(
            config=arms("canary", percent=25, matchLabels={"try": "it"})
        ) as process:
            rig.add(*(make_pod(name).requests(cpu="1") for name in names))
            rig.add(make_pod("tried").label("try", "it").requests(cpu="1"))
            await rig.until_bound(*names, "tried")
            accounts = process.reloader.exchange.to_json()["accounts"]
            assert accounts["new"]["role"] == "canary"
            assert accounts["new"]["scheduled"] + accounts["default-scheduler"]["scheduled"] == 41
            assert 2 <= accounts["new"]["scheduled"] <= 20
            assert accounts["new"]["p99Seconds"] is not None
            assert 0 < accounts["new"]["utilisation"] <= 1
            assert rig.node_of("tried") == "a"

    on_rig(scenario, tmp_path)


def test_what_a_canary_turns_down_is_woken_by_its_own_plugins(tmp_path: Path) -> None:
    write(
        tmp_path,
        "from bayplan import Action, FilterPlugin, Rejected, Resource, WakeOn\n\n"
        "class Prefer(FilterPlugin):\n"
        "    def filter_node(self, pod, node):\n"
        "        return None if node.labels.get('new') else Rejected('not a new node')\n"
        "    def wakes_on(self):\n"
        "        return (WakeOn(Resource.NODE, Action.UPDATE_NODE_LABEL),)\n",
    )

    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"), make_pod("web"))
        async with rig.scheduler(config=arms("canary", percent=100)):
            await rig.until(lambda: "not a new node" in str(rig.condition("web").get("message")))
            rig.change("nodes", "a", lambda node: node["metadata"]["labels"].update(new="yes"))
            await rig.until_bound("web", within_s=15)

    on_rig(scenario, tmp_path)


def test_a_shadow_decides_too_and_nothing_comes_of_it(tmp_path: Path) -> None:
    write(tmp_path, PREFER.format(node="a"))

    async def scenario(rig: Rig) -> None:
        two_nodes(rig)
        names = [f"p{i}" for i in range(20)]
        async with rig.scheduler(config=arms("shadow", percent=100)) as process:
            rig.add(*(make_pod(name).requests(cpu="1") for name in names))
            await rig.until_bound(*names)
            assert {rig.node_of(name) for name in names} == {"a", "b"}
            on_b = sum(rig.node_of(name) == "b" for name in names)
            (arm,) = process.reloader.exchange.to_json()["arms"]
            assert arm["verdicts"] == {"other_node": on_b, "same": 20 - on_b}
            assert {(d["stable"], d["shadow"]) for d in arm["disagreements"]} == {("b", "a")}
            accounts = process.reloader.exchange.to_json()["accounts"]
            assert [accounts["new"][k] for k in ("role", "attempts", "scheduled")] == [
                "shadow",
                20,
                20,
            ]

    on_rig(scenario, tmp_path)


VERSION = """\
from bayplan import Action, FilterPlugin, PreEnqueuePlugin, Rejected, ReservePlugin, Resource, StateKey, WakeOn

RESERVED = StateKey[int]("reserved by")

class Prefer(PreEnqueuePlugin, FilterPlugin, ReservePlugin):
    def pre_enqueue(self, pod):
        return Rejected("not in this version") if pod.labels["kind"] == "k{version}" else None

    def filter_node(self, pod, node):
        return None if node.labels["slot"] != "s{version}" else Rejected("not in this version")

    def reserve(self, pod, node, state):
        state[RESERVED] = {version}

    def unreserve(self, pod, node, state):
        assert state.get(RESERVED) in (None, {version})

    def wakes_on(self):
        return (WakeOn(Resource.NODE, Action.ADD),)
"""


@pytest.mark.slow
def test_rules_change_in_the_midst_of_everything(tmp_path: Path) -> None:
    """Gates open and close, pods come and go, nodes fill and empty, files are broken; nothing is lost and all counts stay right."""
    write(tmp_path, VERSION.format(version=0))
    rng = Random(4)

    async def scenario(rig: Rig) -> None:
        for number in range(6):
            rig.add(make_node(f"n{number}").label("slot", f"s{number % 3}").capacity({"cpu": "4"}))
        alive: list[str] = []
        async with rig.scheduler(config=config(reload={"interval": "100ms"})) as process:
            for number in range(120):
                match rng.randrange(6):
                    case 0:
                        version = rng.randrange(3)
                        broken = rng.random() < 0.3
                        write(
                            tmp_path,
                            "class Prefer(:" if broken else VERSION.format(version=version),
                        )
                    case 1 if alive:
                        rig.delete("pods", alive.pop(rng.randrange(len(alive))))
                    case _:
                        name = f"p{number}"
                        pod = make_pod(name).label("kind", f"k{rng.randrange(3)}")
                        rig.add(pod.requests(cpu="500m"))
                        alive.append(name)
                await rig.pass_s(rng.choice((0.0, 0.05, 0.3)))
                assert process.scheduler.audit() == []
            while len(alive) > 20:
                rig.delete("pods", alive.pop())
            # A version that stands in nobody's way: whoever still waits has to get there.
            write(tmp_path, VERSION.format(version=9))
            await rig.until_bound(*alive, within_s=60)
            outcomes = {report.outcome for report in process.reloader.reports}
            assert outcomes == {"applied", "refused"}
            assert len(process.reloader.reports) > 10

    on_rig(scenario, tmp_path)
