"""The record of one decision: who said what of which node, and why this one.

Made by ``cycle.attempt`` with next to no work: the evaluation that decided, a position in its log, the choice. Rendered
when somebody asks (``explain``, ``evaluate``, a FailedScheduling message), as it was at the time of the decision.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.changes import Reads
from bayplan.cycle.filtering import Fixed, Verdict
from bayplan.cycle.rank import CLOSED
from bayplan.cycle.undo import OldColumn, OldIndex, OldScores, OldVerdicts, OldWeights
from bayplan.framework.scoring import UNKNOWN
from bayplan.framework.status import Rejected

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cycle.advice import Advice
    from bayplan.cycle.evaluation import Evaluation
    from bayplan.cycle.rank import Rank
    from bayplan.cycle.scoring import Score, Values
    from bayplan.framework.preemption import Nominated

ALIVE = 0  # the first verdict of every evaluation is the one on rows without a node


@dataclass(frozen=True, slots=True)
class PluginScore:
    """What one plugin gave one node."""

    raw: int
    #: After normalisation, 0 to 100.
    normalized: int
    weight: int
    #: What entered the total.
    weighted: int
    #: Whether the plugin lacked data of the node: then its ``missing`` has decided what it gave.
    no_data: bool = False


@dataclass(frozen=True, slots=True)
class NodeLine:
    """One node in a decision: turned down, or scored."""

    node: str
    row: int
    rejected: Rejected | None
    scores: Mapping[str, PluginScore]

    @property
    def total(self) -> int:
        """The sum of the weighted scores."""
        return sum(score.weighted for score in self.scores.values())


class Decision:
    """One attempt for one pod."""

    __slots__ = (
        "advice",
        "best",
        "chosen",
        "evaluation",
        "fits",
        "gang",
        "kept",
        "nominated",
        "overrides",
        "pod",
        "position",
        "post_filter",
        "promise_ends",
        "rank",
        "rejection",
        "ties",
    )

    def __init__(
        self,
        pod: PodInfo,
        evaluation: Evaluation,
        overrides: Mapping[int, Rejected],
        advice: Advice | None = None,
    ) -> None:
        self.pod = pod
        #: What extenders have said; None where there are none for this pod.
        self.advice = advice
        self.evaluation = evaluation
        self.position = evaluation.log.end
        #: Rows judged with promised pods counted in, and turned down: this goes before the verdicts.
        self.overrides = overrides
        #: Whether a ring keeps it: only then can it be shown as it was.
        self.kept = False
        #: Whether any node passed.
        self.fits = False
        #: The chosen row, -1 where none fits.
        self.chosen = -1
        self.best = CLOSED
        #: Scores for this pod alone: without the nodes promised to others, which its class may have.
        self.rank: Rank | None = None
        #: How many nodes shared the best total.
        self.ties = 0
        self.nominated: Nominated | None = None
        #: Turned down whole, before any node: by PreFilter, or by a custom algorithm.
        self.rejection = evaluation.prefilter.rejection
        #: What PostFilter had to say where it found nothing.
        self.post_filter = ""
        #: Where no node fits: a node promised to the pod earlier is not kept for it any longer.
        self.promise_ends = True
        #: Why the pod has no node all the same: too few of its gang fit.
        self.gang = ""

    def of_its_like(self, pod: PodInfo) -> Decision:
        """The same said of an alike pod that no node fits, at the same moment."""
        decision = Decision(pod, self.evaluation, self.overrides, self.advice)
        decision.position = self.position
        return decision

    @property
    def node(self) -> str:
        """The chosen node's name, or an empty string."""
        return self.evaluation.names[self.chosen] if self.chosen >= 0 else ""

    def ranking(self) -> Rank:
        """The scores of all nodes; computed when first asked for."""
        if not self.overrides:
            return self.evaluation.ranking(self.pod)
        if self.rank is None:
            self.rank = self.evaluation.ranking_without(self.pod, self.overrides)
        return self.rank

    def picture(self) -> Picture:
        """Everything that was said, as it was."""
        return Picture(self)


