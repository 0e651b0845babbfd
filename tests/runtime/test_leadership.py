"""Two schedulers under one name: refused, unless it is the same lease or somebody insists."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from bayplan.errors import NotFound
from bayplan.framework.config import Configuration, load_config_objects
from bayplan.model.meta import format_micro_time
from bayplan.plugins import default_registry
from bayplan.runtime.leadership import AlreadyServedError, check_default_scheduler
from bayplan.testing.virtual_time import VirtualClock, run
from tests.runtime.sent import Sent


def config(name: str = "default-scheduler", **election: Any) -> Configuration:
    return load_config_objects(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"schedulerName": name}],
            "leaderElection": election,
        },
        default_registry(),
    )


OURS = {"resourceName": "bayplan-default-scheduler"}


def look(config: Configuration, *, renewed_ago_s: float = 3, holder: str = "other") -> None:
    clock = VirtualClock()
    renewed = format_micro_time(datetime.fromtimestamp(clock.now() - renewed_ago_s, UTC))
    sent = Sent()
    sent.answer = lambda _: {
        "metadata": {"name": "kube-scheduler", "namespace": "kube-system"},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed},
    }
    if not holder:
        sent.refuse = lambda _: NotFound(404, "NotFound", "")
    run(check_default_scheduler(sent, config, clock), clock)


def test_a_kube_scheduler_at_work_is_in_the_way() -> None:
    with pytest.raises(AlreadyServedError, match="--take-over") as refused:
        look(config(**OURS))
    assert "other" in str(refused.value)


@pytest.mark.parametrize(
    ("given", "renewed_ago_s", "holder"),
    [
        pytest.param(config("mine", **OURS), 3, "other", id="another name"),
        pytest.param(config(**OURS), 30, "other", id="it is long gone"),
        pytest.param(config(**OURS), 3, "", id="there never was one"),
        pytest.param(config(resourceName="kube-scheduler"), 3, "other", id="the same lease"),
    ],
)
def test_nobody_is_in_the_way(given: Configuration, renewed_ago_s: float, holder: str) -> None:
    look(given, renewed_ago_s=renewed_ago_s, holder=holder)


def test_the_same_lease_without_election_protects_nobody() -> None:
    given = config(resourceName="kube-scheduler", leaderElect=False)
    with pytest.raises(AlreadyServedError):
        look(given)
    assert not msgspec.structs.asdict(given.leader_election)["leader_elect"]
