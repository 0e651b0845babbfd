"""GPUs that pods share: how much of each device of each node is taken, in thousandths.

A pod asks for ``alibabacloud.com/gpu-count`` devices and ``alibabacloud.com/gpu-milli`` of each, by annotation or as a
request. Which ones it has got stands in its annotation ``alibabacloud.com/gpu-index`` (``2`` or ``0-3``), which the
binding writes. A pod without one gets the fullest devices that have room: large rests stay large. Fed by the cluster as
pods come and go; read through ``Nodes.device_free`` and ``NodeInfo.device_free``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from bayplan.cluster.columns import Column, Rows

MILLI: Final = "alibabacloud.com/gpu-milli"
COUNT: Final = "alibabacloud.com/gpu-count"
INDEX: Final = "alibabacloud.com/gpu-index"
#: Counts a node's devices where it does not offer ``COUNT``.
GPU: Final = "nvidia.com/gpu"
#: One device.
WHOLE: Final = 1000
#: More devices than this on one node are not told apart.
MOST: Final = 64


class Share(NamedTuple):
    """What a pod asks for: so many devices, and so much of each."""

    devices: int
    milli: int


class Held(NamedTuple):
    """What a pod has got."""

    row: int
    devices: tuple[int, ...]
    milli: int


NONE: Final = Share(0, 0)


def share_of(annotations: Mapping[str, str], requests: Mapping[str, int]) -> Share:
    """What a pod asks for; nothing where it does not share GPUs."""
    if MILLI not in annotations and MILLI not in requests:
        return NONE
    milli = _amount(annotations, requests, MILLI)
    if not milli:
        return NONE
    return Share(max(_amount(annotations, requests, COUNT), 1), min(milli, WHOLE))


def _amount(annotations: Mapping[str, str], requests: Mapping[str, int], key: str) -> int:
    text = annotations.get(key, "")
    if text.isascii() and text.isdigit():
        return min(int(text[:9]), WHOLE * MOST)
    return requests.get(key, 0)


def fullest(free: Sequence[int], share: Share) -> tuple[int, ...]:
    """The devices that a pod gets: those with room that have least of it; empty where there are too few."""
    fitting = [(room, i) for i, room in enumerate(free) if room >= share.milli]
    if len(fitting) < share.devices:
        return ()
    return tuple(sorted(i for _, i in sorted(fitting)[: share.devices]))


class Devices:
    """Thousandths taken, one column per device number."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.taken: list[Column[np.int64]] = []
        self.held: dict[str, Held] = {}

    def place(
        self, key: str, share: Share, annotations: Mapping[str, str], row: int, count: int
    ) -> None:
        """A pod that shares GPUs is on a node with so many of them."""
        chosen = _indices(annotations) or fullest(self.free(row, count), share)
        if not chosen:
            return  # placed by somebody who counts differently
        while len(self.taken) <= max(chosen):
            self.taken.append(self._rows.column(np.int64))
        for device in chosen:
            self.taken[device].data[row] += share.milli
        self.held[key] = Held(row, chosen, share.milli)

    def displace(self, key: str) -> None:
        """A pod is gone."""
        held = self.held.pop(key, None)
        if held is not None:
            for device in held.devices:
                self.taken[device].data[held.row] -= held.milli

    def give_back(self, key: str, held: Held | None) -> None:
        """A pod has these again, whatever it was given meanwhile."""
        self.displace(key)
        if held is not None:
            for device in held.devices:
                self.taken[device].data[held.row] += held.milli
            self.held[key] = held

    def free(self, row: int, count: int) -> list[int]:
        """What is left of each device of a node that has so many."""
        known = self.taken[:count]
        left = [max(WHOLE - int(column.data[row]), 0) for column in known]
        return left + [WHOLE] * (min(count, MOST) - len(known))

    def note(self, key: str) -> Mapping[str, str]:
        """The annotation that tells the node which devices a pod has got."""
        held = self.held.get(key)
        return {} if held is None else {INDEX: "-".join(map(str, held.devices))}


def _indices(annotations: Mapping[str, str]) -> tuple[int, ...]:
    parts = annotations.get(INDEX, "").split("-")
    if not all(part.isascii() and part.isdigit() and len(part) < 3 for part in parts):
        return ()
    return tuple(sorted({int(part) for part in parts if int(part) < MOST}))
