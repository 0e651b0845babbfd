"""Label selectors: as they stand in objects, and compiled.

``LabelSelector`` is what JSON holds. ``compile_label_selector`` turns it into a ``Selector``, which matches labels and
is equal to every selector of the same meaning, whatever the order and the spelling; so the cluster can intern selectors
and ask each only once per distinct set of labels. Keys and values are checked, and refused, as upstream's
``labels.NewRequirement`` does, in its words.

Node selectors build on the same ``Requirement``, see ``node_selectors``; the text form is in ``selector_text``; all of
them are offered by ``selectors``.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from bayplan.errors import SelectorError
from bayplan.model import label_syntax
from bayplan.model.label_syntax import aggregate, child, invalid
from bayplan.model.meta import Record


class LabelSelectorRequirement(Record, frozen=True):
    """One of the ``matchExpressions``."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Record, frozen=True):
    """As in objects. Where there is none at all nothing matches; an empty one matches everything."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class Operator(StrEnum):
    """How a requirement relates a label to its values, as node selectors spell it."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


_SIGNS: Final = {Operator.IN: "=", Operator.NOT_IN: "!=", Operator.GT: ">", Operator.LT: "<"}

_INTEGER = re.compile(r"(?P<sign>[+-]?)0*(?P<digits>[0-9]{1,19})", re.ASCII)


def parse_int64(text: str) -> int | None:
    """What Go's ``strconv.ParseInt`` makes of it, None where that is an error."""
    parts = _INTEGER.fullmatch(text)
    if parts is None:
        return None
    number = int(parts["sign"] + parts["digits"])
    return number if -(2**63) <= number < 2**63 else None


class Requirement(NamedTuple):
    """One condition on one label. Built by ``requirement``, which checks it and sorts the values."""

    key: str
    operator: Operator
    #: Sorted, each once.
    values: tuple[str, ...] = ()

    def matches_value(self, value: str | None) -> bool:
        """Whether a label with this value satisfies it; None: the label is absent.

        The answer depends on nothing else, so a column needs it only once per distinct value.
        """
        match self.operator:
            case Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case _:
                return value is not None and self._compare(value)

    def matches(self, labels: Mapping[str, str]) -> bool:
        return self.matches_value(labels.get(self.key))

    def _compare(self, value: str) -> bool:
        number, bound = parse_int64(value), parse_int64(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if self.operator is Operator.GT else number < bound

    def __str__(self) -> str:
        key, operator, values = self
        if operator is Operator.EXISTS:
            return key
        if operator is Operator.DOES_NOT_EXIST:
            return f"!{key}"
        if operator in {Operator.GT, Operator.LT} or len(values) == 1:
            return f"{key}{_SIGNS[operator]}{values[0]}"
        return f"{key} {operator.lower()} ({','.join(values)})"


@dataclass(frozen=True, slots=True)
class Selector:
    """Requirements that must all hold. Equal to every other selector of the same meaning."""

    #: Sorted, each once.
    requirements: tuple[Requirement, ...] = ()
    #: Matches no labels whatsoever, not even with no requirements.
    nothing: bool = False

    @property
    def empty(self) -> bool:
        """Matches everything: Go's ``Empty()``."""
        return not self.requirements and not self.nothing

    def matches(self, labels: Mapping[str, str]) -> bool:
        if self.nothing:
            return False
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __and__(self, more: "Selector") -> "Selector":
        """Matches what both match, as upstream's ``Add`` does with ``matchLabelKeys``."""
        if self.nothing or more.nothing:
            return NOTHING
        return selector_of((*self.requirements, *more.requirements))

    def __str__(self) -> str:
        """As ``parse_selector`` reads it; empty for everything and for nothing alike, as in Go."""
        return ",".join(map(str, self.requirements))


NOTHING: Final = Selector(nothing=True)
EVERYTHING: Final = Selector()


def selector_of(requirements: Iterable[Requirement]) -> Selector:
    """The selector of these requirements, in canonical order."""
    ordered = sorted(set(requirements), key=lambda one: (one.key, one.operator, one.values))
    return Selector(tuple(ordered)) if ordered else EVERYTHING


def requirement(
    key: str, operator: Operator, values: Iterable[str] = (), path: str = ""
) -> Requirement:
    """A checked requirement.

    Raises:
        SelectorError: with the words of upstream's ``labels.NewRequirement``.
    """
    given = tuple(values)
    problems = requirement_problems(key, operator, given, path)
    if problems:
        raise SelectorError(aggregate(problems))
    return Requirement(key, operator, tuple(sorted(set(given))))


def requirement_problems(
    key: str, operator: Operator, values: tuple[str, ...], path: str
) -> list[str]:
    """What is wrong with a requirement, in upstream's words and order."""
    problems = []
    where = child(path, "values")
    if wrong := label_syntax.key_problems(key):
        problems.append(invalid(child(path, "key"), key, "; ".join(wrong)))
    match operator:
        case Operator.IN | Operator.NOT_IN:
            if not values:
                problems.append(
                    invalid(where, None, "for 'in', 'notin' operators, values set can't be empty")
                )
        case Operator.EXISTS | Operator.DOES_NOT_EXIST:
            if values:
                problems.append(
                    invalid(where, values, "values set must be empty for exists and does not exist")
                )
        case _:
            problems += _comparison_problems(values, where)
    for index, value in enumerate(values):
        if wrong := label_syntax.value_problems(value):
            problems.append(invalid(f"{where}[{index}][{key}]", value, "; ".join(wrong)))
    return problems


def _comparison_problems(values: tuple[str, ...], where: str) -> list[str]:
    problems = []
    if len(values) != 1:
        problems.append(
            invalid(
                where, values or None, "for 'Gt', 'Lt' operators, exactly one value is required"
            )
        )
    problems += [
        invalid(
            f"{where}[{index}]", value, "for 'Gt', 'Lt' operators, the value must be an integer"
        )
        for index, value in enumerate(values)
        if parse_int64(value) is None
    ]
    return problems


def compile_label_selector(selector: LabelSelector | None) -> Selector:
    """Upstream's ``LabelSelectorAsSelector``: None matches nothing, an empty one everything.

    Raises:
        SelectorError: with upstream's message, for the first requirement that is wrong.
    """
    if selector is None:
        return NOTHING
    requirements = [
        requirement(key, Operator.IN, (value,))
        for key, value in sorted(selector.match_labels.items())
    ]
    for expression in selector.match_expressions:
        # Gt and Lt are for nodes only.
        if expression.operator not in {"In", "NotIn", "Exists", "DoesNotExist"}:
            quoted = label_syntax.quote(expression.operator)
            raise SelectorError(f"{quoted} is not a valid label selector operator")
        requirements.append(
            requirement(expression.key, Operator(expression.operator), expression.values)
        )
    return selector_of(requirements)


def selector_from_map(labels: Mapping[str, str]) -> Selector:
    """Exactly these labels; everything if there are none. Unchecked, as upstream's ``SelectorFromSet``."""
    return selector_of(Requirement(key, Operator.IN, (value,)) for key, value in labels.items())
