"""All checks on one plugin, and what they found. Called by ``cli.lint_plugin``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayplan.errors import BayplanError
from bayplan.framework.plugin import Plugin
from bayplan.kit.linting import agreement, hints, imports, repeatable, speed
from bayplan.kit.linting.agreement import FORMS, READS
from bayplan.kit.linting.answers import ANSWERS
from bayplan.kit.linting.findings import Finding, Severity
from bayplan.kit.linting.repeatable import ARGUMENTS, REPEATABLE
from bayplan.kit.linting.vocabulary import Vocabulary, vocabulary
from bayplan.kit.linting.worlds import worlds

if TYPE_CHECKING:
    from bayplan.clock import Clock
    from bayplan.kit.linting.speed import Speed
    from bayplan.kit.linting.subject import Subject

#: In the order in which they run.
RULES = {
    imports.RULE: "decisions use no clock, dice, network, files or threads",
    ANSWERS: "answers are usable: None or Rejected, scores from 0 to 100, no exceptions",
    REPEATABLE: "the same pod and node get the same answer: twice, in another order, from a new instance",
    ARGUMENTS: "pod and nodes are as they were",
    FORMS: "per-node and column form agree",
    hints.RULE: "hints cope with objects that come, change and go",
    READS: "what is remembered holds when nodes, pods and data change",
    speed.RULE: "pods per second",
}


@dataclass(frozen=True, slots=True)
class Report:
    """What there is to say of a plugin."""

    plugin: str
    points: tuple[str, ...]
    #: At most one per rule, except for imports.
    findings: tuple[Finding, ...]
    #: Rules that were not tried, and why not.
    untried: Mapping[str, str]
    #: None where it was not measured, or could not be.
    speed: Speed | None

    @property
    def is_good(self) -> bool:
        """Whether nothing is at fault."""
        return all(finding.severity is not Severity.FAULT for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Measuring:
    """How the speed is measured."""

    clock: Clock
    nodes: int = 5000
    #: Per run; there are four.
    seconds: float = 1.0
    least: float = 0.0


def lint(subject: Subject, measuring: Measuring | None) -> Report:
    """Run the checks; without ``measuring`` speed is left out."""
    words = vocabulary(subject.tree)
    untried = _not_for(subject)
    findings = [*imports.check(subject), *_first_of_each(subject, words, untried)]
    measured = None
    if measuring is not None and not _is_broken(findings):
        try:
            measured = _measured(subject, words, measuring)
            findings += speed.check(measured, measuring.least)
        except BayplanError as error:
            cure = "mend it first: a plugin that fails places nothing"
            findings.append(Finding(speed.RULE, str(error), cure))
    return Report(subject.plugin.name, subject.plugin.points(), tuple(findings), untried, measured)


def _not_for(subject: Subject) -> dict[str, str]:
    """The rules that a plugin of this make cannot break."""
    untried = {}
    if not (subject.filters_nodes or subject.filters_columns) and not (
        subject.scores_nodes or subject.scores_columns
    ):
        why = "it neither filters nor scores"
        return dict.fromkeys((ANSWERS, REPEATABLE, ARGUMENTS, FORMS, READS), why)
    if not (subject.filters_nodes and subject.filters_columns) and not (
        subject.scores_nodes and subject.scores_columns
    ):
        untried[FORMS] = "it has one form alone"
    if subject.plugin.wakes_on is Plugin.wakes_on:
        untried[hints.RULE] = "it names no events: whatever happens wakes its pods"
    if not subject.claims_to_be_pure:
        untried[READS] = "cache = False: nothing is remembered"
    return untried


def _measured(subject: Subject, words: Vocabulary, measuring: Measuring) -> Speed:
    def measure(said: Vocabulary) -> Speed:
        return speed.measure(subject, said, measuring.clock, measuring.nodes, measuring.seconds)

    try:
        return measure(words)
    except BayplanError:
        # Its words need not be fit to be values of its labels: once more, with nodes that carry none of them.
        return measure(dataclasses.replace(words, words=()))


def _is_broken(findings: list[Finding]) -> bool:
    """Whether attempts would fail, so that there is nothing to measure."""
    return any(f.rule == ANSWERS and f.severity is Severity.FAULT for f in findings)


def _first_of_each(
    subject: Subject, words: Vocabulary, untried: dict[str, str]
) -> Iterator[Finding]:
    """Every rule's first finding over all worlds: one is enough to work on."""
    seen: dict[str, Finding] = {}
    for world in worlds(words):
        for finding in (*repeatable.check(subject, world), *hints.check(subject, world)):
            seen.setdefault(finding.rule, finding)
    if set(seen) - {hints.RULE}:
        for rule in (FORMS, READS):
            untried.setdefault(rule, "needs answers that are usable and repeatable")
    else:
        for check in (agreement.check_forms, agreement.check_reads):
            for world in worlds(words):
                for finding in check(subject, world):
                    seen.setdefault(finding.rule, finding)
    yield from seen.values()
