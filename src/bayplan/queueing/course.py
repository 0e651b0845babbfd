"""Which of the waiting pods have to be asked again when other profiles take over.

Part of the queue; see ``SchedulingQueue.use``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.framework.profile import Profile
    from bayplan.queueing.entry import Queued
    from bayplan.queueing.places import Places


def changed_course(
    places: Places,
    former: Mapping[str, Profile],
    profiles: Mapping[str, Profile],
    route: Callable[[PodInfo], str],
) -> Iterator[Queued]:
    """Pods that wait for something that may have changed, each in no place: the caller puts it into one.

    These are all that were turned down or held at a gate, those that another profile decides now, and, where the gates
    are others, those that have passed the old ones.
    """
    other_gates = {
        name
        for name, profile in profiles.items()
        if name not in former or _gates(profile) != _gates(former[name])
    }
    for queued in list(places.by_key.values()):
        profile = route(queued.pod)
        if queued.is_parked or profile != queued.profile or profile in other_gates:
            places.reassign(queued, queued.pod, profile)
            yield queued


def _gates(profile: Profile) -> list[type]:
    """Kubernetes' own classes are the same in every generation; a file that was loaded again has new ones."""
    return [type(plugin) for plugin in profile.pre_enqueue]
