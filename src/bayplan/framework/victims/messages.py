"""What DefaultPreemption says where it finds nothing, in Kubernetes' words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from bayplan.framework.status import Code, Rejected, unresolvable

NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"
NO_VICTIMS: Final = unresolvable("No preemption victims found for incoming pod")


def unexpected_fit(node: str) -> Rejected:
    """A node that was turned down, and now fits with nobody gone."""
    return Rejected(f'expected at least one victim pod on node "{node}"', code=Code.ERROR)


def none_available(nodes: int, objections: Mapping[Rejected, int]) -> str:
    """How often each reason stood in the way; nodes that eviction could not help at all are counted together.

    ``objections`` says of how many nodes each thing was said.
    """
    reasons: Counter[str] = Counter()
    for said, count in objections.items():
        for reason in said.reasons:
            reasons[reason] += count
    untried = nodes - sum(objections.values())
    if untried > 0:
        reasons[NOT_HELPFUL] += untried
    text = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    return f"0/{nodes} nodes are available: {text}." if text else f"0/{nodes} nodes are available:"


def aggregate(errors: Iterable[str]) -> str:
    """Several errors in one line, each once."""
    distinct = list(dict.fromkeys(errors))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
