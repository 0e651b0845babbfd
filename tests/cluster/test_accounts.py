from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.absence import Absence
from bayplan.cluster.audit import check
from bayplan.cluster.cluster import Cluster
from bayplan.cluster.podinfo import PodInfo
from bayplan.testing import make_node, make_pod


def team(pod: PodInfo) -> str | None:
    return pod.annotations.get("team") or pod.labels.get("team")


def test_pods_are_counted_from_when_they_are_assumed_until_they_are_gone() -> None:
    cluster = Cluster()
    cluster.put(make_node("n").build())
    account = cluster.view.account("teams", team)
    web = cluster.info(make_pod("web").label("team", "a").requests(cpu="500m", gpu="2").build())
    cluster.assume(web, "n")
    assert account.used("a") == {"cpu": 500, "pods": 1}
    cluster.put(make_pod("other").on("n").requests(cpu="1").build())
    assert account.total == {"cpu": 500, "pods": 1}
    cluster.forget(web)
    assert (dict(account.used("a")), dict(account.total), list(account.keys())) == ({}, {}, [])
    check(cluster)


def test_pods_that_were_there_before_are_counted() -> None:
    cluster = Cluster()
    cluster.put(make_pod("web").label("team", "a").on("n").requests(memory="1Gi").build())
    account = cluster.view.account("teams", team)
    assert account.used("a") == {"memory": 1 << 30, "pods": 1}
    assert cluster.view.account("teams", lambda _pod: "z") is account


def test_an_annotation_counts_until_the_pod_goes() -> None:
    cluster = Cluster()
    account = cluster.view.account("teams", team)
    cluster.put(make_pod("web").annotation("team", "b").label("team", "a").on("n").build())
    assert list(account.keys()) == ["b"]
    check(cluster)
    cluster.remove_pod("default", "web")
    assert list(account.keys()) == []
    check(cluster)


def test_a_pod_that_comes_back_from_a_what_if_is_counted_where_it_was() -> None:
    cluster = Cluster()
    account = cluster.view.account("teams", team)
    cluster.put(make_node("n").build())
    cluster.put(make_pod("web").annotation("team", "b").label("team", "a").on("n").build())
    cluster.put(make_pod("app").label("team", "a").on("n").build())
    absence = Absence(cluster)
    absence.leave(["default/web", "default/app"])
    assert list(account.keys()) == []
    absence.end()
    assert sorted(account.keys()) == ["a", "b"]
    check(cluster)


def test_amounts_beyond_int64_do_not_wrap() -> None:
    cluster = Cluster()
    account = cluster.view.account("teams", team)
    top = (1 << 63) - 1
    for name in "xyz":
        pod = make_pod(name).label("team", "a").on("n").requests(memory=str(top))
        cluster.put(pod.build())
    assert account.used("a")["memory"] == 3 * top
    check(cluster)


@given(st.lists(st.tuples(st.sampled_from("pqrs"), st.sampled_from("abc-"), st.integers(0, 3))))
def test_sums_are_those_of_a_recount(moves: list[tuple[str, str, int]]) -> None:
    cluster = Cluster()
    cluster.put(make_node("n").build())
    account = cluster.view.account("teams", team)
    for name, label, cpu in moves:
        key = f"default/{name}"
        if key in cluster.pods.row_of:
            cluster.remove_pod("default", name)
        else:
            pod = make_pod(name).requests(cpu=str(cpu))
            info = cluster.info((pod.label("team", label) if label != "-" else pod).build())
            cluster.assume(info, "n")
        check(cluster)
    assert sum(account.used(key).get("pods", 0) for key in account.keys()) == account.total.get(  # noqa: SIM118
        "pods", 0
    )
