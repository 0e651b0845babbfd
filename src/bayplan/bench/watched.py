"""What the benchmark reads of lists and watches, and no more: decoding is paid for by the machine that is measured.

Used by ``recorder`` and by ``ceiling``.
"""

from __future__ import annotations

import msgspec


class Meta(msgspec.Struct, rename="camel"):
    """Of an object or of a list."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class Spec(msgspec.Struct, frozen=True, rename="camel"):
    """Of a pod."""

    node_name: str = ""


class Obj(msgspec.Struct):
    """A pod or a node."""

    metadata: Meta
    spec: Spec = Spec()


class Event(msgspec.Struct):
    """One line of a watch."""

    type: str
    object: Obj


class Listed(msgspec.Struct):
    """The answer to a list."""

    metadata: Meta
    items: list[Obj]


decode_event = msgspec.json.Decoder(Event).decode
decode_list = msgspec.json.Decoder(Listed).decode
