"""Nodes word for word, for extenders that keep no nodes of their own and have to be sent them.

The cluster keeps of a node what schedulers read, and drops the rest; an extender may read anything. Kept only where one is
configured that wants it (``nodeCacheCapable: false``): that costs the nodes' JSON in memory, and a second watch on them.
"""

from __future__ import annotations

from typing import Final

import msgspec

from bayplan.client.resources import Resource
from bayplan.model.meta import KubeObject, ObjectMeta

_EMPTY: Final = msgspec.Raw(b"{}")
_encoder: Final = msgspec.json.Encoder()


class WholeNode(KubeObject, frozen=True, tag="Node", omit_defaults=False):
    """A node whose spec and status are kept as they came."""

    metadata: ObjectMeta = ObjectMeta()
    spec: msgspec.Raw = _EMPTY
    status: msgspec.Raw = _EMPTY


WHOLE_NODES: Final = Resource("", "v1", "nodes", WholeNode, namespaced=False)


class WholeNodes:
    """Handler of whole nodes (``client.informer.Handler``)."""

    def __init__(self) -> None:
        self._json: dict[str, bytes] = {}

    def on_put(self, node: WholeNode) -> None:
        """A node was added or changed. What is kept is a copy: the original is part of a long list."""
        self._json[node.metadata.name] = _encoder.encode(node)

    def on_gone(self, namespace: str, name: str, uid: str, last: WholeNode | None) -> None:
        """A node was deleted."""
        self._json.pop(name, None)

    def on_listed(self) -> None:
        """Nothing waits for a complete list here."""

    def get(self, name: str) -> bytes | None:
        """A node in JSON; None where it is not known."""
        return self._json.get(name)
