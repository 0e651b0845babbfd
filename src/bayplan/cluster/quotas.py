"""Elastic quotas: what namespaces are sure of, how far they may go, and what their pods take now.

Fed by the cluster; read by CapacityScheduling through the view, by the metrics and by whoever writes the quotas' status.
What a namespace leaves of its minimum the others may borrow, so the sums over all quotas are kept, too.

Kubernetes' capacity scheduling knows one quota per namespace; of several the oldest counts. A resource that ``max`` does
not name is not limited. One that no ``min`` names is not shared out: nobody can borrow it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from bayplan.cluster.accounts import NOTHING, Accounts
from bayplan.cluster.changes import Reads
from bayplan.model.quantity import ResourceList, milli_value, value

if TYPE_CHECKING:
    from bayplan.cluster.accounts import Account
    from bayplan.cluster.journal import Journal
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.model.policy import ElasticQuota

_ACCOUNT: Final = "elastic quotas"


class Quota:
    """The quota of one namespace, with its amounts read; CPU in milli-units."""

    __slots__ = ("max", "min", "namespace", "object")

    def __init__(self, quota: ElasticQuota) -> None:
        self.namespace = quota.metadata.namespace
        self.min = amounts(quota.spec.min)
        self.max = amounts(quota.spec.max)
        #: As it was written; its status is what was last reported.
        self.object = quota

    @property
    def resources(self) -> frozenset[str]:
        """The resources that it names."""
        return frozenset(self.min) | frozenset(self.max)


def amounts(resources: ResourceList) -> dict[str, int]:
    """Amounts as integers."""
    return {
        name: milli_value(quantity) if name == "cpu" else value(quantity)
        for name, quantity in resources.items()
    }


def _age(quota: ElasticQuota) -> tuple[float, str]:
    created = quota.metadata.creation_timestamp
    return (created.timestamp() if created is not None else 0.0, quota.name)


class Quotas:
    """The quotas that count, by namespace, and what is used of them."""

    def __init__(self, journal: Journal, accounts: Accounts) -> None:
        self._journal = journal
        self._accounts = accounts
        self._objects: dict[str, dict[str, ElasticQuota]] = {}
        self._quotas: dict[str, Quota] = {}
        self._account: Account | None = None
        #: Those that have a quota.
        self.namespaces: frozenset[str] = frozenset()
        #: The sum of all minimums: what can be had together.
        self._guaranteed: dict[str, int] = {}

    def put(self, quota: ElasticQuota) -> None:
        """Add a quota or bring it up to date."""
        self._objects.setdefault(quota.metadata.namespace, {})[quota.name] = quota
        self._elect(quota.metadata.namespace)

    def remove(self, quota: ElasticQuota) -> None:
        """Forget a quota."""
        named = self._objects.get(quota.metadata.namespace, {})
        if named.pop(quota.name, None) is not None:
            self._elect(quota.metadata.namespace)

    def _elect(self, namespace: str) -> None:
        """Of several quotas of a namespace the oldest counts; by name among equals."""
        named = self._objects[namespace]
        before = self._quotas.get(namespace)
        if not named:
            del self._objects[namespace], self._quotas[namespace]
        else:
            oldest = min(named.values(), key=_age)
            self._quotas[namespace] = Quota(oldest)
        if (before is None) != (namespace not in self._quotas):
            self._recount()
        self._sum_up()
        self._journal.topic_changed(Reads.QUOTAS)

    def _recount(self) -> None:
        """Another namespace is counted from now on, or one less."""
        if self._account is None:
            self._account = self._accounts.open(_ACCOUNT, self._key_of)
        else:
            self._account.recount()

    def _key_of(self, pod: PodInfo) -> str | None:
        namespace = pod.kin.namespace
        return namespace if namespace in self._quotas else None

    def _sum_up(self) -> None:
        guaranteed: dict[str, int] = {}
        for quota in self._quotas.values():
            for name, amount in quota.min.items():
                guaranteed[name] = guaranteed.get(name, 0) + amount
        self._guaranteed = guaranteed
        self.namespaces = frozenset(self._quotas)

    # --- reading -------------------------------------------------------------------------------------------------------

    def of(self, namespace: str) -> Quota | None:
        """The quota of a namespace."""
        return self._quotas.get(namespace)

    def used(self, namespace: str) -> Mapping[str, int]:
        """What the pods of a namespace with a quota take."""
        return NOTHING if self._account is None else self._account.used(namespace)

    @property
    def total_used(self) -> Mapping[str, int]:
        """What the pods of all namespaces with a quota take."""
        return NOTHING if self._account is None else self._account.total

    @property
    def guaranteed(self) -> Mapping[str, int]:
        """The sum of all minimums, by resource; a resource that no minimum names is not in it."""
        return self._guaranteed

    def borrowed(self, namespace: str) -> dict[str, int]:
        """By how much a namespace uses more than its minimum, of resources that are shared out."""
        quota, used = self._quotas[namespace], self.used(namespace)
        over = {name: used.get(name, 0) - quota.min.get(name, 0) for name in self._guaranteed}
        return {name: amount for name, amount in over.items() if amount > 0}

    def __iter__(self) -> Iterator[Quota]:
        return iter(self._quotas.values())

    def __len__(self) -> int:
        return len(self._quotas)
