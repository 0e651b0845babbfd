"""Protobuf bodies: what an encoder writes by the tables, the decoder reads; what nobody wrote is refused."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.embedded.objects import seconds_of
from bayplan.embedded.protobuf import decode
from bayplan.embedded.schema.types import Field, Type, find
from bayplan.errors import RequestRefused

TEXT = st.text(max_size=5)
WORD = st.text("abcxyz-", min_size=1, max_size=5)


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def chunk(number: int, raw: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def number(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def envelope(api_version: str, kind: str, raw: bytes, content_type: str = "") -> bytes:
    head = chunk(1, api_version.encode()) + chunk(2, kind.encode())
    return (
        b"k8s\x00"
        + chunk(1, head)
        + chunk(2, raw)
        + chunk(3, b"")
        + chunk(4, content_type.encode())
    )


def message(kind: Type, obj: dict[str, Any]) -> bytes:
    """As Go does it: what is no pointer is written even where it is empty."""
    out = b""
    for field in kind.by_number.values():
        if field.inlined:
            inner = find(field.type)
            assert inner is not None
            out += chunk(field.number, message(inner, obj))
        elif field.container == "map[]":
            for key, value in obj.get(field.name, {}).items():
                out += chunk(field.number, chunk(1, key.encode()) + one(field, value, 2))
        elif field.container:
            out += b"".join(one(field, value) for value in obj.get(field.name, []))
        elif field.name in obj:
            out += one(field, obj[field.name])
        elif not field.pointer and field.type in {"string", "int32", "int64", "bool"}:
            out += one(field, "" if field.type == "string" else 0)
        elif not field.pointer and find(field.type):
            out += one(field, {})
        elif not field.pointer:
            out += chunk(field.number, b"")
    return out


def one(field: Field, value: Any, place: int = 0) -> bytes:  # noqa: PLR0911 - one per type
    place = place or field.number
    match field.type:
        case "int32" | "int64" | "bool":
            return number(place, int(value))
        case "double":
            return varint(place << 3 | 1) + struct.pack("<d", value)
        case "string":
            return chunk(place, value.encode())
        case "bytes":
            return chunk(place, base64.b64decode(value))
        case "Quantity":
            return chunk(place, chunk(1, value.encode()))
        case "IntOrString":
            text = isinstance(value, str)
            return chunk(
                place,
                number(1, int(text))
                + number(2, 0 if text else value)
                + chunk(3, value.encode() if text else b""),
            )
        case "Time" | "MicroTime":
            whole, _, rest = value.removesuffix("Z").partition(".")
            seconds = seconds_of(whole + "Z")
            assert seconds is not None
            return chunk(place, number(1, int(seconds)) + number(2, int(rest or 0) * 1000))
        case "FieldsV1" | "RawExtension":
            return chunk(place, chunk(1, json.dumps(value).encode()))
        case name:
            known = find(name)
            assert known is not None, name
            return chunk(place, message(known, value))


def values_of(field: Field, depth: int) -> st.SearchStrategy[Any]:
    inner: st.SearchStrategy[Any]
    match field.type:
        case "int32":
            inner = st.integers(-(2**31), 2**31 - 1)
        case "int64":
            inner = st.integers(-(2**63), 2**63 - 1)
        case "bool":
            inner = st.booleans()
        case "double":
            inner = st.floats(allow_nan=False)
        case "string" | "Quantity":
            inner = TEXT
        case "bytes":
            inner = st.binary(max_size=4).map(lambda raw: base64.b64encode(raw).decode())
        case "IntOrString":
            inner = st.integers(0, 2**31 - 1) | TEXT
        case "Time":
            inner = st.just("2026-01-01T00:00:00Z")
        case "MicroTime":
            inner = st.integers(0, 999_999).map(lambda n: f"2026-01-01T00:00:00.{n:06}Z")
        case "FieldsV1" | "RawExtension":
            inner = st.dictionaries(WORD, st.just({}), min_size=1, max_size=2)
        case name:
            known = find(name)
            assert known is not None
            inner = objects_of(known, depth + 1)
    if field.container == "map[]":
        return st.dictionaries(TEXT, inner, min_size=1, max_size=2)
    return st.lists(inner, min_size=1, max_size=2) if field.container else inner


def objects_of(kind: Type, depth: int = 0) -> st.SearchStrategy[dict[str, Any]]:
    fields = [
        field
        for field in kind.fields.values()
        if field.number or field.name not in {"kind", "apiVersion"}
    ]
    if depth > 3:
        fields = [field for field in fields if find(field.type) is None]
    return st.fixed_dictionaries(
        {},
        optional={field.name: values_of(field, depth) for field in fields},
    )


def sent(kind: Type, obj: dict[str, Any]) -> dict[str, Any]:
    """What arrives: fields that are no pointers and say nothing stay away, required ones appear."""
    found: dict[str, Any] = {}
    for field in kind.fields.values():
        inner = find(field.type)
        value = obj.get(field.name)
        if field.name in {"kind", "apiVersion"} and not field.number:
            continue
        if value is None and not field.container and not field.pointer:
            if inner:
                value = {}
            elif field.required:
                value = {"string": "", "bool": False, "int32": 0, "int64": 0}.get(field.type)
        if value is None:
            continue
        if inner:
            match value:
                case list():
                    value = [sent(inner, one) for one in value]
                case dict() if field.container:
                    value = {key: sent(inner, one) for key, one in value.items()}
                case _:
                    value = sent(inner, value)
        if field.container or field.pointer or field.required or value not in ("", 0, {}):
            found[field.name] = value
    return found


@pytest.mark.parametrize(
    ("api_version", "kind", "type_name"),
    [
        ("v1", "Binding", "core/v1.Binding"),
        ("v1", "Event", "core/v1.Event"),
        ("events.k8s.io/v1", "Event", "events/v1.Event"),
        ("coordination.k8s.io/v1", "Lease", "coordination/v1.Lease"),
        ("authentication.k8s.io/v1", "TokenRequest", "authentication/v1.TokenRequest"),
        ("policy/v1", "DeleteOptions", "meta/v1.DeleteOptions"),
        ("v1", "Node", "core/v1.Node"),
    ],
)
def test_what_is_encoded_is_decoded(api_version: str, kind: str, type_name: str) -> None:
    table = find(type_name)
    assert table is not None

    @given(objects_of(table))
    def check(obj: dict[str, Any]) -> None:
        raw = envelope(api_version, kind, message(table, obj))
        head = {"kind": kind, "apiVersion": api_version}
        assert decode(raw) == (api_version, kind, head | sent(table, obj))

    check()


def test_a_pod_keeps_what_zero_means() -> None:
    table = find("core/v1.Pod")
    assert table is not None
    pod = {
        "metadata": {"name": "web", "labels": {"app": ""}},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {
                    "name": "a",
                    "ports": [{"containerPort": 80}],
                    "resources": {"limits": {"cpu": "1"}},
                }
            ],
            "volumes": [{"name": "v", "emptyDir": {}}],
        },
    }
    _, _, found = decode(envelope("v1", "Pod", message(table, pod)))
    assert found == {"kind": "Pod", "apiVersion": "v1"} | pod


def test_reviews_carry_lists_in_maps() -> None:
    extra = chunk(1, b"scopes") + chunk(2, chunk(1, b"a") + chunk(1, b"b"))
    user = chunk(1, b"jane") + chunk(4, extra)
    raw = chunk(3, number(1, 1) + chunk(2, user))
    _, _, found = decode(envelope("authentication.k8s.io/v1", "TokenReview", raw))
    expected = {
        "authenticated": True,
        "user": {"username": "jane", "extra": {"scopes": ["a", "b"]}},
    }
    assert found["status"] == expected


def test_json_in_an_envelope() -> None:
    body = b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web"}}'
    _, _, found = decode(envelope("v1", "Pod", body, "application/json"))
    assert found["metadata"] == {"name": "web"}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        pytest.param(b"{}", "does not appear to be a protobuf message", id="JSON"),
        pytest.param(b"k8s\x00\x0a", "unexpected EOF", id="cut off"),
        pytest.param(envelope("v1", "Ship", b""), 'no kind "Ship"', id="an unknown kind"),
        pytest.param(envelope("v1", "Pod", b"\x08\x01"), "bytes are expected", id="the wrong type"),
    ],
)
def test_what_cannot_be_read_is_refused(raw: bytes, message: str) -> None:
    with pytest.raises(RequestRefused, match=message) as caught:
        decode(raw)
    assert caught.value.code == 400


@given(st.binary(max_size=40))
def test_no_bytes_break_it(raw: bytes) -> None:
    for kind in ("Pod", "Node", "Event"):
        try:
            decode(envelope("v1", kind, raw))
        except RequestRefused as error:
            assert error.code == 400  # noqa: PT017 - either way is right, a crash is not
