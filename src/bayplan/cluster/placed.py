"""Some of the placed pods, in columns and one by one: what a plugin sees that says which pods may be evicted.

Made by the search for victims (``framework.victims``) of the pods on the nodes that it tries; read by preemption plugins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo, Shape
    from bayplan.cluster.tables import Tables
    from bayplan.model.pod import PodSpec


class PlacedPods:
    """Placed pods by position."""

    __slots__ = ("_cluster", "_rows")

    def __init__(self, cluster: Tables, rows: NDArray[np.intp]) -> None:
        self._cluster = cluster
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def priority(self) -> NDArray[np.int32]:
        """Their priorities."""
        return self._cluster.pods.priority.data[self._rows]

    @property
    def started(self) -> NDArray[np.float64]:
        """When they started, in seconds since 1970; NaN for one that has not."""
        return self._cluster.pods.started.data[self._rows]

    def by_namespace(self, judge: Callable[[str], bool]) -> NDArray[np.bool_]:
        """What ``judge`` says of the namespace of each; it is asked once per namespace."""
        known: dict[str, bool] = {}
        kins = self._cluster.pods.kins
        answers = np.empty(len(self._rows), np.bool_)
        for i, row in enumerate(self._rows.tolist()):
            kin = kins[row]
            assert kin is not None
            answer = known.get(kin.namespace)
            if answer is None:
                answer = known[kin.namespace] = judge(kin.namespace)
            answers[i] = answer
        return answers

    def by_spec(self, judge: Callable[[PodSpec], float]) -> NDArray[np.float64]:
        """The number that ``judge`` gives the spec of each; pods with the same spec share it."""
        known: dict[Shape, float] = {}
        shapes = self._cluster.pods.shapes
        answers = np.empty(len(self._rows), np.float64)
        for i, row in enumerate(self._rows.tolist()):
            shape = shapes[row]
            assert shape is not None
            answer = known.get(shape)
            if answer is None:
                answer = known[shape] = judge(shape.spec)
            answers[i] = answer
        return answers

    def pod(self, i: int) -> PodInfo:
        """One of them."""
        pods, row = self._cluster.pods, int(self._rows[i])
        return pods.info(row, self._cluster.nodes.names[int(pods.node_row.data[row])])
