"""GangScheduling: a member of a pod group stays out of the queue until the group has members enough.

Reads:  the pod's group, and how many members there are (``cluster.gangs``).
Says:   that the group is missing, or that too few of its pods exist. Where no PodGroup API is served, nothing.

What happens once there are enough is no plugin's business: the group is decided as a whole by ``cycle.gang``. Part of
every profile, without being named in a configuration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bayplan.cluster.changes import Reads
from bayplan.framework.plugin import PreEnqueuePlugin
from bayplan.framework.status import Rejected, unresolvable

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.framework.events import WakeOn
    from bayplan.framework.profile import Profile

#: Said of every member at every event: made once.
_WAITING: Final = unresolvable(
    "waiting for minCount pods from a gang to appear in scheduling queue"
)


class GangScheduling(PreEnqueuePlugin):
    """Holds the members of a group back until there are enough of them."""

    name = "GangScheduling"
    reads = Reads.NOTHING

    def pre_enqueue(self, pod: PodInfo) -> Rejected | None:
        gangs = self.handle.view.cluster.gangs
        key = gangs.of(pod)
        if key is None or gangs.is_ready(key):
            return None
        if gangs.group(key) is None:
            return unresolvable(f'pod group "{key.name}" not found')
        return _WAITING

    def wakes_on(self) -> Sequence[WakeOn]:
        """Nothing of its own: the queue is told of groups by name, and a group takes all its members along."""
        return ()


def with_gangs(profile: Profile, plugin: GangScheduling) -> Profile:
    """The profile with this plugin, unless it has one already."""
    if any(each.name == plugin.name for each in profile.pre_enqueue):
        return profile
    return replace(
        profile,
        plugins=[*profile.plugins, plugin],
        pre_enqueue=(*profile.pre_enqueue, plugin),
    )
