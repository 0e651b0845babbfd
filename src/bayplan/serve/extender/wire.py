"""The extender v1 wire format from the extender's side: arguments in, answers out. Pure.

Nodes and lists of names stay as they came (``msgspec.Raw``): most of them are sent back word for word. Go's decoder reads keys
in any case; where a caller does not write them as Go does, they are read slowly. Used by ``serve.extender``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from bayplan.errors import DecodeError

T = TypeVar("T", bound=msgspec.Struct)

_NULL: Final = msgspec.Raw(b"null")


class NodeList(msgspec.Struct):
    """A v1.NodeList whose nodes nobody has looked at yet."""

    items: list[msgspec.Raw] | None = None


class Arguments(msgspec.Struct, rename="pascal"):
    """Of filter and prioritize."""

    pod: msgspec.Raw = _NULL
    nodes: NodeList | None = None
    #: A list of names, or null.
    node_names: msgspec.Raw = _NULL


class PreemptionArguments(msgspec.Struct, rename="pascal"):
    """Of preempt; pods written out, or their uids."""

    pod: msgspec.Raw = _NULL
    node_name_to_victims: dict[str, msgspec.Raw] | None = None
    node_name_to_meta_victims: dict[str, msgspec.Raw] | None = None


class BindingArguments(msgspec.Struct, rename="pascal"):
    """Of bind."""

    pod_name: str = ""
    pod_namespace: str = ""
    pod_uid: str = msgspec.field(name="PodUID", default="")
    node: str = ""


class Victims(msgspec.Struct):
    """Who would go from one node."""

    uids: list[str]
    violations: int


class FilterAnswer(msgspec.Struct, rename="pascal"):
    """Of filter; either nodes or names, as they were sent."""

    nodes: msgspec.Raw | None
    node_names: msgspec.Raw | None
    failed_nodes: Mapping[str, str]
    failed_and_unresolvable_nodes: Mapping[str, str]
    error: str = ""


class HostPriority(msgspec.Struct, rename="pascal"):
    """A node's score, 0 to 10."""

    host: str
    score: int


class MetaPod(msgspec.Struct):
    """A victim."""

    uid: str = msgspec.field(name="UID")


class MetaVictims(msgspec.Struct, rename="pascal"):
    """The victims of a node."""

    pods: Sequence[MetaPod]
    num_pdb_violations: int = msgspec.field(name="NumPDBViolations")


class PreemptionAnswer(msgspec.Struct, rename="pascal"):
    """Of preempt: always uids, whatever was sent."""

    node_name_to_meta_victims: Mapping[str, MetaVictims]


class BindingAnswer(msgspec.Struct, rename="pascal"):
    """Of bind."""

    error: str = ""


encode: Final = msgspec.json.Encoder().encode


def read(kind: type[T], body: bytes) -> T:
    """Arguments of some kind. Raises ``DecodeError``."""
    try:
        found = msgspec.json.decode(body, type=kind)
        if found != kind():
            return found
        # Nothing was found: another way of writing the keys, perhaps.
        fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        names = {
            field.encode_name.lower(): field.encode_name for field in msgspec.structs.fields(kind)
        }
        respelt = {names[key.lower()]: raw for key, raw in fields.items() if key.lower() in names}
        return msgspec.json.decode(encode(respelt), type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise DecodeError(f"these are no {kind.__name__} of an extender: {error}") from None


def names_of(raw: msgspec.Raw) -> list[str] | None:
    """A list of names; None for null. Raises ``DecodeError``."""
    try:
        return msgspec.json.decode(raw, type=list[str] | None)
    except (msgspec.MsgspecError, ValueError) as error:
        raise DecodeError(str(error), path="NodeNames") from None


class _Meta(msgspec.Struct):
    uid: str = ""


class _Pod(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    uid: str = msgspec.field(name="UID", default="")


class _Victims(msgspec.Struct, rename="pascal"):
    pods: list[_Pod | None] | None = None
    num_pdb_violations: int = msgspec.field(name="NumPDBViolations", default=0)


def victims_of(arguments: PreemptionArguments) -> dict[str, Victims]:
    """Who would go, by node, whichever way it was sent. Raises ``DecodeError``."""
    sent = arguments.node_name_to_meta_victims
    if sent is None:
        sent = arguments.node_name_to_victims or {}
    found = {}
    for node, raw in sent.items():
        try:
            victims = msgspec.json.decode(raw, type=_Victims | None) or _Victims()
        except (msgspec.MsgspecError, ValueError) as error:
            raise DecodeError(str(error), path=f"victims on node {node}") from None
        uids = [pod.uid or pod.metadata.uid for pod in victims.pods or () if pod is not None]
        found[node] = Victims(uids, victims.num_pdb_violations)
    return found


def node_list(nodes: Iterable[Any]) -> msgspec.Raw:
    """A v1.NodeList of nodes in JSON."""
    return msgspec.Raw(b'{"metadata":{},"items":[%b]}' % b",".join(map(bytes, nodes)))
