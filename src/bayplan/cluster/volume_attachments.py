"""VolumeAttachments by node and by volume.

Fed and read by ``Storage``.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayplan.model.storage import VolumeAttachment


class VolumeAttachments:
    """Which volumes are attached where, as far as VolumeAttachments tell."""

    def __init__(self) -> None:
        self._objects: dict[str, VolumeAttachment] = {}
        self._by_node: dict[str, set[str]] = {}
        self._by_volume: dict[str, set[str]] = {}

    def put(self, attachment: VolumeAttachment) -> VolumeAttachment | None:
        """Take over an attachment; returns it as it was."""
        name = attachment.metadata.name
        before = self.remove(name)
        self._objects[name] = attachment
        self._by_node.setdefault(attachment.spec.node_name, set()).add(name)
        volume = attachment.spec.source.persistent_volume_name
        if volume:
            self._by_volume.setdefault(volume, set()).add(name)
        return before

    def remove(self, name: str) -> VolumeAttachment | None:
        """Forget an attachment; returns it as it was."""
        attachment = self._objects.pop(name, None)
        if attachment is not None:
            _discard(self._by_node, attachment.spec.node_name, name)
            if attachment.spec.source.persistent_volume_name:
                _discard(self._by_volume, attachment.spec.source.persistent_volume_name, name)
        return attachment

    def on_node(self, node: str) -> Iterator[tuple[str, str]]:
        """Attacher and volume of each attachment to a node that names both."""
        for name in self._by_node.get(node, ()):
            spec = self._objects[name].spec
            if spec.attacher and spec.source.persistent_volume_name:
                yield spec.attacher, spec.source.persistent_volume_name

    def nodes_with(self, volume: str) -> Set[str]:
        """Nodes that a volume is attached to."""
        return {self._objects[name].spec.node_name for name in self._by_volume.get(volume, ())}


def _discard(index: dict[str, set[str]], key: str, name: str) -> None:
    index[key].discard(name)
    if not index[key]:
        del index[key]
