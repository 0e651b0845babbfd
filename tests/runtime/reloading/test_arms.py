from __future__ import annotations

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.podinfo import PodInfo
from bayplan.framework.config.reloading import Arm
from bayplan.runtime.reloading.arms import Account, Share, routes
from bayplan.testing import make_pod


def infos(count: int, scheduler: str = "stable") -> list[PodInfo]:
    cluster = Cluster()
    return [
        cluster.info(make_pod(f"p{i}").uid(f"uid-{i}").scheduler(scheduler).build())
        for i in range(count)
    ]


def test_a_share_is_about_as_large_as_it_says_and_always_the_same() -> None:
    pods = infos(4000)
    for percent in (1.0, 10.0, 50.0):
        share = Share(Arm(profile="new", percent=percent))
        taken = [pod.uid for pod in pods if share.takes(pod)]
        assert abs(len(taken) / 40 - percent) < 2.0
        assert taken == [pod.uid for pod in pods if share.takes(pod)]
    small, large = Share(Arm(profile="n", percent=5.0)), Share(Arm(profile="n", percent=20.0))
    # A share that grows keeps those that it has.
    assert all(large.takes(pod) for pod in pods if small.takes(pod))


def test_none_and_all() -> None:
    pods = infos(100)
    assert not any(Share(Arm(profile="n", percent=0.0)).takes(pod) for pod in pods)
    assert all(Share(Arm(profile="n", percent=100.0)).takes(pod) for pod in pods)


def test_labels_have_to_match_all() -> None:
    share = Share(Arm(profile="n", match_labels={"a": "1", "b": "2"}))
    cluster = Cluster()
    pods = [
        cluster.info(make_pod("p").labels(labels).build())
        for labels in ({"a": "1", "b": "2", "c": "3"}, {"a": "1"}, {})
    ]
    assert [share.takes(pod) for pod in pods] == [True, False, False]


def test_members_of_a_gang_are_on_one_side() -> None:
    share = Share(Arm(profile="n", percent=50.0))
    cluster = Cluster()
    sides = {
        group: {
            share.takes(cluster.info(built.uid(f"{group}-{i}").build()))
            for i in range(20)
            for built in [make_pod(f"p{i}").label("scheduling.x-k8s.io/pod-group", f"g{group}")]
        }
        for group in range(20)
    }
    assert all(len(side) == 1 for side in sides.values())
    assert {True, False} == set().union(*sides.values())


def test_only_canaries_change_the_way() -> None:
    (pod,) = infos(1)
    for mode, goes_to in (("canary", "new"), ("shadow", "stable")):
        arm = Arm(profile="new", mode=mode, percent=100.0)  # type: ignore[arg-type]
        assert routes({"stable": arm})(pod) == goes_to
    assert routes({"another": Arm(profile="new", mode="canary", percent=100.0)})(pod) == "stable"


def test_an_account_without_attempts_knows_nothing() -> None:
    shown = Account("canary").to_json()
    assert shown["attempts"] == 0
    assert [shown[k] for k in ("p99Seconds", "utilisation", "pricePerPod")] == [None, None, None]
