"""Bodies in Kubernetes' protobuf: an envelope that names the kind, and the object inside it.

Read by the HTTP side, for clients such as kube-scheduler that write nothing else. There is no generated code: the tables
of ``schema`` hold every field's number and type, which is all that decoding needs. Answers are always JSON.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from bayplan.embedded import refusals
from bayplan.embedded.objects import Object, timestamp
from bayplan.embedded.schema.types import Field, Type, find

CONTENT_TYPE: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\x00"
#: No object of Kubernetes is nested so deeply; nonsense may be.
_MAX_DEPTH: Final = 64


class _Malformed(Exception):
    """Bytes that are no protobuf, or not of this type."""


def decode(raw: bytes) -> tuple[str, str, Object]:
    """API version, kind and object of a body.

    Raises:
        RequestRefused: 400, where it cannot be read.
    """
    if not raw.startswith(_MAGIC):
        raise refusals.bad_request("provided data does not appear to be a protobuf message")
    try:
        # runtime.Unknown: 1 typeMeta, 2 the object, 3 its encoding, 4 its content type.
        envelope = dict(_parts(raw[len(_MAGIC) :]))
        head = {number: _text(value) for number, value in _parts(_bytes(envelope.get(1, b"")))}
        api_version, kind = head.get(1, ""), head.get(2, "")
        body = _bytes(envelope.get(2, b""))
        if _text(envelope.get(4, b"")) == "application/json":
            obj: Object = msgspec.json.decode(body, type=dict)
        else:
            obj = _message(body, _type_of(api_version, kind), 0)
    except (_Malformed, msgspec.DecodeError, struct.error, ValueError, OverflowError) as error:
        raise refusals.bad_request(f"unable to decode the protobuf body: {error}") from error
    return api_version, kind, {"kind": kind, "apiVersion": api_version} | obj


def _type_of(api_version: str, kind: str) -> Type:
    group, _, version = api_version.rpartition("/")
    found = find(f"{group.partition('.')[0] or 'core'}/{version}.{kind}")
    # Options and the like are the same in every group.
    found = found or find(f"meta/v1.{kind}")
    if found is None:
        raise _Malformed(f'no kind "{kind}" is registered for version "{api_version}"')
    return found


def _message(raw: bytes, kind: Type, depth: int) -> Object:
    if depth > _MAX_DEPTH:
        raise _Malformed("nested too deeply")
    found: Object = {}
    for number, value in _parts(raw):
        field = kind.by_number.get(number)
        if field is None:
            continue  # a newer release's field
        if field.inlined:
            found |= _value(field, value, depth)
        elif field.container.startswith("map[]"):
            key, item = _map_item(field, value, depth)
            found.setdefault(field.name, {})[key] = item
        elif field.container:
            found.setdefault(field.name, []).append(_value(field, value, depth))
        else:
            # What is no pointer is always sent: nothing says nothing.
            one = _value(field, value, depth)
            if one is not None and (field.pointer or field.required or one not in ("", 0, {})):
                found[field.name] = one
    return found


def _map_item(field: Field, raw: int | bytes, depth: int) -> tuple[str, Any]:
    parts = dict(_parts(_bytes(raw)))
    value = parts.get(2, b"" if _is_text(field) else 0)
    if field.container == "map[][]":
        # A message that holds nothing but a list.
        return _text(parts.get(1, b"")), [
            _value(field, one, depth) for _, one in _parts(_bytes(value))
        ]
    return _text(parts.get(1, b"")), _value(field, value, depth)


def _is_text(field: Field) -> bool:
    return field.type not in {"int32", "int64", "bool", "double"}


def _value(field: Field, value: int | bytes, depth: int) -> Any:
    scalar = _SCALARS.get(field.type)
    if scalar:
        return scalar(value)
    known = find(field.type)
    if known:
        return _message(_bytes(value), known, depth + 1)
    return _leaf(field.type, dict(_parts(_bytes(value))))


def _leaf(name: str, parts: dict[int, int | bytes]) -> Any:
    """Messages that JSON writes as one value."""
    match name:
        case "Quantity":
            return _text(parts.get(1, b""))
        case "IntOrString":
            return (
                _text(parts.get(3, b"")) if _signed(parts.get(1, 0)) else _signed(parts.get(2, 0))
            )
        case "Time" | "MicroTime" if parts:
            whole = timestamp(_signed(parts.get(1, 0)))
            micro = _signed(parts.get(2, 0)) // 1000
            return f"{whole[:-1]}.{micro:06}Z" if name == "MicroTime" else whole
        case "RawExtension" | "FieldsV1" | "JSON" if parts.get(1):
            return msgspec.json.decode(_bytes(parts[1]))
        case "Duration":
            return f"{_signed(parts.get(1, 0)) / 1e9:g}s"
        case _:
            return None


# The wire


def _parts(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and values of a message, as they come."""
    place = 0
    while place < len(raw):
        tag, place = _varint(raw, place)
        value: int | bytes
        match tag & 7:
            case 0:
                value, place = _varint(raw, place)
            case 1:
                value, place = raw[place : place + 8], place + 8
            case 2:
                size, place = _varint(raw, place)
                value, place = raw[place : place + size], place + size
            case 5:
                value, place = raw[place : place + 4], place + 4
            case other:
                raise _Malformed(f"wire type {other}")
        if place > len(raw):
            raise _Malformed("unexpected EOF")
        yield tag >> 3, value


def _varint(raw: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(raw):
            raise _Malformed("unexpected EOF")
        byte = raw[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, place
    raise _Malformed("integer overflow")


def _signed(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise _Malformed("an integer is expected")
    return value - (1 << 64) if value >> 63 else value


def _bytes(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise _Malformed("bytes are expected")
    return value


def _text(value: int | bytes) -> str:
    return _bytes(value).decode()


_SCALARS: Final[dict[str, Callable[[int | bytes], Any]]] = {
    "int32": _signed,
    "int64": _signed,
    "bool": lambda value: bool(_signed(value)),
    "double": lambda value: struct.unpack("<d", _bytes(value))[0],
    "string": _text,
    "bytes": lambda value: base64.b64encode(_bytes(value)).decode(),
}
