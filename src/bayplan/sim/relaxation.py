"""One thing that could be different, and what comes of it: the words that ``relax`` and its sources share.

``Relaxation`` is a change to try, made by ``relax_pod``, ``relax_requests`` and ``relax_cluster``; ``Suggestion`` is one
that was tried and works, made by ``relax``, shown by ``explanation``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bayplan.model.meta import KubeObject
from bayplan.model.pod import Pod


class Kind(StrEnum):
    """What is changed."""

    REQUESTS = "requests"
    TOLERATION = "toleration"
    CORDON = "cordon"
    NODE_SELECTOR = "nodeSelector"
    NODE_AFFINITY = "nodeAffinity"
    SPREAD = "topologySpread"
    POD_AFFINITY = "podAffinity"
    POD_ANTI_AFFINITY = "podAntiAffinity"
    ANTI_AFFINITY_OF_OTHERS = "antiAffinityOfOthers"
    HOST_PORT = "hostPort"
    VOLUME = "volume"
    POD_SLOT = "podSlot"
    EVICTION = "eviction"
    PLUGIN = "plugin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxation:
    """A change to try: of the pod, of objects in the cluster, or of the profile."""

    kind: Kind
    #: The change in words, as the beginning of a sentence.
    text: str
    #: The change for programs; the keys depend on the kind.
    change: Mapping[str, Any]
    #: How much is asked for: 0 is nothing, 1 is giving up a whole rule.
    size: float
    #: The filter plugin whose objection it lifts.
    plugin: str
    pod: Pod | None = None
    #: Objects as they are and as they would be.
    objects: tuple[tuple[KubeObject, KubeObject], ...] = ()
    #: A plugin to do without.
    without: str = ""
    #: It has to fit on this node, not just anywhere; empty: anywhere.
    node: str = ""


def in_words(parts: Sequence[str]) -> str:
    """``a, b and c``."""
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A change after which the pod fits."""

    kind: Kind
    #: The whole sentence.
    text: str
    change: Mapping[str, Any]
    #: The nodes that it then fits on, the best first.
    nodes: tuple[str, ...]
    size: float
    plugin: str = field(default="")

    def to_json(self) -> dict[str, Any]:
        """For ``-o json``."""
        return {
            "kind": self.kind.value,
            "text": self.text,
            "change": dict(self.change),
            "nodes": list(self.nodes),
            "plugin": self.plugin,
        }
