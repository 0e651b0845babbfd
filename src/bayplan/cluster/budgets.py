"""Pod disruption budgets by namespace.

Fed by the cluster; read by preemption, which evicts against a budget only when nothing else helps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayplan.cluster.changes import Reads
from bayplan.cluster.journal import Journal
from bayplan.errors import SelectorError
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.selectors import NOTHING, Operator, Selector, compile_label_selector

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Budget:
    """One budget, with its selector compiled."""

    __slots__ = ("allowed", "anchors", "disrupted", "name", "namespace", "selector")

    def __init__(self, budget: PodDisruptionBudget) -> None:
        self.namespace = budget.metadata.namespace
        self.name = budget.metadata.name
        self.selector = _selector(budget)
        #: Labels of which a pod must have one to be covered; empty where the selector names none.
        self.anchors: tuple[tuple[str, str], ...] = _anchors(self.selector)
        #: Pods that may be disrupted now.
        self.allowed: int = budget.status.disruptions_allowed
        #: Pods whose disruption is under way and counted already.
        self.disrupted = frozenset(budget.status.disrupted_pods)


class Budgets:
    """Budgets by namespace and name."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._budgets: dict[str, dict[str, Budget]] = {}
        #: By namespace and anchor; under None those that have no anchor.
        self._anchored: dict[tuple[str, tuple[str, str] | None], dict[str, Budget]] = {}

    def put(self, budget: PodDisruptionBudget) -> None:
        """Add or replace a budget."""
        made = Budget(budget)
        self._drop(made.namespace, made.name)
        self._budgets.setdefault(made.namespace, {})[made.name] = made
        for anchor in made.anchors or (None,):
            self._anchored.setdefault((made.namespace, anchor), {})[made.name] = made
        self._journal.topic_changed(Reads.BUDGETS)

    def remove(self, budget: PodDisruptionBudget) -> None:
        """Forget a budget."""
        if self._drop(budget.metadata.namespace, budget.metadata.name):
            self._journal.topic_changed(Reads.BUDGETS)

    def _drop(self, namespace: str, name: str) -> bool:
        budget = self._budgets.get(namespace, {}).pop(name, None)
        if budget is None:
            return False
        for anchor in budget.anchors or (None,):
            del self._anchored[namespace, anchor][name]
        return True

    def __len__(self) -> int:
        return sum(map(len, self._budgets.values()))

    def all(self) -> Sequence[Budget]:
        """Every budget, in the order in which they came."""
        return [budget for named in self._budgets.values() for budget in named.values()]

    def in_namespace(self, namespace: str) -> Sequence[Budget]:
        """The budgets that can apply to pods of a namespace."""
        named = self._budgets.get(namespace)
        return tuple(named.values()) if named else ()

    def covering(self, namespace: str, labels: Mapping[str, str]) -> list[Budget]:
        """The budgets that count pods with these labels: an empty selector counts none, nor do pods without labels."""
        anchors: list[tuple[str, str] | None] = [*labels.items(), None] if labels else []
        return [
            budget
            for anchor in anchors
            for budget in self._anchored.get((namespace, anchor), {}).values()
            if not budget.selector.empty and budget.selector.matches(labels)
        ]


def _selector(budget: PodDisruptionBudget) -> Selector:
    """Whom a budget protects; one that cannot be read protects nobody, as in Kubernetes."""
    try:
        return compile_label_selector(budget.spec.selector)
    except SelectorError:
        return NOTHING


def _anchors(selector: Selector) -> tuple[tuple[str, str], ...]:
    for requirement in selector.requirements:
        if requirement.operator is Operator.IN:
            return tuple((requirement.key, value) for value in requirement.values)
    return ()
