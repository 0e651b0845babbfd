from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.journal import Journal
from bayplan.cluster.nominations import Nominations
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
        for priority in (-5, 0, 1):
            high = {
                (node, pod.name)
                for node, pods in nominations.at_least(priority).items()
                for pod in pods
            }
            assert high == {
                (at, name) for name, at in promised.items() if PODS[name].priority >= priority
            }
        assert len(nominations) == len(promised)
        for other in "abc":
            assert nominations.node_of(PODS[other].key) == promised.get(other, "")
