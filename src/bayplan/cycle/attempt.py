"""One attempt to place one pod: the whole story, from the pod in hand to an Outcome.

Called by the runtime for every pod that leaves the queue, by ``evaluate`` and ``explain`` for a pod in a file, and by
the simulator. Nothing is assumed and nothing is sent here: the caller acts on the outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayplan.cycle import custom
from bayplan.cycle.outcome import Failed, Outcome, Placed, Unplaced
from bayplan.cycle.postfilter import make_room
from bayplan.cycle.promised import turned_down_by_promises
from bayplan.cycle.rank import CLOSED
from bayplan.cycle.record import Decision, Picture
from bayplan.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cycle.advice import Advice
    from bayplan.cycle.desk import Desk
    from bayplan.framework.dice import Dice
    from bayplan.framework.status import Mask, Rejected


def attempt(pod: PodInfo, desk: Desk, advice: Advice | None = None) -> Outcome:
    """Find the best node for a pod, or say why there is none; ``advice``: what extenders have said of it."""
    desk.handle.deciding = True
    desk.laps.begin()
    try:
        if desk.algorithm is None:
            decision = evaluate(pod, desk, advice)
        else:
            decision = custom.decide(pod, desk.algorithm, desk.profile, desk.view)
        desk.ring.add(decision)
        if decision.chosen >= 0:
            return Placed(pod, decision.node, decision, decision.evaluation.state)
        picture = decision.picture()
        decision.nominated, decision.post_filter = make_room(decision, picture, desk)
        desk.laps.lap("PostFilter")
        return _unplaced(decision, picture)
    except PluginError as error:
        return Failed(pod, error)
    finally:
        desk.handle.deciding = False


def attempt_member(
    pod: PodInfo, desk: Desk, advice: Advice | None = None, *, quiet: bool = False
) -> Outcome:
    """The same for one of many that are decided together: it makes no room for itself alone. ``quiet``: nobody hears of it."""
    desk.handle.deciding = True
    desk.laps.begin()
    try:
        if desk.algorithm is None:
            decision = evaluate(pod, desk, advice)
        else:
            decision = custom.decide(pod, desk.algorithm, desk.profile, desk.view)
        if not quiet:
            desk.ring.add(decision)
        if decision.chosen >= 0:
            return Placed(pod, decision.node, decision, decision.evaluation.state)
        return _unplaced(decision, decision.picture())
    except PluginError as error:
        return Failed(pod, error)
    finally:
        desk.handle.deciding = False


@dataclass(frozen=True, slots=True)
class Prospects:
    """The nodes that a pod could go to as far as the filters are concerned."""

    nodes: Sequence[str]
    #: The one promised to it, if it is among them: it is tried alone, before all others.
    promised: str = ""


def prospects(pod: PodInfo, desk: Desk) -> Prospects | Failed:
    """Which nodes extenders are to be asked about."""
    desk.handle.deciding = True
    desk.laps.begin()
    try:
        evaluation = desk.classes.evaluation(pod)
        if evaluation.feasible is None:
            return Prospects(())
        overrides = turned_down_by_promises(pod, evaluation, desk)
        passed = evaluation.feasible.open
        rows = [row for row in np.flatnonzero(passed).tolist() if row not in overrides]
        names = evaluation.names
        promised = _nominated_row(Decision(pod, evaluation, overrides), desk)
        return Prospects([names[row] for row in rows], names[promised] if promised >= 0 else "")
    except PluginError as error:
        return Failed(pod, error)
    finally:
        desk.handle.deciding = False


def evaluate(pod: PodInfo, desk: Desk, advice: Advice | None = None) -> Decision:
    """What every filter and score says of every node, and the choice that follows."""
    # As far as this pod's class is known already; what changed since is judged again now.
    evaluation = desk.classes.evaluation(pod)
    # Nodes where pods that were promised room leave none for this one.
    overrides = turned_down_by_promises(pod, evaluation, desk)
    if advice is not None:
        overrides = advice.turned_down(evaluation) | overrides
    decision = Decision(pod, evaluation, overrides, advice)
    _choose(decision, desk)
    return decision


def passes(pod: PodInfo, desk: Desk, row: int) -> bool:
    """Whether a node passes all filters for a pod, promises to others counted in."""
    evaluation = desk.classes.evaluation(pod)
    if evaluation.feasible is None or not evaluation.feasible.open[row]:
        return False
    return row not in turned_down_by_promises(pod, evaluation, desk)


def _choose(decision: Decision, desk: Desk) -> None:
    """The best of the nodes that passed; among equals the dice decide."""
    evaluation = decision.evaluation
    if evaluation.feasible is None:
        return
    nominated = _nominated_row(decision, desk)
    if nominated >= 0:
        decision.chosen, decision.fits, decision.ties = nominated, True, 1
        return
    if evaluation.rank is None and not _any_left(evaluation.feasible.open, decision.overrides):
        return  # PreScore is for nodes that fit: an error of it must not hide why none does
    ranked = decision.ranking().ranked
    if decision.overrides:
        ranked = ranked.copy()
        ranked[list(decision.overrides)] = CLOSED
    if decision.advice is not None:
        ranked = decision.advice.added_to(ranked, evaluation.names)
    if not len(ranked):
        return
    first = int(ranked.argmax())
    decision.best = int(ranked[first])
    if decision.best == CLOSED:
        return
    decision.fits = True
    tied = ranked == decision.best
    decision.ties = int(np.count_nonzero(tied))
    decision.chosen = first if decision.ties == 1 else _draw(tied, decision.ties, desk.dice)


def _any_left(passed: Mask, closed: Mapping[int, Rejected]) -> bool:
    return int(np.count_nonzero(passed)) > sum(bool(passed[row]) for row in closed)


def _draw(tied: NDArray[np.bool_], ties: int, dice: Dice) -> int:
    """One of the tied rows, each as likely as the next."""
    if ties * 8 < len(tied):
        return int(np.flatnonzero(tied)[dice.below(ties)])
    # Where many are tied, listing them all takes longer than throwing until one is hit.
    while True:
        row = dice.below(len(tied))
        if tied[row]:
            return row


def _nominated_row(decision: Decision, desk: Desk) -> int:
    """The node promised to this very pod, if it still passes: it is taken without looking further."""
    name = desk.cluster.nominations.node_of(decision.pod.key) or decision.pod.nominated_node
    row = desk.view.row_of(name) if name else None
    feasible = decision.evaluation.feasible
    if row is None or feasible is None or row in decision.overrides or not feasible.open[row]:
        return -1
    return row


def _unplaced(decision: Decision, picture: Picture) -> Unplaced:
    rejected_by = set(decision.evaluation.prefilter.plugins)
    if picture.rejection is not None and picture.rejection.plugin:
        rejected_by.add(picture.rejection.plugin)
    if picture.rejection is None:
        rejected_by.update(said.plugin for said, _ in picture.first_rejections() if said.plugin)
    return Unplaced(
        decision.pod,
        decision,
        picture.message(decision.post_filter),
        frozenset(rejected_by),
        decision.nominated,
    )
