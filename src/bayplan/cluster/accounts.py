"""What placed pods take together, by a key that follows from each pod: its namespace, say, or a queue.

Opened by the elastic quotas and, through the view, by plugins; kept by the cluster with every pod that is assumed, comes
or goes, so that a pod decided now is counted when the next one is. Amounts are Python's integers: sums do not wrap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.pods import PodTable

#: Under which key a pod is counted; None: under none.
KeyOf = Callable[["PodInfo"], "str | None"]
Amounts = dict[str, int]

NOTHING: Final[Mapping[str, int]] = MappingProxyType({})
#: The resource that stands for the pods themselves.
PODS: Final = "pods"


class Account:
    """Sums by key, and over all keys; resource name to amount, CPU in milli-units."""

    def __init__(self, name: str, key_of: KeyOf, pods: PodTable) -> None:
        self.name = name
        self._key_of = key_of
        self._pods = pods
        self._used: dict[str, Amounts] = {}
        self._total: Amounts = {}
        #: Pods that an annotation puts elsewhere: the pod table keeps no annotations.
        self._annotated: dict[str, str | None] = {}
        self.recount()

    def used(self, key: str) -> Mapping[str, int]:
        """What the pods counted under a key take."""
        return self._used.get(key, NOTHING)

    @property
    def total(self) -> Mapping[str, int]:
        """What all pods take that are counted under any key."""
        return self._total

    def keys(self) -> Iterator[str]:
        """Keys under which something is counted."""
        return iter(self._used)

    # --- keeping up ----------------------------------------------------------------------------------------------------

    def charge(self, pod: PodInfo, sign: int) -> None:
        """A pod is there now (+1) or no longer (-1)."""
        key = self._key(pod, sign)
        if key is not None:
            _add(self._used.setdefault(key, {}), pod.shape.placed.requests, sign)
            _add(self._total, pod.shape.placed.requests, sign)
            if not self._used[key]:
                del self._used[key]

    def _key(self, pod: PodInfo, sign: int) -> str | None:
        if sign > 0:
            if not pod.annotations and pod.key in self._annotated:
                return self._annotated[pod.key]  # it comes back from a what-if
            key = self._key_of(pod)
            if pod.annotations:
                self._annotated[pod.key] = key
            return key
        if pod.key in self._annotated:
            return self._annotated.pop(pod.key)
        return self._key_of(pod)

    def recount(self) -> None:
        """Sum anew: keys have changed their meaning."""
        self._used, self._total = {}, {}
        for key, pod in self._placed():
            if key is not None:
                _add(self._used.setdefault(key, {}), pod.shape.placed.requests, +1)
                _add(self._total, pod.shape.placed.requests, +1)

    def _placed(self) -> Iterator[tuple[str | None, PodInfo]]:
        for pod_key, row in self._pods.row_of.items():
            pod = self._pods.info(row, "")
            if pod_key in self._annotated:
                yield self._annotated[pod_key], pod
            else:
                yield self._key_of(pod), pod

    def memory(self, pod: str) -> tuple[bool, str | None]:
        """What the sums alone do not say of a placed pod, by ``namespace/name``: to be remembered before it comes back."""
        return pod in self._annotated, self._annotated.get(pod)

    def remember(self, pod: str, memory: tuple[bool, str | None]) -> None:
        """A pod whose annotations are not known any more is about to be there again."""
        if memory[0]:
            self._annotated[pod] = memory[1]

    def audit(self) -> Iterator[str]:
        """Where the sums differ from a recount."""
        used: dict[str, Amounts] = {}
        total: Amounts = {}
        for key, pod in self._placed():
            if key is not None:
                _add(used.setdefault(key, {}), pod.shape.placed.requests, +1)
                _add(total, pod.shape.placed.requests, +1)
        if used != self._used:
            yield f"account {self.name}: {self._used}, should be {used}"
        if total != self._total:
            yield f"account {self.name} in total: {self._total}, should be {total}"
        strays = self._annotated.keys() - self._pods.row_of.keys()
        if strays:
            yield f"account {self.name} remembers pods that are gone: {sorted(strays)}"


def _add(amounts: Amounts, requests: Mapping[str, int], sign: int) -> None:
    """Add what one pod takes; what comes to nothing is left out."""
    for name, amount in requests.items():
        after = amounts.get(name, 0) + sign * amount
        if after:
            amounts[name] = after
        else:
            amounts.pop(name, None)
    after = amounts.get(PODS, 0) + sign
    if after:
        amounts[PODS] = after
    else:
        del amounts[PODS]


class Accounts:
    """The accounts that somebody reads."""

    def __init__(self, pods: PodTable) -> None:
        self._pods = pods
        self.opened: list[Account] = []

    def open(self, name: str, key_of: KeyOf) -> Account:
        """The account of that name; the first who asks says what it counts."""
        for account in self.opened:
            if account.name == name:
                return account
        account = Account(name, key_of, self._pods)
        self.opened.append(account)
        return account
