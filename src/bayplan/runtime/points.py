"""Metrics of the extension points of an attempt: how long each took, what came of it, which plugins were asked.

``Points`` is told by ``runtime.loop`` after every attempt; ``Timing`` is for the points after it, in the loop and in bindings.
Some thirty plugins are asked per attempt, and by alike pods the same ones: so sets
of plugins are counted, and turned into counts of plugins now and then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final, NamedTuple

from bayplan.cycle.outcome import Failed, Outcome, Placed, Unplaced
from bayplan.errors import PluginError
from bayplan.framework.status import Code
from bayplan.framework.stopwatch import Stopwatch

if TYPE_CHECKING:
    from bayplan.clock import Clock
    from bayplan.cycle.desk import Desk
    from bayplan.framework.profile import Profile
    from bayplan.framework.status import Rejected
    from bayplan.telemetry.metrics import Metrics

#: So many attempts at most are not in the metrics yet.
_FOLD_AFTER: Final = 256
_NOTHING: Final = nullcontext()


class _Asked(NamedTuple):
    """Which plugins had a say in an attempt, by what tells."""

    profile: str
    #: PreFilter plugins before the first that turned the pod down for good.
    prefilters: int
    #: Filter plugins that were left out; None: no node was looked at.
    filters_skipped: frozenset[str] | None
    #: Score plugins that were left out; None: nothing was scored.
    scores_skipped: frozenset[str] | None


class Timing:
    """Times one extension point while a block runs: ``Success``, what it was rejected with, or ``Error`` where it raised."""

    __slots__ = ("_at", "_clock", "_label", "_metrics", "_point", "_profile")

    def __init__(self, metrics: Metrics, clock: Clock, profile: str, point: str) -> None:
        self._metrics, self._clock = metrics, clock
        self._profile, self._point = profile, point
        self._label = Code.SUCCESS.label

    def came_to(self, rejected: Rejected | None) -> None:
        """What the plugins said."""
        if rejected is not None:
            self._label = rejected.code.label

    def __enter__(self) -> Timing:
        self._at = self._clock.monotonic()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        label = self._label if kind is None else Code.ERROR.label
        seconds = self._clock.monotonic() - self._at
        self._metrics.extension_point(self._profile, self._point, label, seconds)


#: One attempt in so many has each of its plugins timed; upstream: a tenth, by chance.
_SAMPLED: Final = 10

#: Where VolumeBinding failed, as the metric has it.
_VOLUME_STAGES: Final = {
    "PreFilter": "predicate",
    "Filter": "predicate",
    "Reserve": "assume",
    "PreBind": "bind",
}


def count_volume_error(metrics: Metrics, plugin: str, point: str) -> None:
    """An error of a plugin, if it was about volumes."""
    if plugin == "VolumeBinding" and point in _VOLUME_STAGES:
        metrics.volume_error(_VOLUME_STAGES[point])


class Points:
    """Turns attempts into metrics."""

    def __init__(self, metrics: Metrics, timer: Callable[[], float]) -> None:
        self._metrics = metrics
        self._stopwatch = Stopwatch(timer, metrics.plugin_execution)
        self._until_sample = _SAMPLED
        self._asked: Counter[_Asked] = Counter()
        self._desks: dict[str, Desk] = {}
        #: Lookups of classes that are in the metrics already, by profile: found and not found.
        self._lookups: dict[str, tuple[int, int]] = {}
        self._attempts = 0

    def sampling(self) -> AbstractContextManager[None]:
        """To be put around each attempt: of some the plugins are timed."""
        self._until_sample -= 1
        if self._until_sample:
            return _NOTHING
        self._until_sample = _SAMPLED
        return self._stopwatch.running()

    def attempt(self, desk: Desk, outcome: Outcome) -> None:
        """An attempt was decided."""
        profile = desk.profile
        for point, seconds in desk.laps.spent.items():
            status = _status(point, outcome)
            if status is not None:
                self._metrics.extension_point(profile.name, point, status.label, seconds)
        if isinstance(outcome, Failed):
            if isinstance(outcome.error, PluginError):
                point = outcome.error.point
                self._metrics.extension_point(profile.name, point, Code.ERROR.label, 0.0)
                count_volume_error(self._metrics, outcome.error.plugin, point)
            return
        if desk.algorithm is not None:
            return
        self._desks[profile.name] = desk
        self._asked[_asked(profile.name, outcome)] += 1
        self._attempts += 1
        if self._attempts >= _FOLD_AFTER:
            self.fold()

    def forget(self) -> None:
        """The desks counted here are exchanged for others, which begin to count anew."""
        self._desks.clear()
        self._lookups.clear()

    def fold(self) -> None:
        """Put what has been counted into the metrics."""
        for asked, times in self._asked.items():
            for point, plugin in _plugins(asked, self._desks[asked.profile].profile):
                self._metrics.plugin_evaluation(asked.profile, plugin, point, times)
        for profile, desk in self._desks.items():
            known, classes = self._lookups.get(profile, (0, 0)), desk.classes
            self._metrics.class_lookups(classes.hits - known[0], classes.misses - known[1])
            self._lookups[profile] = (classes.hits, classes.misses)
        self._asked.clear()
        self._attempts = 0


def _status(point: str, outcome: Outcome) -> Code | None:
    """What came of a point; None where an attempt did not get to it and only old answers were brought up to date."""
    if not isinstance(outcome, Unplaced):
        return Code.SUCCESS
    match point:
        case "PreFilter":
            rejection = outcome.decision.evaluation.prefilter.rejection
            return Code.SUCCESS if rejection is None else rejection.code
        case "Filter":
            return Code.UNSCHEDULABLE
        case "PostFilter":
            return Code.UNSCHEDULABLE if outcome.nominated is None else Code.SUCCESS
        case _:
            return None


def _asked(profile: str, outcome: Placed | Unplaced) -> _Asked:
    evaluation = outcome.decision.evaluation
    prefilter, rank = evaluation.prefilter, evaluation.rank
    scored = rank is not None and isinstance(outcome, Placed)
    return _Asked(
        profile,
        len(prefilter.answers),
        frozenset(prefilter.skipped) if evaluation.feasible is not None else None,
        frozenset(rank.skipped) if scored and rank is not None else None,
    )


def _plugins(asked: _Asked, profile: Profile) -> Iterator[tuple[str, str]]:
    for prefilter in profile.prefilter[: asked.prefilters]:
        yield "PreFilter", prefilter.name
    if asked.filters_skipped is not None:
        for each in profile.filter:
            if each.name not in asked.filters_skipped:
                yield "Filter", each.name
    if asked.scores_skipped is not None:
        for prescore in profile.prescore:
            yield "PreScore", prescore.name
        for score in profile.score:
            if score.name not in asked.scores_skipped:
                yield "Score", score.name
