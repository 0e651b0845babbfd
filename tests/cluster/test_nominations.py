from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.journal import Journal
from bayplan.cluster.nominations import KEEP, Nominations
from bayplan.testing import make_pod

PODS = {name: Cluster().info(make_pod(name).build()) for name in "abc"}
EVENTS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["n1", "n2", ""])), max_size=12)


@given(EVENTS)
def test_like_a_dict(events: list[tuple[str, str]]) -> None:
    """A promise, or with an empty name its end."""
    nominations, promised = Nominations(Journal()), dict[str, str]()
    for name, node in events:
        before, version = dict(promised), nominations.version
        if node:
            nominations.put(PODS[name], node)
            promised[name] = node
        else:
            nominations.remove(PODS[name].key)
            promised.pop(name, None)
        assert nominations.version > version or before == promised
        for where in ("n1", "n2", "n3"):
            there = sorted(pod.name for pod in nominations.on(where))
            assert there == sorted(name for name, at in promised.items() if at == where)
        assert {pod.name: at for pod, at in nominations.all()} == promised
        assert sorted(nominations.nodes()) == sorted(set(promised.values()))
        assert len(nominations) == len(promised)
        for other in "abc":
            assert nominations.node_of(PODS[other].key) == promised.get(other, "")


def test_who_reads_the_changes_late_is_told_so() -> None:
    nominations = Nominations(Journal())
    start = nominations.version
    nominations.put(PODS["a"], "n1")
    nominations.put(PODS["a"], "n2")
    assert nominations.since(start) == ["n1", "n1", "n2"]
    for _ in range(KEEP):
        nominations.put(PODS["a"], "n1")
    assert nominations.since(start) is None
    assert nominations.since(nominations.version) == []


def test_who_leaves_for_whom_is_known_as_long_as_the_promise_holds() -> None:
    cluster = Cluster()
    pod = cluster.info(make_pod("p").build())
    promises = cluster.nominations
    promises.claim(pod.key, ["default/v"])
    promises.put(pod, "n")
    assert cluster.view.claimed_by(pod) == {"default/v"}
    promises.put(pod, "m")
    assert cluster.view.claimed_by(pod) == {"default/v"}
    promises.remove(pod.key)
    assert cluster.view.claimed_by(pod) == frozenset()
