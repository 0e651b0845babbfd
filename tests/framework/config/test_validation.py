"""The words of upstream, each with its path and line (apis/config/validation/validation_test.go has the cases)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bayplan.errors import ConfigError

if TYPE_CHECKING:
    from tests.framework.config.conftest import Load


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(
            "parallelism: 0\n",
            "line 3: parallelism: Invalid value: 0: should be an integer value greater than zero",
            id="no parallelism",
        ),
        pytest.param(
            "clientConnection:\n  burst: -1\n",
            "line 4: clientConnection.burst: Invalid value: -1: must be non-negative",
            id="negative burst",
        ),
        pytest.param(
            "leaderElection:\n  leaseDuration: 10s\n",
            'line 4: leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`',
            id="a lease no longer than its renewal",
        ),
        pytest.param(
            "leaderElection:\n  retryPeriod: -2s\n",
            'line 4: leaderElection.retryPeriod: Invalid value: "-2s": must be greater than zero',
            id="a negative retry",
        ),
        pytest.param(
            "leaderElection: {resourceLock: configmaps}\n",
            'line 3: leaderElection.resourceLock: Invalid value: "configmaps": '
            'resourceLock value must be "leases"',
            id="an old lock",
        ),
        pytest.param(
            "percentageOfNodesToScore: 101\n",
            "line 3: percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
            id="more than all nodes",
        ),
        pytest.param(
            "profiles:\n- percentageOfNodesToScore: -1\n",
            "line 4: profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]",
            id="fewer than no node, in a profile",
        ),
        pytest.param(
            "podInitialBackoffSeconds: 0\n",
            "line 3: podInitialBackoffSeconds: Invalid value: 0: must be greater than 0",
            id="no backoff",
        ),
        pytest.param(
            "podInitialBackoffSeconds: 20\n",
            "line 1: podMaxBackoffSeconds: Invalid value: 10: "
            "must be greater than or equal to PodInitialBackoffSeconds",
            id="a first backoff above the last",
        ),
        pytest.param(
            "profiles:\n- schedulerName: ''\n",
            "line 4: profiles[0].schedulerName: Required value",
            id="an empty name",
        ),
        pytest.param(
            "profiles:\n- schedulerName: a\n- {}\n",
            "line 5: profiles[1].schedulerName: Required value",
            id="one of several without a name",
        ),
        pytest.param(
            "profiles:\n- schedulerName: a\n- schedulerName: a\n",
            'line 5: profiles[1].schedulerName: Duplicate value: "profiles[0].schedulerName"',
            id="the same name twice",
        ),
        pytest.param(
            "extenders:\n- urlPrefix: http://x\n  prioritizeVerb: p\n",
            "line 4: extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
            id="an extender that scores without a weight",
        ),
        pytest.param(
            "extenders:\n- bindVerb: a\n- bindVerb: b\n",
            'line 3: extenders: Invalid value: "found 2 extenders implementing bind": '
            "only one extender can implement bind",
            id="two extenders that bind",
        ),
        pytest.param(
            "extenders:\n- managedResources:\n  - name: a.com/b\n  - name: a.com/b\n",
            'line 6: extenders[0].managedResources[1].name: Invalid value: "a.com/b": '
            "duplicate extender managed resource name",
            id="a resource managed twice",
        ),
        pytest.param(
            "extenders:\n- managedResources:\n  - name: cpu\n",
            'line 5: extenders[0].managedResources[0].name: Invalid value: "cpu": '
            "is an invalid extended resource name",
            id="a resource that is Kubernetes' own",
        ),
    ],
)
def test_what_upstream_refuses(load: Load, text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(text)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        pytest.param("a b", "name part must consist of alphanumeric", id="a space"),
        pytest.param(
            "kubernetes.io/a", "is an invalid extended resource name", id="Kubernetes' own"
        ),
        pytest.param("requests.a.com/b", "is an invalid extended resource name", id="a quota's"),
        pytest.param("x" * 246 + ".com/b", "is an invalid extended resource name", id="too long"),
    ],
)
def test_names_of_managed_resources(load: Load, name: str, detail: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(f"extenders:\n- managedResources:\n  - name: {name}\n")
    assert f'Invalid value: "{name}": {detail}' in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("podInitialBackoffSeconds: 10\n", id="both backoffs alike"),
        pytest.param("percentageOfNodesToScore: 100\n", id="all nodes"),
        pytest.param(
            "leaderElection: {leaderElect: false, leaseDuration: 1s, resourceLock: x}\n",
            id="an election that does not take place",
        ),
        pytest.param("profiles: [{}]\n", id="a lone profile without a name"),
    ],
)
def test_what_upstream_accepts(load: Load, text: str) -> None:
    assert load(text).warnings == []
