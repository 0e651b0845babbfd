"""The extender v1 wire format from the scheduler's side: arguments out, answers in. Pure.

The outer keys are the names of Go's fields, written in full and read in any case, as Go's decoder does; what lies in them
is JSON of Kubernetes' own. Used by ``runtime.extending.extender``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from bayplan.errors import ExtenderError

T = TypeVar("T")

_NULL: Final = msgspec.Raw(b"null")


class Arguments(msgspec.Struct, rename="pascal"):
    """What filter and prioritize are sent: the nodes themselves, or their names."""

    pod: msgspec.Raw
    nodes: msgspec.Raw = _NULL
    node_names: Sequence[str] | None = None


class MetaPod(msgspec.Struct):
    """A victim by its uid."""

    uid: str = msgspec.field(name="UID")


class MetaVictims(msgspec.Struct, rename="pascal"):
    """The victims on one node."""

    pods: Sequence[MetaPod]
    num_pdb_violations: int = msgspec.field(name="NumPDBViolations", default=0)


class Victims(msgspec.Struct, rename="pascal"):
    """The same with the pods written out."""

    pods: Sequence[msgspec.Raw]
    num_pdb_violations: int = msgspec.field(name="NumPDBViolations", default=0)


class PreemptionArguments(msgspec.Struct, rename="pascal"):
    """What preempt is sent."""

    pod: msgspec.Raw
    node_name_to_victims: Mapping[str, Victims] | None = None
    node_name_to_meta_victims: Mapping[str, MetaVictims] | None = None


class BindingArguments(msgspec.Struct, rename="pascal"):
    """What bind is sent."""

    pod_name: str
    pod_namespace: str
    pod_uid: str = msgspec.field(name="PodUID")
    node: str


class FilterAnswer(msgspec.Struct):
    """What filter says: which nodes are left, and why others are not."""

    #: None: neither nodes nor names were sent.
    left: list[str] | None
    failed: dict[str, str]
    unresolvable: dict[str, str]


class _Meta(msgspec.Struct):
    name: str = ""


class _Named(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


class _NodeList(msgspec.Struct):
    items: list[_Named] | None = None


def node_list(nodes: Sequence[bytes]) -> msgspec.Raw:
    """A v1.NodeList of nodes in JSON."""
    return msgspec.Raw(b'{"metadata":{},"items":[%b]}' % b",".join(nodes))


def read_filter(answer: bytes, *, names: bool) -> FilterAnswer:
    """The answer to filter; ``names``: names were sent, and names count before nodes.

    Raises:
        ExtenderError: it is no such answer, or says that something went wrong.
    """
    fields = _fields(answer)
    _raise_error(fields)
    left: list[str] | None = None
    sent = _as(list[str] | None, fields, "nodenames") if names else None
    if sent is not None:
        left = sent
    else:
        nodes = _as(_NodeList | None, fields, "nodes")
        if nodes is not None:
            left = [node.metadata.name for node in nodes.items or ()]
    return FilterAnswer(
        left, _reasons(fields, "failednodes"), _reasons(fields, "failedandunresolvablenodes")
    )


def _reasons(fields: Mapping[str, msgspec.Raw], name: str) -> dict[str, str]:
    found = _as(dict[str, str | None] | None, fields, name) or {}
    return {node: reason or "" for node, reason in found.items()}


def read_scores(answer: bytes) -> list[tuple[str, int]]:
    """The answer to prioritize: hosts and scores, in the order in which they come. Raises ``ExtenderError``."""
    entries = _decode(answer, list[dict[str, msgspec.Raw]] | None) or []
    found = []
    for entry in entries:
        fields = {key.lower(): value for key, value in entry.items()}
        host, score = _as(str | None, fields, "host"), _as(int | None, fields, "score")
        found.append((host or "", score or 0))
    return found


def read_victims(answer: bytes) -> dict[str, tuple[list[str], int]]:
    """The answer to preempt: uids and violated budgets by node. Raises ``ExtenderError``."""
    fields = _fields(answer)
    nodes = _as(dict[str, dict[str, msgspec.Raw] | None] | None, fields, "nodenametometavictims")
    found = {}
    for node, sent in (nodes or {}).items():
        victims = {key.lower(): value for key, value in (sent or {}).items()}
        pods = _as(list[dict[str, str] | None] | None, victims, "pods") or []
        uids = [
            next((text for key, text in (pod or {}).items() if key.lower() == "uid"), "")
            for pod in pods
        ]
        found[node] = (uids, _as(int | None, victims, "numpdbviolations") or 0)
    return found


def read_binding(answer: bytes) -> None:
    """The answer to bind; it says nothing unless it went wrong. Raises ``ExtenderError``."""
    _raise_error(_fields(answer))


def _fields(answer: bytes) -> dict[str, msgspec.Raw]:
    found = _decode(answer, dict[str, msgspec.Raw] | None) or {}
    return {key.lower(): value for key, value in found.items()}


def _raise_error(fields: Mapping[str, msgspec.Raw]) -> None:
    error = _as(str | None, fields, "error")
    if error:
        raise ExtenderError(error)


def _as(kind: Any, fields: Mapping[str, msgspec.Raw], name: str) -> Any:
    """A field of the answer; None where it is not there."""
    return _decode(fields[name], kind) if name in fields else None


def _decode(text: bytes | msgspec.Raw, kind: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ExtenderError(f"the extender's answer cannot be read: {error}") from None
