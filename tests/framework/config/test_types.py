from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from bayplan.framework.config.types import (
    MISPLACED,
    ClientConnection,
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElection,
    Plugins,
    with_defaults,
)


def test_the_defaults_of_upstream() -> None:
    config = with_defaults(KubeSchedulerConfiguration())
    assert msgspec.structs.asdict(config) | {"profiles": (), "leader_election": None} == {
        "parallelism": 16,
        "leader_election": None,
        "client_connection": ClientConnection(
            content_type="application/vnd.kubernetes.protobuf", qps=50.0, burst=100
        ),
        "enable_profiling": True,
        "enable_contention_profiling": True,
        "percentage_of_nodes_to_score": 0,
        "pod_initial_backoff_seconds": 1,
        "pod_max_backoff_seconds": 10,
        "profiles": (),
        "extenders": (),
        "delay_cache_until_active": False,
    }
    assert config.leader_election == LeaderElection(
        leader_elect=True,
        lease_duration=timedelta(seconds=15),
        renew_deadline=timedelta(seconds=10),
        retry_period=timedelta(seconds=2),
        resource_lock="leases",
        resource_name="kube-scheduler",
        resource_namespace="kube-system",
    )
    assert [profile.scheduler_name for profile in config.profiles] == ["default-scheduler"]


def test_zero_means_the_default() -> None:
    config = with_defaults(
        KubeSchedulerConfiguration(
            leader_election=LeaderElection(
                leader_elect=False, lease_duration=timedelta(), resource_name=""
            ),
            client_connection=ClientConnection(qps=0.0, burst=0, content_type="", kubeconfig="x"),
            extenders=(Extender(), Extender(http_timeout=timedelta(seconds=1))),
        )
    )
    assert config.leader_election == LeaderElection(leader_elect=False)
    assert config.client_connection == ClientConnection(kubeconfig="x")
    assert [e.http_timeout for e in config.extenders] == [
        timedelta(seconds=5),
        timedelta(seconds=1),
    ]


@pytest.mark.parametrize(
    ("profiling", "contention", "result"),
    [
        pytest.param(True, None, True, id="as profiling"),
        pytest.param(False, None, False, id="off with profiling"),
        pytest.param(True, False, False, id="off by itself"),
        pytest.param(False, True, True, id="on by itself"),
    ],
)
def test_contention_profiling(profiling: bool, contention: bool | None, result: bool) -> None:
    config = KubeSchedulerConfiguration(
        enable_profiling=profiling, enable_contention_profiling=contention
    )
    assert with_defaults(config).enable_contention_profiling is result


def test_only_a_lone_profile_gets_a_name() -> None:
    two = KubeSchedulerConfiguration(profiles=(KubeSchedulerProfile(), KubeSchedulerProfile()))
    assert [profile.scheduler_name for profile in with_defaults(two).profiles] == [None, None]
    empty = KubeSchedulerConfiguration(profiles=(KubeSchedulerProfile(scheduler_name=""),))
    assert with_defaults(empty).profiles[0].scheduler_name == "", "validation will refuse it"


def test_fields_have_the_names_of_upstream() -> None:
    names = [field.encode_name for field in msgspec.structs.fields(Extender)]
    assert {"urlPrefix", "enableHTTPS", "tlsConfig", "httpTimeout", "nodeCacheCapable"} <= set(
        names
    )
    assert Plugins().at("preFilter") == Plugins().pre_filter
    assert MISPLACED["extenders"] == "at the top level of the file"
    assert MISPLACED["pluginConfig"] == "inside a profile, profiles[]"
    assert MISPLACED["score"] == "inside the plugins of a profile, profiles[].plugins"
