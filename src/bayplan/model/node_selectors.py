"""Node selectors: terms over labels and over the node's name, one of which must match.

``NodeSelector`` and its parts are what pods and volumes hold. ``compile_node_selector`` and
``compile_preferred_terms`` make them ready to be asked, with upstream's rules (``component-helpers/scheduling/corev1/
nodeaffinity``): an empty term matches no node, a term that does not parse takes only itself out, and its error counts
only if no other term matches.

Read by node affinity and by volumes, for single nodes or, through ``NodeTerm``'s requirements, for whole columns.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from bayplan.errors import SelectorError
from bayplan.model.label_selectors import Operator, Requirement, requirement_problems
from bayplan.model.label_syntax import aggregate, child, invalid, unsupported
from bayplan.model.meta import Int32, Record


class NodeSelectorRequirement(Record, frozen=True):
    """One of the ``matchExpressions`` or ``matchFields``."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Record, frozen=True):
    """Requirements that must all hold."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Record, frozen=True):
    """As in objects: terms, one of which must match. With no terms no node matches."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(Record, frozen=True):
    """A term that is worth its weight where it matches."""

    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


#: The only field that nodes can be selected by.
NAME_FIELD: Final = "metadata.name"

_LABEL_OPERATORS: Final = tuple(Operator)
_FIELD_OPERATORS: Final = (Operator.IN, Operator.NOT_IN)


@dataclass(frozen=True, slots=True)
class NameRequirement:
    """A condition on a field of the node."""

    field: str
    operator: Operator
    value: str

    def matches(self, node_name: str) -> bool:
        """Any field but the name reads as empty, as upstream's set of fields answers."""
        actual = node_name if self.field == NAME_FIELD else ""
        return (actual == self.value) is (self.operator is Operator.IN)


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """A compiled term: all of its requirements must hold."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[NameRequirement, ...] = ()
    #: Why it does not parse; such a term matches no node.
    problems: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str], node_name: str) -> bool:
        if self.problems:
            return False
        if not all(one.matches(labels) for one in self.labels):
            return False
        # A node without a name has no fields to go by, and upstream then skips them.
        return not node_name or all(one.matches(node_name) for one in self.fields)


@dataclass(frozen=True, slots=True)
class NodeMatcher:
    """A compiled ``NodeSelector``: one of the terms must match. Empty terms are left out."""

    terms: tuple[NodeTerm, ...] = ()

    def matches(self, labels: Mapping[str, str], node_name: str) -> bool:
        return any(term.matches(labels, node_name) for term in self.terms)

    @property
    def error(self) -> str:
        """What upstream reports for a node that no term matches; empty if every term parses."""
        problems = [problem for term in self.terms for problem in term.problems]
        return aggregate(problems) if problems else ""


@dataclass(frozen=True, slots=True)
class NodePreferences:
    """Compiled preferred terms with their weights. Those without weight or content are left out."""

    terms: tuple[tuple[int, NodeTerm], ...] = ()

    def score(self, labels: Mapping[str, str], node_name: str) -> int:
        return sum(weight for weight, term in self.terms if term.matches(labels, node_name))


def compile_node_selector(selector: NodeSelector, path: str = "") -> NodeMatcher:
    """Never raises: what does not parse is in the terms, and in ``NodeMatcher.error``."""
    where = child(path, "nodeSelectorTerms")
    return NodeMatcher(
        tuple(
            _compile_term(term, f"{where}[{index}]")
            for index, term in enumerate(selector.node_selector_terms)
            if term.match_expressions or term.match_fields
        )
    )


def named_nodes(selector: NodeSelector) -> frozenset[str] | None:
    """The only nodes that can match, if every single term asks for nodes by name; else None.

    Looks at the terms as written, empty and broken ones included, as NodeAffinity's PreFilter does.
    An empty set: the names contradict each other and no node can match.
    """
    names: set[str] = set()
    for term in selector.node_selector_terms:
        wanted = [
            set(one.values)
            for one in term.match_fields
            if one.key == NAME_FIELD and one.operator == Operator.IN
        ]
        if not wanted:
            return None
        names |= set.intersection(*wanted)
    return frozenset(names) if selector.node_selector_terms else None


def compile_preferred_terms(
    preferred: Iterable[PreferredSchedulingTerm], path: str = ""
) -> NodePreferences:
    """Raises ``SelectorError`` if any of the terms does not parse: here upstream is not lazy."""
    terms = [
        (one.weight, _compile_term(one.preference, f"{path}[{index}]"))
        for index, one in enumerate(preferred)
        if one.weight and (one.preference.match_expressions or one.preference.match_fields)
    ]
    if problems := [problem for _, term in terms for problem in term.problems]:
        raise SelectorError(aggregate(problems))
    return NodePreferences(tuple(terms))


def _compile_term(term: NodeSelectorTerm, path: str) -> NodeTerm:
    labels, problems = _label_requirements(term.match_expressions, child(path, "matchExpressions"))
    fields, more = _name_requirements(term.match_fields, child(path, "matchFields"))
    return NodeTerm(labels, fields, (*problems, *more))


def _label_requirements(
    given: tuple[NodeSelectorRequirement, ...], path: str
) -> tuple[tuple[Requirement, ...], list[str]]:
    found: list[Requirement] = []
    problems: list[str] = []
    for index, one in enumerate(given):
        where = f"{path}[{index}]"
        if one.operator not in _LABEL_OPERATORS:
            problems.append(unsupported(child(where, "operator"), one.operator, _LABEL_OPERATORS))
            continue
        operator = Operator(one.operator)
        wrong = requirement_problems(one.key, operator, one.values, where)
        problems += wrong
        if not wrong:
            found.append(Requirement(one.key, operator, tuple(sorted(set(one.values)))))
    return tuple(found), problems


def _name_requirements(
    given: tuple[NodeSelectorRequirement, ...], path: str
) -> tuple[tuple[NameRequirement, ...], list[str]]:
    found: list[NameRequirement] = []
    problems: list[str] = []
    for index, one in enumerate(given):
        where = f"{path}[{index}]"
        if one.operator not in _FIELD_OPERATORS:
            problems.append(unsupported(child(where, "operator"), one.operator, _FIELD_OPERATORS))
        elif len(one.values) != 1:
            problems.append(
                invalid(child(where, "values"), one.values or None, "must have one element")
            )
        else:
            found.append(NameRequirement(one.key, Operator(one.operator), one.values[0]))
    return tuple(found), problems
