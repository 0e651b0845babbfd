"""What our plugins say, as an extender has to say it: which nodes pass and why others do not, scores, victims.

The plugins run on the same columns and through the same evaluations as in ``bayplan run``; what is known of alike pods is kept
between requests, and between the verbs. Called by ``serve.extender.server``; knows no HTTP.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from bayplan.cycle.record import Decision
from bayplan.errors import DecodeError, PluginError
from bayplan.framework.status import Code
from bayplan.model.decode import decode_as
from bayplan.model.pod import Pod
from bayplan.serve.extender import wire

if TYPE_CHECKING:
    from bayplan.cluster.cluster import Cluster
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cycle.desk import Desk
    from bayplan.cycle.evaluation import Evaluation
    from bayplan.framework.status import Rejected
    from bayplan.serve.extender.sent_nodes import Asked, SentNodes

MAX_SCORE: Final = 10
UNKNOWN: Final = "node is not known to the extender"


#: Answers of filter that are kept; each may have some hundred kilobytes.
_ANSWERS_KEPT: Final = 16


class _Given(NamedTuple):
    """An answer to filter: the same again while no verdict has changed and the same names are sent."""

    evaluation: Evaluation
    #: The end of the evaluation's log then: every change of a verdict is in there.
    position: int
    asked: Asked
    text: msgspec.Raw

    def holds_for(self, evaluation: Evaluation, asked: Asked) -> bool:
        return (
            self.evaluation is evaluation
            and self.position == evaluation.log.end
            and self.asked is asked
        )


class Answers:
    """Answers filter, prioritize and preempt."""

    def __init__(self, cluster: Cluster, desks: Mapping[str, Desk], nodes: SentNodes) -> None:
        self._cluster = cluster
        #: By scheduler name; pods of other schedulers are judged by the first profile.
        self._desks = desks
        self._nodes = nodes
        self._given: OrderedDict[int, _Given] = OrderedDict()

    def desk_of(self, pod: PodInfo) -> Desk:
        """The profile for a pod: that of its scheduler's name, or else the first."""
        first = next(iter(self._desks.values()))
        return self._desks.get(pod.spec.scheduler_name, first)

    def pod(self, raw: msgspec.Raw) -> PodInfo:
        """The pod of a request. Raises ``DecodeError``."""
        if bytes(raw) == b"null":
            raise DecodeError("no Pod was sent")
        return self._cluster.info(decode_as(Pod, bytes(raw)))

    def asked(self, arguments: wire.Arguments) -> Asked:
        """The nodes of a request. Raises ``DecodeError``."""
        return self._nodes.find(arguments)

    def _evaluate(self, pod: PodInfo) -> tuple[Evaluation, Desk]:
        desk = self.desk_of(pod)
        desk.handle.deciding = True
        desk.laps.begin()
        try:
            return desk.classes.evaluation(pod), desk
        finally:
            desk.handle.deciding = False

    # --- filter --------------------------------------------------------------------------------------------------------

    def filter(self, arguments: wire.Arguments) -> msgspec.Raw:
        """Which nodes pass, and what is wrong with the others: a ``wire.FilterAnswer`` in JSON.

        Raises:
            DecodeError: the request cannot be read.
            PluginError: a plugin failed.
        """
        asked = self.asked(arguments)
        pod = self.pod(arguments.pod)
        evaluation, desk = self._evaluate(pod)
        desk.ring.add(Decision(pod, evaluation, {}))
        given = self._given.get(id(evaluation))
        if given is not None and given.holds_for(evaluation, asked):
            return given.text
        text = msgspec.Raw(wire.encode(_filtered(evaluation, asked)))
        if asked.text is not None:
            self._keep(_Given(evaluation, evaluation.log.end, asked, text))
        return text

    def _keep(self, given: _Given) -> None:
        self._given[id(given.evaluation)] = given
        self._given.move_to_end(id(given.evaluation))
        if len(self._given) > _ANSWERS_KEPT:
            self._given.popitem(last=False)

    # --- prioritize ----------------------------------------------------------------------------------------------------

    def prioritize(self, arguments: wire.Arguments) -> list[wire.HostPriority]:
        """Scores of the nodes: the best of them gets 10, the worst 0. Raises as ``filter``."""
        asked = self.asked(arguments)
        pod = self.pod(arguments.pod)
        evaluation, desk = self._evaluate(pod)
        passed = _passed(evaluation, asked)
        desk.handle.deciding = True
        try:
            totals = _totals(evaluation, pod, asked, passed)
        finally:
            desk.handle.deciding = False
        scores = stretched(totals, passed)
        return [
            wire.HostPriority(name, score)
            for name, score in zip(asked.names, scores.tolist(), strict=True)
        ]

    # --- preempt -------------------------------------------------------------------------------------------------------

    def preempt(self, arguments: wire.PreemptionArguments) -> wire.PreemptionAnswer:
        """The nodes where evicting these pods would do: those that our filters let pass without them. Raises as ``filter``."""
        sent = wire.victims_of(arguments)
        pod = self.pod(arguments.pod)
        evaluation, desk = self._evaluate(pod)
        desk.handle.deciding = True
        try:
            left = {
                node: victims
                for node, victims in sent.items()
                if self._would_do(node, victims, pod, evaluation, desk)
            }
        finally:
            desk.handle.deciding = False
        return meta_victims(left)

    def _would_do(
        self, node: str, victims: wire.Victims, pod: PodInfo, evaluation: Evaluation, desk: Desk
    ) -> bool:
        if evaluation.feasible is None:
            return False
        row = self._cluster.view.row_of(node)
        if row is None:
            return False
        pods, uids = self._cluster.pods, frozenset(victims.uids)
        engine = desk.engine(evaluation)
        trial, state = self._cluster.view.trial(np.array([row], np.intp)), evaluation.state.clone()
        for other in pods.on_node(row):
            if pods.uids[other] in uids:
                engine.remove_pod(pod, pods.info(other, node), trial, 0, state)
        said = engine.judge(pod, trial, 0, state)
        if said is not None and said.code is Code.ERROR:
            raise PluginError(said.plugin, "Filter", said.message)
        return said is None


