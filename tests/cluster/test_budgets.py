"""Which disruption budgets count which pods."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.cluster.budgets import Budgets
from bayplan.cluster.changes import Reads
from bayplan.cluster.journal import Journal
from bayplan.model.decode import decode


def a_budget(name: str, selector: Any, namespace: str = "default") -> Any:
    return decode(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"selector": selector},
        }
    )


def labels(**match: str) -> dict[str, Any]:
    return {"matchLabels": match}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("selector", "pod", "covered"),
    [
        pytest.param(labels(app="web"), {"app": "web", "x": "y"}, True, id="by label"),
        pytest.param(labels(app="web"), {"app": "db"}, False, id="another label"),
        pytest.param(labels(app="web", x="y"), {"app": "web"}, False, id="one label of two"),
        pytest.param(expression("app", "In", "web", "db"), {"app": "db"}, True, id="one of many"),
        pytest.param(expression("app", "NotIn", "web"), {"x": "y"}, True, id="without the label"),
        pytest.param(expression("app", "Exists"), {"app": ""}, True, id="with the label"),
        pytest.param(expression("app", "NotIn", "web"), {}, False, id="a pod without labels"),
        pytest.param({}, {"app": "web"}, False, id="an empty selector"),
        pytest.param(None, {"app": "web"}, False, id="no selector"),
        pytest.param(expression("app", "Near"), {"app": "web"}, False, id="one that says nothing"),
    ],
)
def test_covering(selector: Any, pod: dict[str, str], covered: bool) -> None:
    budgets = Budgets(Journal())
    budgets.put(a_budget("b", selector))
    budgets.put(a_budget("other", labels(app="web"), namespace="other"))
    assert [b.name for b in budgets.covering("default", pod)] == (["b"] if covered else [])


def test_a_budget_that_changes_or_goes() -> None:
    journal = Journal()
    budgets = Budgets(journal)
    budgets.put(a_budget("b", expression("app", "In", "web", "db")))
    budgets.put(a_budget("b", labels(app="cache")))
    assert len(budgets) == 1
    assert budgets.covering("default", {"app": "web"}) == []
    assert [b.name for b in budgets.covering("default", {"app": "cache"})] == ["b"]
    before = journal.versions(Reads.BUDGETS)
    budgets.remove(a_budget("b", None))
    assert budgets.covering("default", {"app": "cache"}) == []
    assert len(budgets) == 0
    assert journal.versions(Reads.BUDGETS) != before
