"""Kubernetes objects as plain data: dicts as JSON has them, encoded to bytes and back.

The store keeps bytes; whoever works on an object decodes a copy of its own, which makes copying cheap and sharing safe.
Read by everything in ``embedded``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

import msgspec

#: An object as JSON has it. The one that is passed in may be changed by the receiver unless it says otherwise.
Object: TypeAlias = dict[str, Any]

_decoder = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder()

encode = _encoder.encode


def decode(raw: bytes) -> Any:
    """What JSON bytes stand for."""
    return _decoder.decode(raw)


def copy_of(value: Any) -> Any:
    """A copy that shares nothing with the original; faster than ``copy.deepcopy``."""
    return _decoder.decode(_encoder.encode(value))


def as_object(value: object) -> Object:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def metadata(obj: Object) -> Object:
    """The object's metadata, made if there is none."""
    found = obj.get("metadata")
    if not isinstance(found, dict):
        found = obj["metadata"] = {}
    return found


def section(obj: Object, name: str) -> Object:
    """An object-valued field such as ``spec``, made if there is none."""
    found = obj.get(name)
    if not isinstance(found, dict):
        found = obj[name] = {}
    return found


def at(obj: object, *path: str) -> Any:
    """What is found down a path of field names; None where the path ends early."""
    for name in path:
        if not isinstance(obj, dict):
            return None
        obj = obj.get(name)
    return obj


def text_at(obj: object, *path: str) -> str:
    """The string down a path; empty where there is none."""
    found = at(obj, *path)
    return found if isinstance(found, str) else ""


def number_at(obj: object, *path: str) -> int:
    """The integer down a path; zero where there is none."""
    found = at(obj, *path)
    return found if isinstance(found, int) else 0


def key_of(namespace: str, name: str) -> str:
    """The key under which an object is stored; sorts as Kubernetes lists."""
    return f"{namespace}/{name}" if namespace else name


#: The order in which fields are written, so that an object reads as kubectl prints it.
_HEAD: Final = ("kind", "apiVersion", "metadata")


def in_order(obj: Object) -> Object:
    """The same fields with kind, apiVersion and metadata in front."""
    head = {name: obj[name] for name in _HEAD if name in obj}
    return head | {name: value for name, value in obj.items() if name not in head}


def timestamp(now_s: float) -> str:
    """``metav1.Time``: whole seconds."""
    return datetime.fromtimestamp(int(now_s), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_timestamp(now_s: float) -> str:
    """``metav1.MicroTime``."""
    return datetime.fromtimestamp(now_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def seconds_of(text: str) -> float | None:
    """A timestamp as seconds since 1970; None where it cannot be read."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
