"""ImageLocality: rather a node that has the pod's images already.

Reads:  the images that the pod names; which nodes have them, how large they are, how many nodes there are.
Says:   0 to 100: the bytes that need not be pulled, each image counted in proportion to the share of nodes that have
        it (or else one node that has a rare image would draw every pod that wants it), between 23 MB and 1000 MB for
        each container.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.cluster.changes import Reads
from bayplan.framework.plugin import MAX_SCORE, ScorePlugin
from bayplan.framework.status import Scores

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo, Shape
    from bayplan.cluster.view import Nodes
    from bayplan.framework.state import CycleState

MB: Final = 1024 * 1024
#: Less than this is pulled before anyone notices.
LEAST: Final = 23 * MB
#: More than this for each container makes no difference any more.
MOST_PER_CONTAINER: Final = 1000 * MB


class ImageLocality(ScorePlugin):
    """Ranks nodes by the images they need not pull."""

    name = "ImageLocality"
    # An image counts by the share of nodes that have it, so a change on one node moves the scores of others.
    reads = Reads.ALL_IMAGES | Reads.ALL_NODES

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores | int:
        shape = pod.shape
        table = nodes.cluster.nodes
        most = MOST_PER_CONTAINER * (len(shape.spec.init_containers) + len(shape.spec.containers))
        saved: Scores | None = None
        for name in image_names(shape):
            image = table.images.get(name)
            if image is not None:
                share = len(image.rows) / table.alive_count
                if saved is None:
                    saved = np.zeros(table.rows.used, np.int64)
                # One image can be worth no more than all: sizes near 2^63 must not wrap.
                saved[image.row_numbers] += min(int(image.size * share), most)
        if saved is None:
            return 0
        worth = np.clip(nodes.take(saved), LEAST, most) - LEAST
        scores: Scores = MAX_SCORE * worth // (most - LEAST)
        return scores


def image_names(shape: Shape) -> tuple[str, ...]:
    """The images of a pod, one entry for each use; kept with its shape."""
    names: tuple[str, ...] | None = shape.memo.get(ImageLocality)
    if names is None:
        spec = shape.spec
        used = [container.image for container in (*spec.init_containers, *spec.containers)]
        used += [volume.image.reference for volume in spec.volumes if volume.image is not None]
        names = shape.memo[ImageLocality] = tuple(map(normalized, used))
    return names


def normalized(image: str) -> str:
    """An image name as nodes report it: with ``:latest`` where it has no tag."""
    # A colon before the last slash belongs to the registry's port.
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
