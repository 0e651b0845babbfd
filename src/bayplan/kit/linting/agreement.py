"""Checks ``forms`` and ``reads``: per-node and column form agree, and remembered answers are thrown away in time.

Both run whole attempts: the plugin decides alone, pod after pod, while nodes and pods come, change and go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from bayplan.cycle.attempt import attempt
from bayplan.cycle.desk import Desk
from bayplan.cycle.outcome import Failed
from bayplan.cycle.record import Ring
from bayplan.framework.dice import Dice
from bayplan.kit.linting.answers import ANSWERS
from bayplan.kit.linting.findings import Finding
from bayplan.kit.linting.subject import Subject
from bayplan.kit.linting.worlds import World

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.framework.plugin import Plugin

FORMS: Final = "forms"
READS: Final = "reads"

#: So many rounds of events and attempts per world.
_ROUNDS: Final = 12


def check_forms(subject: Subject, world: World) -> Iterator[Finding]:
    """Whether the two forms of a plugin say the same; the first difference."""
    both = (subject.filters_nodes and subject.filters_columns) or (
        subject.scores_nodes and subject.scores_columns
    )
    if not both:
        return
    columns, nodes = subject.desk(world.cluster), subject.desk(world.cluster, subject.per_node())
    for number, pod in _pods(world):
        difference = _difference(pod, columns, nodes)
        if difference:
            node, one, other = difference
            yield Finding(
                FORMS,
                f"{node}: the column form says {one}, the per-node form {other}",
                "make them equal, or leave one out: the column form is the one that runs",
            )
            return
        world.happen(number)


def check_reads(subject: Subject, world: World) -> Iterator[Finding]:
    """Whether what is remembered still holds after things have changed; the first that does not."""
    if not subject.claims_to_be_pure:
        return
    kept = subject.desk(world.cluster)
    for number, pod in _pods(world):
        failure = _failure(pod, kept)
        if failure:
            yield Finding(
                ANSWERS,
                f"an attempt fails: {failure}",
                "scores of nodes in play must be from 0 to 100 once normalised; a filter answers for every node",
            )
            return
        difference = _difference(pod, kept, _that_forgot(kept))
        if difference:
            node, one, other = difference
            yield Finding(
                READS,
                f"{node}: {one} is remembered, and would be {other} if asked now",
                _cure(subject.plugin),
            )
            return
        world.happen(number)


def _that_forgot(desk: Desk) -> Desk:
    """A desk with the same plugins that has seen no pod yet."""
    return Desk(desk.cluster, desk.profile, Dice(0), Ring(), desk.handle)


def _cure(plugin: type[Plugin]) -> str:
    if plugin.reads is None:
        return "read the cluster through pod and node alone, or set cache = False"
    return "name in reads all that the answer depends on; if unsure leave reads out (slower, still right)"


def _pods(world: World) -> Iterator[tuple[int, PodInfo]]:
    for number in range(_ROUNDS):
        yield number, world.pods[number % 2]  # the same few, so that something is remembered


def _failure(pod: PodInfo, desk: Desk) -> str:
    """Why an attempt fails that has all the data it asks for; empty where it does not."""
    said = _lines(pod, desk)
    return said if isinstance(said, str) and "no data" not in said else ""


def _difference(pod: PodInfo, one: Desk, other: Desk) -> tuple[str, str, str] | None:
    """The first node on which two desks disagree, and what each says of it."""
    said, wanted = _lines(pod, one), _lines(pod, other)
    if isinstance(said, str) or isinstance(wanted, str):
        # Which of several nodes fails an attempt first is not compared.
        if isinstance(said, str) and isinstance(wanted, str):
            return None
        return f"pod {pod.key}", _told(said), _told(wanted)
    for left, right in zip(said, wanted, strict=True):
        if left != right:
            return f"node {left.node}", _of(left), _of(right)
    return None


def _lines(pod: PodInfo, desk: Desk) -> list[Any] | str:
    outcome = attempt(pod, desk)
    if isinstance(outcome, Failed):
        return str(outcome.error)
    return list(outcome.decision.picture().lines())


def _told(said: list[Any] | str) -> str:
    return f"an error ({said})" if isinstance(said, str) else "an answer"


def _of(line: Any) -> str:
    if line.rejected is not None:
        return repr(line.rejected)
    scores = {name: score.raw for name, score in line.scores.items()}
    return f"raw scores {scores}" if scores else "that it passes"
