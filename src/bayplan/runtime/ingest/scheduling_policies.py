"""Scheduling policies, as the watches tell of them, and the pending pods that go by them.

Fed by the informers of ConfigMaps (one of them) and SchedulingPolicies; namespaces and PriorityClasses others take in.
A change makes the pods that it concerns anew and has them tried at once; what is wrong with a policy goes to
``runtime.reporting.policies``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from bayplan.framework import policy_text
from bayplan.model.meta import ObjectMeta
from bayplan.model.scheduling_policy import ConfigMap, SchedulingPolicy
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.cluster.cluster import Cluster
    from bayplan.runtime.handle import Services
    from bayplan.runtime.ingest.pods import Pods
    from bayplan.runtime.ingest.waking import Waker
    from bayplan.runtime.reporting.policies import PolicyReports

H = TypeVar("H", SchedulingPolicy, ConfigMap)

_log = get_logger(__name__)


class Followers:
    """The pods that go by policies: kept up to date whenever these change."""

    def __init__(self, cluster: Cluster, pods: Pods, services: Services, waker: Waker) -> None:
        self._policies = cluster.policies
        self._pods = pods
        self._services = services
        self._version = cluster.policies.version
        # Namespaces and classes are somebody else's to take in.
        waker.on_change.append(self.catch_up)

    def catch_up(self) -> None:
        """Something was brought into the cluster that may concern policies."""
        if self._policies.version == self._version:
            return
        self._version = self._policies.version
        concerned = self._pods.go_by_policies_of_now()
        if concerned:
            _log.info("Scheduling policies have changed; pods are tried again", pods=len(concerned))
            self._services.activate(concerned)


class Holders(Generic[H]):
    """Handler of the objects that hold policies (``client.informer.Handler``)."""

    def __init__(
        self, kind: type[H], cluster: Cluster, followers: Followers, reports: PolicyReports
    ) -> None:
        self._kind: type[H] = kind
        self._cluster = cluster
        self._followers = followers
        self._reports = reports

    def on_put(self, obj: H) -> None:
        """An object was added or changed."""
        self._reports.judged(obj, policy_text.take(self._cluster, obj))
        self._followers.catch_up()

    def on_gone(self, namespace: str, name: str, uid: str, last: H | None) -> None:
        """An object was deleted."""
        obj = last or self._kind(metadata=ObjectMeta(name=name, namespace=namespace, uid=uid))
        policy_text.drop(self._cluster, obj)
        self._reports.gone(obj)
        self._followers.catch_up()

    def on_listed(self) -> None:
        """Nothing waits for a complete list here."""
