"""JSON to objects: the one way in for everything that comes from outside.

What is unknown is skipped, a null reads as the zero value, and what is malformed raises ``DecodeError`` with the object
and the path in Kubernetes' own spelling; nothing else is ever raised. Fed with bytes by the client and with trees by
whoever reads YAML; read by ingest, by dumps and by the conformance cases.

Decoding is direct and typed. Only if that fails is a document looked at again, slowly: for nulls, which Go accepts
anywhere, then for the words of the error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from bayplan.errors import DecodeError
from bayplan.model import malformed, shapes
from bayplan.model.groups import CoschedulingPodGroup, PodGroup
from bayplan.model.lease import Lease
from bayplan.model.meta import KubeObject, Record, kind_of
from bayplan.model.namespace import Namespace
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.policy import (
    ElasticQuota,
    PodDisruptionBudget,
    PriorityClass,
    ResourceQuota,
)
from bayplan.model.scheduling_policy import ConfigMap, SchedulingPolicy
from bayplan.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from bayplan.model.workloads import (
    Deployment,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)

#: A document: JSON, or the tree that was read from JSON or YAML.
Raw: TypeAlias = bytes | str | Mapping[str, Any]

K = TypeVar("K", bound=KubeObject)
T = TypeVar("T", bound=msgspec.Struct)

#: Every class that ``decode`` knows.
KINDS: Final[tuple[type[KubeObject], ...]] = (
    Pod,
    Node,
    Namespace,
    Service,
    ReplicationController,
    ReplicaSet,
    StatefulSet,
    Deployment,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    CSINode,
    CSIDriver,
    CSIStorageCapacity,
    VolumeAttachment,
    PodDisruptionBudget,
    PriorityClass,
    ResourceQuota,
    ElasticQuota,
    PodGroup,
    CoschedulingPodGroup,
    Lease,
    ConfigMap,
    SchedulingPolicy,
)

_CLASSES: Final = {(version, kind_of(cls)): cls for cls in KINDS for version in cls.api_versions}

#: All that msgspec and Python's codecs raise for bad input.
_FOREIGN = (msgspec.MsgspecError, RecursionError, TypeError, ValueError)


class UnknownKind(DecodeError):
    """An object of a kind that bayplan has no class for. Nothing is said about the object itself."""


class ObjectList(Record, frozen=True):
    """A list as the API server or ``kubectl get -o json`` gives it."""

    items: tuple[KubeObject, ...] = ()
    #: Where to go on watching.
    resource_version: str = ""
    #: Where to go on listing; empty at the end.
    next_page: str = ""


class _ListMeta(Record, frozen=True):
    resource_version: str = ""
    next_page: str = msgspec.field(default="", name="continue")


class _Header(Record, frozen=True):
    api_version: str = ""
    kind: str = ""


class _List(Record, frozen=True):
    api_version: str = ""
    kind: str = ""
    metadata: _ListMeta = _ListMeta()
    items: tuple[msgspec.Raw, ...] = ()


_decoders: dict[type, msgspec.json.Decoder[Any]] = {}


def decode(raw: Raw) -> KubeObject:
    """The object in a document, by its apiVersion and kind.

    Raises:
        UnknownKind: there is no class for it.
        DecodeError: the document is malformed.
    """
    header = _typed(_Header, raw)
    return decode_as(class_of(header.api_version, header.kind), raw)


def decode_as(cls: type[K], raw: Raw) -> K:
    """The object in a document, which is of this class; it may leave out its kind, but not have another.

    Raises:
        DecodeError: the document is malformed.
    """
    obj = _typed(cls, raw)
    check = shapes.quantity_check(cls)
    if check is not None:
        try:
            check(obj)
        except DecodeError as error:
            raise (shapes.bad_quantity(obj) or error).at("", describe(obj)) from None
    return obj


def decode_list(raw: Raw, *, skip_unknown: bool = False) -> ObjectList:
    """The objects of a ``List``, or of a ``PodList`` and its like, whose items name no kind.

    An object that is no list counts as a list of one, as ``kubectl get -o json`` prints it.

    Args:
        raw: the document.
        skip_unknown: leave out items of kinds that bayplan has no class for; else they raise ``UnknownKind``.

    Raises:
        DecodeError: the list, or one of its items, is malformed.
    """
    found = _items(raw)
    if not found.kind.endswith("List"):
        return ObjectList((decode(raw),))
    kind = found.kind.removesuffix("List")
    cls = class_of(found.api_version, kind) if kind else None
    items: list[KubeObject] = []
    for index, item in enumerate(found.items):
        try:
            items.append(decode(item) if cls is None else decode_as(cls, item))
        except UnknownKind as error:
            if not skip_unknown:
                raise error.at(f"items[{index}]") from None
        except DecodeError as error:
            # An object that has a name needs no index.
            raise (error if " " in error.obj else error.at(f"items[{index}]")) from None
    return ObjectList(tuple(items), found.metadata.resource_version, found.metadata.next_page)


def class_of(api_version: str, kind: str) -> type[KubeObject]:
    """The class for an apiVersion and kind; raises ``UnknownKind`` if there is none."""
    cls = _CLASSES.get((api_version, kind))
    if cls is None:
        if not kind:
            raise UnknownKind("an object without a kind")
        raise UnknownKind(f"unknown kind {kind!r} in apiVersion {api_version!r}")
    return cls


def describe(obj: KubeObject) -> str:
    """``Pod default/web``, as errors name objects."""
    return f"{obj.kind} {obj.key}".rstrip()


def _typed(cls: type[T], raw: Raw) -> T:
    """A document read as a struct; its quantities are not looked at."""
    try:
        # Asking whether something is a Mapping takes longer than asking whether it is text.
        if not isinstance(raw, bytes | str) and isinstance(raw, Mapping):
            return msgspec.convert(raw, cls)
        decoder = _decoders.get(cls)
        if decoder is None:
            decoder = _decoders[cls] = msgspec.json.Decoder(cls)
        found: T = decoder.decode(raw)
    except _FOREIGN as error:
        return _typed_without_nulls(cls, raw, error)
    return found


def _typed_without_nulls(cls: type[T], raw: Any, error: Exception) -> T:
    """The second try, for documents with nulls; raises what the first one met if there are none."""
    if not isinstance(raw, bytes | bytearray | memoryview | str | msgspec.Raw | Mapping):
        raise DecodeError(f"expected object, got {type(raw).__name__}") from None
    tree: object = None
    try:
        tree = raw if isinstance(raw, Mapping) else msgspec.json.decode(raw)
        if isinstance(error, msgspec.ValidationError) and shapes.has_null(tree):
            tree = shapes.without_nulls(tree, shapes.type_of(cls))
            return msgspec.convert(tree, cls)
    except _FOREIGN as again:
        error = again
    raise malformed.explain(cls, tree, error) from None


def _items(raw: Raw) -> _List:
    """A list with its items unread."""
    if not isinstance(raw, Mapping):
        return _typed(_List, raw)
    header, meta = _typed(_Header, raw), raw.get("metadata")
    items = raw.get("items")
    if not isinstance(items, list | tuple | None):
        raise DecodeError("expected array", path="items", obj=header.kind)
    return _List(
        header.api_version,
        header.kind,
        _typed(_ListMeta, meta) if isinstance(meta, Mapping) else _ListMeta(),
        tuple({} if item is None else item for item in items or ()),
    )
