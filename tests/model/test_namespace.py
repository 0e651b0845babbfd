"""Namespaces."""

from __future__ import annotations

from bayplan.model.decode import decode_as
from bayplan.model.namespace import Namespace


def test_namespace() -> None:
    found = decode_as(
        Namespace, {"metadata": {"name": "a", "labels": {"b": "c"}}, "status": {"phase": "Active"}}
    )
    assert (found.key, found.labels, found.status.phase) == ("a", {"b": "c"}, "Active")
