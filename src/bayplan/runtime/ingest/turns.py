"""Whose pods are ours: those of our profiles, except of those that another scheduler serves now (``runtime.coordination``).

``Pods`` notes here every pod without a node of a profile that is served by turns, whoever serves it now: when the turn
changes, the newest of each is at hand without a list, which could be older than what the watch has told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayplan.model.pod import Pod


class Turns:
    """Profiles, and the pods of those that change hands."""

    def __init__(self, profiles: Collection[str], alternating: Iterable[str] = ()) -> None:
        #: The scheduler names that are ours.
        self.profiles = profiles
        self._pods: dict[str, dict[str, Pod]] = {profile: {} for profile in alternating}
        #: Profiles that another scheduler serves now.
        self.away = set(self._pods)
        #: Profiles that are about to be another scheduler's: no attempt for them begins.
        self.closing: set[str] = set()

    def is_ours(self, profile: str) -> bool:
        """Whether pods that want this scheduler are ours."""
        return profile in self.profiles and profile not in self.away

    def note(self, pod: Pod) -> None:
        """A pod as it is now."""
        known = self._pods.get(pod.spec.scheduler_name)
        if known is None:
            return
        if pod.spec.node_name or pod.is_finished:
            known.pop(pod.key, None)
        else:
            known[pod.key] = pod

    def gone(self, key: str, uid: str) -> None:
        """A pod that is no longer there."""
        for known in self._pods.values():
            if key in known and (not uid or known[key].uid == uid):
                del known[key]

    def pods(self, profile: str) -> list[Pod]:
        """Those of a profile that wait."""
        return list(self._pods[profile].values())
