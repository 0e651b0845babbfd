"""How much a simulated container uses: a share of what it asks for, which swings a little with the time.

Pure, and the same whenever pod, time and seed are: a hash of these stands where a real process would have its moods. Who
wants to decide it says so on the pod: ``bayplan.io/uses: cpu=1500m,memory=2Gi``, for the pod as a whole. Read by ``serving``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from bayplan.embedded.objects import Object, as_list, as_object, at, text_at
from bayplan.embedded.rules.quantities import nano

USES: Final = "bayplan.io/uses"
RESOURCES: Final = ("cpu", "memory")

_NANO: Final = 10**9
#: What a container takes that asks for nothing, in nano-units.
_UNASKED: Final = {"cpu": 50_000_000, "memory": (64 << 20) * _NANO}
#: Of what it asks for, a container uses a share between these.
_SHARES: Final = {"cpu": (0.25, 0.75), "memory": (0.55, 0.9)}
#: By so much of itself the use of CPU rises and falls; memory, once taken, stays.
_SWING: Final = {"cpu": 0.2, "memory": 0.0}
_PERIOD_S: Final = 600.0
#: What the node's own agents take, in nano-units.
OWN: Final = {"cpu": 100_000_000, "memory": (512 << 20) * _NANO}


@dataclass(frozen=True, slots=True)
class Usage:
    """The moods of one cluster; another seed makes others."""

    seed: int = 0
    #: As metrics-server: measured so often, and the same in between.
    every_s: float = 15.0

    def measured_at(self, now_s: float) -> float:
        """When it was last measured."""
        return math.floor(now_s / self.every_s) * self.every_s

    def of_containers(self, pod: Object, at_s: float) -> dict[str, dict[str, int]]:
        """What each container of a pod uses, in nano-units."""
        containers = [one for one in as_list(at(pod, "spec", "containers")) if one]
        said = said_in(pod)
        found = {}
        for place, container in enumerate(containers):
            name = text_at(container, "name")
            found[name] = {
                resource: _part(said[resource], place, len(containers))
                if resource in said
                else self._simulated(pod, container, resource, at_s)
                for resource in RESOURCES
            }
        return found

    def _simulated(self, pod: Object, container: Object, resource: str, at_s: float) -> int:
        asked = nano(at(container, "resources", "requests", resource) or 0)
        meta = as_object(pod.get("metadata"))
        key = f"{text_at(meta, 'namespace')}/{text_at(meta, 'name')}/{text_at(container, 'name')}"
        low, high = _SHARES[resource]
        share = low + (high - low) * self._chance(f"{key}/{resource}/share")
        turn = at_s / _PERIOD_S + self._chance(f"{key}/{resource}/phase")
        share *= 1.0 + _SWING[resource] * math.sin(math.tau * turn)
        used = round((asked or _UNASKED[resource]) * share)
        limit = nano(at(container, "resources", "limits", resource) or 0)
        return min(used, limit) if limit else used

    def _chance(self, key: str) -> float:
        """A number from 0 to 1, the same for the same key."""
        digest = blake2b(f"{self.seed}/{key}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") / 2**64


def said_in(pod: Object) -> dict[str, int]:
    """What the pod's annotation says that it uses; a part that cannot be read is not said."""
    text = text_at(as_object(at(pod, "metadata", "annotations")), USES)
    parts = (part.partition("=") for part in text.split(","))
    return {
        name.strip(): amount
        for name, _, given in parts
        if name.strip() in RESOURCES and (amount := nano(given.strip())) > 0
    }


def _part(amount: int, place: int, parts: int) -> int:
    """An amount shared out so that nothing is lost."""
    return amount // parts + (place < amount % parts)