def _filtered(evaluation: Evaluation, asked: Asked) -> wire.FilterAnswer:
    passed = _passed(evaluation, asked)
    failed: dict[str, str] = {}
    unresolvable: dict[str, str] = {}
    if not passed.all():
        _say_why(evaluation, asked, passed, failed, unresolvable)
    return answer_with(asked, passed, failed, unresolvable)


def answer_with(
    asked: Asked,
    passed: NDArray[np.bool_],
    failed: Mapping[str, str],
    unresolvable: Mapping[str, str],
) -> wire.FilterAnswer:
    """The nodes that passed, in the form in which they were sent."""
    nodes = text = None
    if asked.nodes is not None:
        nodes = wire.node_list(
            raw for raw, ok in zip(asked.nodes, passed.tolist(), strict=True) if ok
        )
    elif passed.all():
        text = asked.text
    else:
        left = [name for name, ok in zip(asked.names, passed.tolist(), strict=True) if ok]
        text = msgspec.Raw(wire.encode(left))
    return wire.FilterAnswer(nodes, text, failed, unresolvable)


def everything_passes(asked: Asked) -> wire.FilterAnswer:
    """As if there were no filter."""
    return answer_with(asked, np.ones(len(asked.names), np.bool_), {}, {})


def meta_victims(left: Mapping[str, wire.Victims]) -> wire.PreemptionAnswer:
    """Nodes and victims as preempt answers them."""
    return wire.PreemptionAnswer(
        {
            node: wire.MetaVictims([wire.MetaPod(uid) for uid in victims.uids], victims.violations)
            for node, victims in left.items()
        }
    )


def stretched(totals: NDArray[np.int64], counts: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Totals as scores from 0 to 10: divided plainly, nearly all nodes would be tied.

    ``counts``: the nodes among which the best and the worst are found; the others get 0.
    """
    scores = np.zeros(len(totals), np.int64)
    if counts.any():
        low, high = int(totals[counts].min()), int(totals[counts].max())
        span = high - low
        # Where all are alike, all are the best.
        scores[counts] = MAX_SCORE
        if span:
            # In floats: what is far apart would not fit into 64 bits.
            share = (totals[counts].astype(np.float64) - low) / span
            scores[counts] = np.floor(share * MAX_SCORE + 0.5)
    return scores


def _passed(evaluation: Evaluation, asked: Asked) -> NDArray[np.bool_]:
    known = asked.rows >= 0
    if evaluation.feasible is None or not len(evaluation.names):
        return np.zeros(len(asked.names), np.bool_)
    return known & evaluation.feasible.open[np.where(known, asked.rows, 0)]


def _totals(
    evaluation: Evaluation, pod: PodInfo, asked: Asked, passed: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Weighted sums, scaled over the nodes that are asked about."""
    if evaluation.feasible is None or not passed.any():
        return np.zeros(len(asked.names), np.int64)
    others = evaluation.feasible.open.copy()
    others[asked.rows[passed]] = False
    rank = evaluation.ranking(pod)
    if others.any():
        rank = evaluation.ranking_without(pod, np.flatnonzero(others).tolist())
    return rank.total[np.where(passed, asked.rows, 0)]


def _say_why(
    evaluation: Evaluation,
    asked: Asked,
    passed: NDArray[np.bool_],
    failed: dict[str, str],
    unresolvable: dict[str, str],
) -> None:
    """The first objection to each node that did not pass, under what it means for preemption."""

    def note(numbers: NDArray[np.intp], said: Rejected) -> None:
        where = unresolvable if said.code is Code.UNRESOLVABLE else failed
        for number in numbers.tolist():
            where[asked.names[number]] = said.message

    rejection = evaluation.prefilter.rejection
    if rejection is not None:
        note(np.arange(len(asked.names)), rejection)
        return
    open_questions = ~passed
    unknown = open_questions & (asked.rows < 0)
    for number in np.flatnonzero(unknown).tolist():
        failed[asked.names[number]] = UNKNOWN
    open_questions &= ~unknown
    assert evaluation.feasible is not None
    rows = np.where(asked.rows < 0, 0, asked.rows)
    for part in evaluation.feasible.verdicts:
        if part.index is None or not open_questions.any():
            continue
        numbers = np.where(open_questions, part.index[rows], 0)
        for number in np.unique(numbers).tolist():
            if number:
                note(np.flatnonzero(numbers == number), part.outcome(number))
        open_questions &= numbers == 0