class Picture:
    """A decision laid out: verdicts and scores of all nodes at the time."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        evaluation = decision.evaluation
        self.names = evaluation.names
        self.rejection = decision.rejection
        feasible, rank = evaluation.feasible, evaluation.rank
        self._verdicts: list[tuple[Verdict, NDArray[np.int16] | None]] = []
        self._scores: list[tuple[Score, Values, Values]] = []
        #: See ``first_rejections``, which several ask for.
        self._first: list[tuple[Rejected, NDArray[np.intp]]] | None = None
        if feasible is None:
            self._alive = evaluation.view.nodes.alive.copy()
            return
        past = _Past(decision)
        self._verdicts = [(part, past.index(part)) for part in feasible.verdicts]
        alive = self._verdicts[ALIVE][1]
        assert alive is not None
        self._alive = alive == 0
        own = decision.rank
        if own is not None and own is not rank:
            self._scores = [(part, part.raw, part.weighted) for part in own.shown()]
        elif rank is not None and decision.fits:
            hidden = past.hidden(rank.skipped)
            self._scores = [
                (part, *past.columns(part))
                for part in rank.scores
                if part.plugin.name not in hidden
            ]

    def rows(self) -> list[int]:
        """The rows that were nodes, by name."""
        rows: list[int] = np.flatnonzero(self._alive).tolist()
        return sorted(rows, key=lambda row: self.names[row])

    def verdict(self, row: int) -> Rejected | None:
        """Why a node was turned down; None where it was not."""
        if self.rejection is not None:
            return self.rejection
        override = self.decision.overrides.get(row)
        if override is not None:
            return override
        for part, index in self._verdicts:
            if index is not None and index[row]:
                return part.outcome(int(index[row]))
        return None

    def first_rejections(self) -> list[tuple[Rejected, NDArray[np.intp]]]:
        """Each thing that was said, with the rows it was said of; rows are judged by the first plugin that fails."""
        if self._first is None:
            self._first = list(self._rejections())
        return self._first

    def _rejections(self) -> Iterator[tuple[Rejected, NDArray[np.intp]]]:
        undecided = self._alive.copy()
        said: dict[Rejected, list[int]] = {}
        for row, rejected in self.decision.overrides.items():
            said.setdefault(rejected, []).append(row)
        for rejected, listed in said.items():
            rows = np.array(listed, np.intp)
            rows = rows[undecided[rows]]
            if len(rows):
                undecided[rows] = False
                yield rejected, rows
        for part, index in self._verdicts:
            if index is None:
                continue
            for number in np.unique(index[undecided]).tolist():
                if number:
                    yield part.outcome(number), np.flatnonzero(undecided & (index == number))
            undecided &= index == 0

    def scores(self, row: int) -> dict[str, PluginScore]:
        """What each plugin, and each extender, gave a feasible node."""
        scores = {
            part.plugin.name: _score(part, raw, weighted, row)
            for part, raw, weighted in self._scores
        }
        if self.decision.advice is not None:
            name = self.names[row]
            for said in self.decision.advice.scores:
                raw = said.by_node.get(name, 0)
                scores[said.name] = PluginScore(raw, raw * 10, said.weight, said.weighted(name))
        return scores

    def lines(self) -> list[NodeLine]:
        """Every node, by name."""
        lines = []
        for row in self.rows():
            rejected = self.verdict(row)
            scores = {} if rejected is not None else self.scores(row)
            lines.append(NodeLine(self.names[row], row, rejected, scores))
        return lines

    def reasons(self) -> Counter[str]:
        """How often each reason was given."""
        counts: Counter[str] = Counter()
        for rejected, rows in self.first_rejections():
            for reason in rejected.reasons:
                counts[reason] += len(rows)
        return counts

    def message(self, post_filter: str = "") -> str:
        """The text of the FailedScheduling event."""
        node_count = int(self._alive.sum())
        if not node_count:
            return "no nodes available to schedule pods"
        text = f"0/{node_count} nodes are available:"
        if self.rejection is not None:
            text += f" {self.rejection.message}."
        else:
            counted = sorted(f"{count} {reason}" for reason, count in self.reasons().items())
            if counted:
                text += f" {', '.join(counted)}."
        return f"{text} {post_filter}" if post_filter else text


def _score(part: Score, raw: Values, weighted: Values, row: int) -> PluginScore:
    raw_one = raw if isinstance(raw, int) else int(raw[row])
    weighted_one = weighted if isinstance(weighted, int) else int(weighted[row])
    no_data = raw_one == UNKNOWN and bool(part.reads & Reads.DATA)
    return PluginScore(raw_one, weighted_one // part.weight, part.weight, weighted_one, no_data)


class _Past:
    """An evaluation's columns as they were at a decision."""

    def __init__(self, decision: Decision) -> None:
        self._entries = decision.evaluation.log.back_to(decision.position)
        self._by_part: dict[int, list[Any]] = {}
        for entry in self._entries:
            self._by_part.setdefault(id(entry.part), []).append(entry)

    def index(self, part: Verdict) -> NDArray[np.int16] | None:
        """A plugin's verdicts."""
        index = None if part.index is None else part.index.copy()
        if isinstance(part, Fixed):
            return index
        for entry in self._by_part.get(id(part), ()):
            if isinstance(entry, OldIndex):
                index = None if entry.verdicts is None else entry.verdicts.copy()
            elif isinstance(entry, OldVerdicts):
                assert index is not None
                index[entry.rows] = entry.numbers
        return index

    def columns(self, part: Score) -> tuple[Values, Values]:
        """A plugin's raw and weighted scores."""
        raw, weighted = _copy(part.raw), _copy(part.weighted)
        for entry in self._by_part.get(id(part), ()):
            if isinstance(entry, OldColumn):
                raw, weighted = _copy(entry.raw), _copy(entry.weighted)
            elif isinstance(entry, OldWeights):
                weighted = _copy(entry.weighted)
            elif isinstance(entry, OldScores):
                raw[entry.rows] = entry.raw  # type: ignore[index]
                weighted[entry.rows] = entry.weighted  # type: ignore[index]
        return raw, weighted

    def hidden(self, skipped_now: set[str]) -> set[str]:
        """Score plugins that had nothing to say."""
        hidden = set(skipped_now)
        for entry in self._entries:
            if isinstance(entry, OldColumn):
                name = entry.part.plugin.name
                hidden.discard(name) if entry.shown else hidden.add(name)
        return hidden


def _copy(values: Values) -> Values:
    return values if isinstance(values, int) else values.copy()


class Ring:
    """The last decisions, oldest dropped first."""

    def __init__(self, size: int = 1000) -> None:
        self._decisions: deque[Decision] = deque()
        self._size = size

    def add(self, decision: Decision) -> None:
        """Keep a decision; what only an older one needed is let go."""
        decision.kept = True
        self._decisions.append(decision)
        if len(self._decisions) > self._size:
            dropped = self._decisions.popleft()
            dropped.kept = False
            dropped.evaluation.log.trim(dropped.position)

    def of(self, key: str) -> list[Decision]:
        """The decisions on one pod, oldest first."""
        return [decision for decision in self._decisions if decision.pod.key == key]

    def __iter__(self) -> Iterator[Decision]:
        return iter(self._decisions)

    def __len__(self) -> int:
        return len(self._decisions)
