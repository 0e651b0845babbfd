"""Asking extenders about one pod: in which order, and what becomes of errors (upstream: schedule_one.go).

Filters are asked one after the other about what is left, prioritizers all at once. A filter that errs fails the pod unless it
is ignorable; one that scores and errs is passed over. Used by ``runtime.extending.attempts``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from bayplan.cycle.advice import Advice, ExtenderScores
from bayplan.errors import ExtenderError
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    import msgspec

    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cycle.attempt import Prospects
    from bayplan.framework.preemption import Nominated
    from bayplan.framework.status import Rejected
    from bayplan.runtime.extending.extender import ForeignExtender

_log: Final = get_logger(__name__)


class Room:
    """Asks nobody, but keeps what there is to ask; afterwards it says what was answered (``PreemptExtender``)."""

    ignorable = False

    def __init__(self) -> None:
        self.asked: Mapping[str, Nominated] = {}
        self._answer: Mapping[str, Nominated] | ExtenderError | None = None

    def judges_preemption(self, pod: PodInfo) -> bool:
        """Every extender that is not interested was left out before."""
        return True

    def preempt(self, pod: PodInfo, proposals: Mapping[str, Nominated]) -> Mapping[str, Nominated]:
        """The first time all proposals, then what the extenders have made of them."""
        if self._answer is None:
            self.asked = proposals
            return proposals
        if isinstance(self._answer, ExtenderError):
            raise self._answer
        return self._answer

    def answer(self, answer: Mapping[str, Nominated] | ExtenderError) -> None:
        """What the extenders leave, or why they do not say."""
        self._answer = answer


async def advise(
    extenders: Sequence[ForeignExtender], pod: msgspec.Raw, prospects: Prospects
) -> Advice:
    """What extenders say of the nodes that are left.

    Raises:
        ExtenderError: one that is not ignorable did not answer.
    """
    failed: dict[str, Rejected] = {}
    if prospects.promised:
        left = await _filtered(extenders, pod, [prospects.promised], failed)
        if left:
            return Advice(frozenset(left), failed)
    left = await _filtered(extenders, pod, prospects.nodes, failed)
    scores: Sequence[ExtenderScores] = ()
    if len(left) > 1:
        scores = await _scored(extenders, pod, left)
    return Advice(frozenset(left), failed, scores)


async def _filtered(
    extenders: Sequence[ForeignExtender],
    pod: msgspec.Raw,
    nodes: Sequence[str],
    failed: dict[str, Rejected],
) -> Sequence[str]:
    for extender in extenders:
        if not nodes:
            break
        if not extender.config.filter_verb:
            continue
        try:
            nodes, said = await extender.filter(pod, nodes)
        except ExtenderError as error:
            if not extender.ignorable:
                raise
            _log.info("Skipping ignorable extender", extender=extender.name, err=error)
            continue
        failed.update(said)
    return nodes


async def _scored(
    extenders: Sequence[ForeignExtender], pod: msgspec.Raw, nodes: Sequence[str]
) -> list[ExtenderScores]:
    async def ask(extender: ForeignExtender) -> ExtenderScores | None:
        try:
            return await extender.prioritize(pod, nodes)
        except ExtenderError as error:
            _log.warning("Extender gives no scores", extender=extender.name, err=error)
            return None

    asked = [ask(extender) for extender in extenders if extender.config.prioritize_verb]
    return [scores for scores in await asyncio.gather(*asked) if scores is not None]


async def narrowed(
    extenders: Sequence[ForeignExtender], pod: msgspec.Raw, proposals: Mapping[str, Nominated]
) -> Mapping[str, Nominated] | ExtenderError:
    """What extenders leave of the nodes where evictions would make room, or why that cannot be said."""
    for extender in extenders:
        if not proposals:
            break
        if not extender.config.preempt_verb:
            continue
        try:
            answer = await extender.preempt(pod, proposals)
        except ExtenderError as error:
            if extender.ignorable:
                _log.info("Skipping ignorable extender", extender=extender.name, err=error)
                continue
            return error
        for node in [node for node, proposal in answer.items() if not proposal.victims]:
            if not extender.ignorable:
                return ExtenderError(f'expected at least one victim pod on node "{node}"')
            del answer[node]
        proposals = answer
    return proposals
