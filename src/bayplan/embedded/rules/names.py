"""Which names, labels and annotations an object may have.

Called by ``validation`` for every new object; the words are Kubernetes'.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bayplan.embedded.objects import Object, as_list, metadata
from bayplan.embedded.refusals import FieldProblem, forbidden_field, invalid_value, required
from bayplan.model.label_syntax import key_problems, value_problems

if TYPE_CHECKING:
    from bayplan.embedded.kinds import Kind

_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_label = re.compile(_LABEL, re.ASCII)
_subdomain = re.compile(_SUBDOMAIN, re.ASCII)

_BAD_LABEL: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    f"with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_BAD_SUBDOMAIN: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)

#: Names that are DNS labels: they become part of host names.
_SHORT: Final = frozenset({"namespaces", "services"})
_LONGEST_SHORT: Final = 63
_LONGEST: Final = 253

#: All annotations together, in bytes.
_MOST_ANNOTATIONS: Final = 256 * 1024


def label_problems(name: str) -> list[str]:
    """What keeps a name from being a DNS label."""
    return _problems(name, _LONGEST_SHORT, _label, _BAD_LABEL)


def subdomain_problems(name: str) -> list[str]:
    """What keeps a name from being a DNS subdomain."""
    return _problems(name, _LONGEST, _subdomain, _BAD_SUBDOMAIN)


def _problems(name: str, longest: int, form: re.Pattern[str], said: str) -> list[str]:
    problems = [f"must be no more than {longest} bytes"] if len(name) > longest else []
    return problems if form.fullmatch(name) else [*problems, said]


def _segment_problems(name: str) -> list[str]:
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in name]


def name_problems(kind: Kind, name: str) -> list[str]:
    """What keeps a name from being one of this kind."""
    if kind.loose_names:
        return _segment_problems(name)
    return label_problems(name) if kind.shelf in _SHORT else subdomain_problems(name)


def metadata_problems(kind: Kind, obj: Object) -> list[FieldProblem]:
    """What is wrong with an object's metadata."""
    meta = metadata(obj)
    found: list[FieldProblem] = []
    name = meta.get("name")
    if not name:
        found.append(required("metadata.name", "name or generateName is required"))
    elif isinstance(name, str):
        found += [invalid_value("metadata.name", name, said) for said in name_problems(kind, name)]
    if not kind.namespaced and meta.get("namespace"):
        found.append(forbidden_field("metadata.namespace", "not allowed on this type"))
    found += labels_problems(meta.get("labels"), "metadata.labels")
    found += _annotation_problems(meta.get("annotations"))
    found += [
        invalid_value("metadata.finalizers", one, said)
        for one in as_list(meta.get("finalizers"))
        for said in key_problems(str(one))
    ]
    return found + _owner_problems(meta.get("ownerReferences"))


def labels_problems(labels: object, field: str) -> list[FieldProblem]:
    """What is wrong with labels."""
    if not isinstance(labels, dict):
        return []
    found = []
    for key, value in labels.items():
        found += [invalid_value(field, key, said) for said in key_problems(key)]
        found += [invalid_value(field, value, said) for said in value_problems(str(value))]
    return found


def _annotation_problems(annotations: object) -> list[FieldProblem]:
    if not isinstance(annotations, dict):
        return []
    field = "metadata.annotations"
    found = [
        invalid_value(field, key, said) for key in annotations for said in key_problems(key.lower())
    ]
    size = sum(len(key) + len(str(value)) for key, value in annotations.items())
    if size > _MOST_ANNOTATIONS:
        said = f"Too long: may not be more than {_MOST_ANNOTATIONS} bytes"
        found.append(FieldProblem("FieldValueTooLong", field, said))
    return found


def _owner_problems(owners: object) -> list[FieldProblem]:
    found = []
    for number, owner in enumerate(as_list(owners)):
        field = f"metadata.ownerReferences[{number}]"
        if not isinstance(owner, dict):
            continue
        for name, said in _OWNER_FIELDS:
            if not owner.get(name):
                found.append(invalid_value(f"{field}.{name}", owner.get(name, ""), said))
    return found


_OWNER_FIELDS: Final = (
    ("apiVersion", "version must not be empty"),
    ("kind", "must not be empty"),
    ("name", "must not be empty"),
    ("uid", "must not be empty"),
)
