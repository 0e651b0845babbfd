"""All node agents: one for every node there is, whoever made it, and a lease for each that says it lives.

Fed by changes of nodes. ``pods`` asks it which nodes have an agent. Leases are renewed in tenths, so that a large
cluster writes a little all the time and never much at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from bayplan.embedded.entries import Change, ChangeType
from bayplan.embedded.following import follow
from bayplan.embedded.objects import Object, as_list, at, micro_timestamp, text_at

if TYPE_CHECKING:
    from bayplan.embedded.store import Store

LEASES: Final = "leases.coordination.k8s.io"
LEASE_NAMESPACE: Final = "kube-node-lease"
#: As kubelet has it: a lease holds for 40 s and is renewed every 10 s.
LEASE_S: Final = 40
_TURNS: Final = 10
_TURN_S: Final = 1.0


class Fleet:
    """Nodes and their leases."""

    def __init__(self, store: Store) -> None:
        self._store = store
        #: Address by node name.
        self._addresses: dict[str, str] = {}
        self._uids: dict[str, str] = {}
        self._on_gone: list[Callable[[str], None]] = []
        self._on_new: list[Callable[[str], None]] = []
        self._turn = 0
        self._timer: asyncio.TimerHandle | None = None
        self._stop_following: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Begin; needs a running loop."""
        self._stop_following = follow(self._store, "nodes", self._on_node)
        self._timer = asyncio.get_running_loop().call_later(_TURN_S, self._renew_some)

    def stop(self) -> None:
        """End; leases run out by themselves."""
        self._stop_following()
        if self._timer is not None:
            self._timer.cancel()

    def __contains__(self, node: str) -> bool:
        return node in self._addresses

    def __len__(self) -> int:
        return len(self._addresses)

    def address(self, node: str) -> str:
        """The node's internal address, empty where it has none."""
        return self._addresses.get(node, "")

    def on_gone(self, listener: Callable[[str], None]) -> None:
        """Call this with the name of each node that goes."""
        self._on_gone.append(listener)

    def on_new(self, listener: Callable[[str], None]) -> None:
        """Call this with the name of each node that comes."""
        self._on_new.append(listener)

    def _on_node(self, change: Change) -> None:
        name = change.entry.name
        if change.type is ChangeType.DELETED:
            self._addresses.pop(name, None)
            self._uids.pop(name, None)
            if self._store.find(LEASES, name, LEASE_NAMESPACE):
                self._store.delete(LEASES, name, LEASE_NAMESPACE)
            for listener in self._on_gone:
                listener(name)
            return
        new = name not in self._addresses
        self._addresses[name] = _address_in(change.entry.decode())
        self._uids[name] = change.entry.uid
        if new:
            self._renew(name)
            for listener in self._on_new:
                listener(name)

    def _renew_some(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_TURN_S, self._renew_some)
        for name in list(self._addresses)[self._turn :: _TURNS]:
            self._renew(name)
        self._turn = (self._turn + 1) % _TURNS

    def _renew(self, node: str) -> None:
        now = micro_timestamp(self._store.clock.now())
        if self._store.find(LEASES, node, LEASE_NAMESPACE) is None:
            self._store.create(LEASES, self._lease(node, now), LEASE_NAMESPACE)
        else:
            self._store.mutate(
                LEASES, node, lambda lease: lease["spec"].update(renewTime=now), LEASE_NAMESPACE
            )

    def _lease(self, node: str, now: str) -> Object:
        owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": self._uids[node]}
        return {
            "metadata": {"name": node, "ownerReferences": [owner]},
            "spec": {"holderIdentity": node, "leaseDurationSeconds": LEASE_S, "renewTime": now},
        }


def _address_in(node: Object) -> str:
    return next(
        (
            text_at(one, "address")
            for one in as_list(at(node, "status", "addresses"))
            if text_at(one, "type") == "InternalIP"
        ),
        "",
    )
