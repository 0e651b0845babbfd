from __future__ import annotations

import numpy as np
import pytest

from bayplan import (
    CycleState,
    FilterPlugin,
    Mask,
    NodeInfo,
    Nodes,
    PodInfo,
    Reads,
    Rejected,
    ScorePlugin,
    Scores,
)
from bayplan.testing import assert_forms_agree, make_cluster, make_node, make_pod, per_node_form


class Emptiest(FilterPlugin, ScorePlugin):
    """Both forms, with a limit that differs by ``gap``."""

    reads = Reads.USAGE
    reason = "full"
    gap: int = 0

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Mask:
        return np.asarray(nodes.pod_count < 2)

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        return Rejected("full") if node.pod_count >= 2 + self.gap else None

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores:
        return 100 - nodes.pod_count

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        return 100 - node.pod_count


PODS = [make_pod(f"p{i}") for i in range(3)]


def test_forms_that_agree() -> None:
    assert_forms_agree(Emptiest, make_cluster(make_node("a")), *PODS)


def test_forms_that_do_not() -> None:
    with pytest.raises(AssertionError, match="pod default/p2: the column form says"):
        assert_forms_agree(
            Emptiest, make_cluster(make_node("a")), *PODS, args={"Emptiest": {"gap": 1}}
        )


def test_the_per_node_form_alone() -> None:
    form = per_node_form(Emptiest)
    assert issubclass(form, FilterPlugin)
    assert issubclass(form, ScorePlugin)
    assert (form.name, form.filter, form.score) == (
        "Emptiest",
        FilterPlugin.filter,
        ScorePlugin.score,
    )
