"""Label selectors as they stand in objects, against labels.

Read by evictions, which look for a pod's budget, and by the validation of workloads.
"""

from __future__ import annotations

from bayplan.embedded.objects import Object, as_list, as_object
from bayplan.model.selectors import selector_from_map


def selects(selector: object, labels: dict[str, str]) -> bool:
    """Whether a LabelSelector as JSON has it selects these labels; an empty one selects all, none selects nothing."""
    if not isinstance(selector, dict):
        return False
    if not selector_from_map(as_object(selector.get("matchLabels"))).matches(labels):
        return False
    return all(_holds(one, labels) for one in as_list(selector.get("matchExpressions")))


def _holds(expression: Object, labels: dict[str, str]) -> bool:
    value, values = labels.get(expression.get("key", "")), as_list(expression.get("values"))
    match expression.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return False
