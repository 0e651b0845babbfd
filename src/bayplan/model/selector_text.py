"""Selectors as text: ``app=web,tier in (a, b),!canary`` for labels, ``status.phase!=Failed`` for fields.

Fed by query parameters and command lines; accepts and refuses what upstream's ``labels.Parse`` and
``fields.ParseSelector`` do, in their words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayplan.errors import SelectorError
from bayplan.model.label_selectors import Operator, Requirement, Selector, requirement, selector_of
from bayplan.model.label_syntax import invalid, key_problems

if TYPE_CHECKING:
    from collections.abc import Mapping

_TOKEN = re.compile(r"==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+")
_SYMBOLS: Final = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">"})

_OPERATORS: Final = {
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "=": Operator.IN,
    "==": Operator.IN,
    "!=": Operator.NOT_IN,
    ">": Operator.GT,
    "<": Operator.LT,
}
_EXPECTED_OPERATORS: Final = "in, notin, =, ==, !=, gt, lt"

#: Stands for the end of the text; no token is empty.
_END: Final = ""


def parse_selector(text: str) -> Selector:
    """The label selector that a text stands for; everything, if it is blank.

    Raises:
        SelectorError: with the message of upstream's ``labels.Parse``.
    """
    return selector_of(_LabelParser(text).parse())


class _LabelParser:
    """Reads one requirement after the other, one token ahead."""

    def __init__(self, text: str) -> None:
        # Upstream's lexer ends at a zero byte, as at the end of the text.
        self._tokens = _TOKEN.findall(text.partition("\0")[0])
        self._next = 0

    def parse(self) -> list[Requirement]:
        found: list[Requirement] = []
        if self._peek() == _END:
            return found
        if not self._at_requirement():
            expected = "!, identifier, or 'end of string'"
            raise SelectorError(f"found '{self._peek()}', expected: {expected}")
        while True:
            try:
                found.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            token = self._take()
            if token == _END:
                return found
            if token != ",":
                raise SelectorError(f"found '{token}', expected: ',' or 'end of string'")
            if not self._at_requirement():
                raise SelectorError(f"found '{self._peek()}', expected: identifier after ','")

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else _END

    def _take(self) -> str:
        token = self._peek()
        self._next += 1
        return token

    def _at_requirement(self) -> bool:
        return self._peek() == "!" or self._at_word()

    def _at_word(self) -> bool:
        return self._peek() not in _SYMBOLS and self._peek() != _END

    def _requirement(self) -> Requirement:
        absent = self._peek() == "!"
        if absent:
            self._take()
        if not self._at_word():
            raise SelectorError(f"found '{self._peek()}', expected: identifier")
        key = self._take()
        if wrong := key_problems(key):
            # The path is not known at this depth, and upstream prints it so.
            raise SelectorError(invalid("<nil>", key, "; ".join(wrong)))
        if absent:
            return requirement(key, Operator.DOES_NOT_EXIST)
        if self._peek() in {_END, ","}:
            return requirement(key, Operator.EXISTS)
        word = self._take()
        if word not in _OPERATORS:
            raise SelectorError(f"found '{word}', expected: {_EXPECTED_OPERATORS}")
        values = self._values() if word in {"in", "notin"} else [self._value()]
        # Sorted before they are checked, so that an error counts the places as upstream does.
        return requirement(key, _OPERATORS[word], sorted(set(values)))

    def _value(self) -> str:
        if self._peek() in {_END, ","}:
            return ""
        if not self._at_word():
            raise SelectorError(f"found '{self._peek()}', expected: identifier")
        return self._take()

    def _values(self) -> list[str]:
        """``(x, y)``. A value left out, as in ``(,x)`` and ``()``, is the empty string."""
        if self._peek() != "(":
            raise SelectorError(f"found '{self._peek()}' expected: '('")
        self._take()
        if self._peek() == ")":
            self._take()
            return [""]
        if not self._at_word() and self._peek() != ",":
            raise SelectorError(f"found '{self._peek()}', expected: ',', ')' or identifier")
        values = [self._listed()]
        while self._peek() == ",":
            self._take()
            values.append(self._listed())
        if self._peek() != ")":
            raise SelectorError(f"found '{self._peek()}', expected: ',' or ')'")
        self._take()
        return values

    def _listed(self) -> str:
        if self._peek() in {",", ")"}:
            return ""
        if not self._at_word():
            raise SelectorError(f"found '{self._peek()}', expected: ',', or identifier")
        return self._take()


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """A field that must, or must not, have a value. A field that is not there reads as empty."""

    field: str
    value: str
    negated: bool = False

    def matches(self, fields: Mapping[str, str]) -> bool:
        return (fields.get(self.field, "") == self.value) is not self.negated

    def __str__(self) -> str:
        escaped = self.value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
        return f"{self.field}{'!=' if self.negated else '='}{escaped}"


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """Conditions on fields that must all hold."""

    requirements: tuple[FieldRequirement, ...] = ()

    @property
    def empty(self) -> bool:
        """Matches everything."""
        return not self.requirements

    def matches(self, fields: Mapping[str, str]) -> bool:
        return all(one.matches(fields) for one in self.requirements)

    def exact(self, field: str) -> str | None:
        """The value that the field must have; None if there is no such condition."""
        for one in self.requirements:
            if one.field == field and not one.negated:
                return one.value
        return None

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def parse_field_selector(text: str) -> FieldSelector:
    """The field selector that a text stands for.

    Raises:
        SelectorError: with the message of upstream's ``fields.ParseSelector``.
    """
    found = (_field_requirement(term, text) for term in sorted(_terms(text)) if term)
    # A condition on nothing, such as a lone "=", is no condition.
    return FieldSelector(tuple(one for one in found if one.field or one.value))


#: A run of characters that ends at a comma, where a backslash protects whatever follows it.
_FIELD_TERM = re.compile(r"(?:\\.|\\$|[^\\,])*", re.DOTALL)
_FIELD_OPERATOR = re.compile(r"!=|==|=")


def _terms(text: str) -> list[str]:
    terms, start = [], 0
    while start <= len(text):
        found = _FIELD_TERM.match(text, start)
        end = found.end() if found else len(text)
        terms.append(text[start:end])
        start = end + 1
    return terms


def _field_requirement(term: str, text: str) -> FieldRequirement:
    operator = _FIELD_OPERATOR.search(term)
    if operator is None:
        raise SelectorError(f"invalid selector: '{text}'; can't understand '{term}'")
    value = _unescaped(term[operator.end() :])
    return FieldRequirement(term[: operator.start()], value, negated=operator.group() == "!=")


def _unescaped(value: str) -> str:
    chars = iter(value)
    found = []
    for char in chars:
        if char == "\\":
            escaped = next(chars, "")
            if escaped not in {"\\", ",", "="}:
                sequence = f"\\{escaped}"
                raise SelectorError(f"invalid field selector: invalid escape sequence: {sequence}")
            found.append(escaped)
        elif char in {",", "="}:
            raise SelectorError(
                f"invalid field selector: unescaped character in value: {ord(char)}"
            )
        else:
            found.append(char)
    return "".join(found)
