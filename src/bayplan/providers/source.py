"""What every source of data answers, and what it may know of the nodes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from bayplan.cluster.cluster import Cluster

#: Metric to node to number.
Readings = Mapping[str, Mapping[str, float]]
#: Fetches a path of the API server.
Fetch = Callable[[str], Awaitable[bytes]]


class Source(Protocol):
    """Somebody who knows something about nodes."""

    async def read(self) -> Readings:
        """All that is known now; a node that is not named is not known."""
        ...


class KnownNode(NamedTuple):
    """A node as sources see it."""

    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    allocatable: Mapping[str, int]


def known_nodes(cluster: Cluster) -> Iterator[KnownNode]:
    """The nodes that there are."""
    nodes = cluster.view.nodes
    for row in np.flatnonzero(nodes.alive).tolist():
        node = nodes.node(row)
        yield KnownNode(node.name, node.labels, node.annotations, node.allocatable)
