"""The nodes of a request: which ones are asked about, and what is known of them.

With a cache of our own, fed by informers, a request only names nodes. Without one the request is all there is: nodes are taken
from it, and those that come again word for word are not read again. Used by ``serve.extender.answers``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bayplan.errors import DecodeError
from bayplan.model.decode import decode_as
from bayplan.model.meta import ObjectMeta
from bayplan.model.node import Node
from bayplan.serve.extender import wire

if TYPE_CHECKING:
    from bayplan.cluster.cluster import Cluster
    from bayplan.serve.extender.wire import Arguments

#: Go writes a node's metadata first, and the name first in it.
_PREFIX: Final = b'{"metadata":{"name":"'


#: Without a cache of our own so many nodes are kept beyond those of a request, and so many times as many.
_SPARE: Final = 10_000
_MANY: Final = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """The nodes of one request, in its order."""

    names: Sequence[str]
    #: The row of each; -1 where the node is not known here.
    rows: NDArray[np.intp]
    #: The names as they came, where names came.
    text: msgspec.Raw | None = None
    #: The nodes as they came, where nodes came.
    nodes: Sequence[msgspec.Raw] | None = None


class SentNodes:
    """Finds the nodes of requests."""

    def __init__(self, cluster: Cluster, *, own_cache: bool) -> None:
        self._cluster = cluster
        self._own_cache = own_cache
        #: Nodes as they came last, by name.
        self._known: dict[str, bytes] = {}
        #: The last list of names, as it came and as it was read; schedulers send the same again and again.
        self._last: tuple[bytes, int, Asked] | None = None

    def find(self, arguments: Arguments) -> Asked:
        """The nodes of a request. Raises ``DecodeError``."""
        if arguments.nodes is not None:
            return self._whole(arguments.nodes.items or [])
        text = bytes(arguments.node_names)
        node_set = self._cluster.journal.node_set
        if self._last is not None and self._last[0] == text and self._last[1] == node_set:
            return self._last[2]
        names = wire.names_of(arguments.node_names)
        if names is None:
            raise DecodeError("neither Nodes nor NodeNames were sent")
        if not self._own_cache:
            self._add_unknown(names)
        asked = Asked(names, self._rows(names), msgspec.Raw(text))
        self._last = (text, self._cluster.journal.node_set, asked)
        return asked

    def _whole(self, nodes: Sequence[msgspec.Raw]) -> Asked:
        names = []
        for raw in nodes:
            text = bytes(raw)
            name = _name(text)
            if not self._own_cache and self._known.get(name) != text:
                node = decode_as(Node, text)
                name = node.name
                self._cluster.put_node(node)
                self._known[name] = text
            names.append(name)
        if len(self._known) > _SPARE + _MANY * len(names):
            self._forget_all_but(names)
        return Asked(names, self._rows(names), nodes=nodes)

    def _forget_all_but(self, names: Sequence[str]) -> None:
        """Nobody tells us of nodes that are gone; where far more are known than are asked about, many must be."""
        for name in self._known.keys() - set(names):
            del self._known[name]
            self._cluster.remove_node(name)

    def _add_unknown(self, names: Sequence[str]) -> None:
        """Where only names are sent and there is no cache, a name is all that plugins see of a node."""
        known = self._cluster.nodes.row_of
        for name in names:
            if name not in known:
                self._cluster.put_node(Node(metadata=ObjectMeta(name=name)))

    def _rows(self, names: Sequence[str]) -> NDArray[np.intp]:
        found = self._cluster.nodes.row_of
        return np.fromiter((found.get(name, -1) for name in names), np.intp, len(names))


class _Meta(msgspec.Struct):
    name: str = ""


class _Named(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


def _name(text: bytes) -> str:
    if text.startswith(_PREFIX):
        end = text.find(b'"', len(_PREFIX))
        # Names of nodes need no escapes; whoever writes some is read in full.
        if b"\\" not in text[len(_PREFIX) : end]:
            return text[len(_PREFIX) : end].decode("utf-8", "replace")
    try:
        return msgspec.json.decode(text, type=_Named).metadata.name
    except (msgspec.MsgspecError, ValueError) as error:
        raise DecodeError(str(error), path="Nodes.items") from None
