"""Which objects a list or a watch is about: label selector, field selector, namespace.

Made from query parameters; read by the store and the watches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayplan.embedded import refusals
from bayplan.embedded.fields import ALWAYS, FIELDS
from bayplan.errors import SelectorError
from bayplan.model.selectors import (
    EVERYTHING,
    FieldSelector,
    Selector,
    parse_field_selector,
    parse_selector,
)

if TYPE_CHECKING:
    from bayplan.embedded.entries import Entry
    from bayplan.embedded.kinds import Kind

_ANY_FIELDS: Final = FieldSelector()


@dataclass(frozen=True, slots=True)
class Selection:
    """What a list or a watch wants to see."""

    namespace: str = ""
    labels: Selector = EVERYTHING
    fields: FieldSelector = _ANY_FIELDS

    @property
    def everything(self) -> bool:
        """Whether any object is in it."""
        return not self.namespace and self.labels.empty and self.fields.empty

    @property
    def only_name(self) -> str | None:
        """The one name that can match, if the selection is so narrow."""
        return self.fields.exact("metadata.name")

    def matches(self, entry: Entry) -> bool:
        """Whether an object is in it."""
        if self.namespace and entry.namespace != self.namespace:
            return False
        if not self.labels.empty and not self.labels.matches(entry.labels):
            return False
        return self.fields.empty or self._fields_match(entry)

    def _fields_match(self, entry: Entry) -> bool:
        for one in self.fields.requirements:
            if one.field == "metadata.name":
                value = entry.name
            elif one.field == "metadata.namespace":
                value = entry.namespace
            else:
                value = entry.fields.get(one.field, "")
            if (value == one.value) is one.negated:
                return False
        return True


def selection(kind: Kind, namespace: str, labels: str, fields: str) -> Selection:
    """The selection that query parameters ask for.

    Raises:
        RequestRefused: 400, where a selector does not parse or names a field that cannot be selected by.
    """
    try:
        parsed = Selection(namespace, parse_selector(labels), parse_field_selector(fields))
    except SelectorError as error:
        raise refusals.bad_request(str(error)) from error
    known = ALWAYS.keys() | FIELDS.get(kind.shelf, {}).keys()
    for one in parsed.fields.requirements:
        if one.field not in known:
            raise refusals.bad_request(f"field label not supported: {one.field}")
    return parsed
