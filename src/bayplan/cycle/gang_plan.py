"""A plan for a gang as one more way to try it: each member on the node that the solver found for it, and nowhere else.

The plan was made on the cluster as it was a moment ago. Whether it still holds is for the filters to say, which run as in any
attempt; that all members are in one domain is no filter's business, so it is looked at here. Asked by ``cycle.gang``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayplan.cycle.confined import Confined, confined
from bayplan.cycle.gang_trial import Member, Way

if TYPE_CHECKING:
    from bayplan.cluster.view import ClusterView


def as_planned(plan: Mapping[str, str], ways: Sequence[Way], view: ClusterView) -> Sequence[Way]:
    """The plan as a way; none where there is no plan, or where it leaves every place in which the gang may be.

    Args:
        plan: a node for each member, by ``namespace/name``.
        ways: what is tried otherwise: domains, or the whole cluster.
        view: the cluster.
    """
    rows = {key: view.row_of(node) for key, node in plan.items()}
    used = [row for row in rows.values() if row is not None]
    if not used or not any(way.rows is None or way.rows[used].all() for way in ways):
        return ()

    def confine(member: Member) -> Confined:
        allowed = np.zeros(len(view.nodes), np.bool_)
        row = rows.get(member.pod.key)
        if row is not None:
            allowed[row] = True
        return confined(allowed, "node(s) other than the one that was planned", member.advice)

    return (Way(confine, by_class=False, name="the solver's plan"),)
