"""How long a pod's room counts as taken on every NUMA node: until a report tells of it, and not without end."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.podinfo import PodInfo
from bayplan.providers.unreported import Unreported
from bayplan.testing import make_cluster, make_pod


def guaranteed(name: str, cpu: str = "2", *, limited: bool = True) -> Any:
    pod = make_pod(name).uid(name).requests(cpu=cpu, memory="1Gi")
    if limited:
        resources = pod.manifest["spec"]["containers"][0]["resources"]
        resources["limits"] = {"cpu": cpu, "memory": "1Gi"}
    return pod


class Setting:
    """A node called n, and readings of what it reports."""

    def __init__(self, keep: int = 10) -> None:
        self.columns: dict[tuple[str, str], float] = {}
        self.unreported = Unreported(self._write, keep)
        self._cluster = make_cluster()

    def _write(self, node: str, metric: str, value: float) -> None:
        self.columns[node, metric] = value

    def info(self, pod: Any) -> PodInfo:
        return self._cluster.info(pod.build())

    def place(self, pod: Any, node: str = "n") -> None:
        self.unreported.on_count(self.info(pod), node, +1)

    def remove(self, pod: Any, node: str = "n") -> None:
        self.unreported.on_count(self.info(pod), node, -1)

    def read(self, *changed: str) -> float:
        """The next reading; how much CPU counts as taken after it."""
        for metric, by_node in self.unreported.read(changed).items():
            for node, value in by_node.items():
                self._write(node, metric, value)
        return self.cpu()

    def cpu(self) -> float:
        return self.columns.get(("n", "numa.unreported.cpu"), 0.0)


def test_what_is_there_at_the_start_is_in_the_first_report() -> None:
    setting = Setting()
    setting.place(guaranteed("old"))
    assert setting.read("n") == 0


def test_until_a_report_has_changed_and_another_was_read() -> None:
    setting = Setting()
    setting.read("n")
    setting.place(guaranteed("a"))
    assert setting.cpu() == 2000
    assert setting.columns["n", "numa.unreported.memory"] == 2**30
    assert setting.read() == 2000
    assert setting.read("n") == 0  # it was placed a whole reading ago


def test_a_report_that_may_be_older_than_the_pod_is_not_enough() -> None:
    setting = Setting()
    setting.read("n")
    setting.place(guaranteed("a"))
    assert setting.read("n") == 2000
    assert setting.read() == 0  # nothing came after it, so it told of everything


def test_not_without_end() -> None:
    setting = Setting(keep=3)
    setting.read("n")
    setting.place(guaranteed("a"))
    assert [setting.read() for _ in range(4)] == [2000, 2000, 2000, 0]


def test_reports_of_other_nodes_say_nothing() -> None:
    setting = Setting()
    setting.read("n", "m")
    setting.place(guaranteed("a"))
    setting.read("m")
    assert setting.read("m") == 2000


def test_pods_without_cpus_of_their_own_are_in_no_report() -> None:
    setting = Setting()
    setting.read("n")
    setting.place(guaranteed("a", limited=False))
    assert setting.cpu() == 0


def test_one_that_goes_again_gives_its_room_back() -> None:
    setting = Setting()
    setting.read("n")
    setting.place(guaranteed("a"))
    setting.place(guaranteed("b", "3"))
    setting.remove(guaranteed("a"))
    assert setting.cpu() == 3000


def test_what_a_what_if_brings_back_is_not_new() -> None:
    setting = Setting()
    setting.place(guaranteed("old"))
    setting.read("n")
    setting.remove(guaranteed("old"))
    setting.place(guaranteed("old"))
    assert setting.cpu() == 0


@given(st.lists(st.sampled_from(["+a", "-a", "+b", "-b", "read", "changed"]), max_size=30))
def test_never_less_than_nothing_and_in_the_end_nothing(story: list[str]) -> None:
    setting, there = Setting(keep=3), set[str]()
    setting.read("n")
    for step in story:
        if step == "read":
            setting.read()
        elif step == "changed":
            setting.read("n")
        elif step[0] == "+" and step[1] not in there:
            there.add(step[1])
            setting.place(guaranteed(step[1]))
        elif step[0] == "-" and step[1] in there:
            there.discard(step[1])
            setting.remove(guaranteed(step[1]))
        assert 0 <= setting.cpu() <= 2000 * len(there)
    assert [setting.read() for _ in range(4)][-1] == 0
