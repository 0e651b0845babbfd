"""Pods that say they are in a group where the cluster serves no such groups: scheduled alone, and told so.

Whoever applied the manifests of the coscheduling plugin to a cluster without its definition finds out by an event on the pod, not
by half a job that waits for the other half. Met by ``runtime.gangs.turns`` when such a pod is decided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayplan.model.pod_group import GroupApi, GroupKey, advice_to_define
from bayplan.telemetry import events
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.runtime.reporting.events import Recorder

_log: Final = get_logger(__name__)

#: So many pods and groups are remembered; when there are more, some are told again.
_MOST: Final = 10_000


class Unserved:
    """Tells each pod once, and the log once for each group."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._told: set[str] = set()
        self._logged: set[GroupKey] = set()

    def meet(self, pod: PodInfo, group: GroupKey) -> None:
        """A pod of such a group comes up."""
        if pod.uid in self._told:
            return
        if len(self._told) >= _MOST:
            self._told.clear()
            self._logged.clear()
        self._told.add(pod.uid)
        text = f'pod group "{group.name}": {_why(group)}; the pod is scheduled by itself'
        self._recorder.record(pod.spec.scheduler_name, pod, events.group_not_served(text))
        if group not in self._logged:
            self._logged.add(group)
            _log.warning("Pods name a group that is not served", podGroup=str(group), why=text)


def _why(group: GroupKey) -> str:
    if group.native:
        return (
            f"the API server does not serve PodGroups of {GroupApi.NATIVE.value}: "
            f"start it with --feature-gates=GenericWorkload=true --runtime-config={GroupApi.NATIVE.value}=true"
        )
    return (
        f"the API server does not serve PodGroups of {GroupApi.COSCHEDULING.value}: "
        f"{advice_to_define()}"
    )
