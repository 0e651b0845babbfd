"""Every score of every node in the log, at -v=10, as kube-scheduler has it there: for small clusters and short times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayplan.cycle.outcome import Failed, Outcome

if TYPE_CHECKING:
    from bayplan.telemetry.log import Logger


def tell_scores(log: Logger, outcome: Outcome) -> None:
    """What each plugin gave each node that fits, and the totals."""
    if isinstance(outcome, Failed):
        return
    pod = outcome.pod.key
    for line in outcome.decision.picture().lines():
        if line.rejected is not None:
            said = line.rejected
            log.info(
                "Node turned down", pod=pod, node=line.node, plugin=said.plugin, status=said.message
            )
            continue
        for name, score in line.scores.items():
            log.info(
                "Plugin scored node for pod",
                pod=pod,
                plugin=name,
                node=line.node,
                score=score.weighted,
            )
        log.info("Calculated node's final score for pod", pod=pod, node=line.node, score=line.total)
