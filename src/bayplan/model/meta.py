"""What all objects share: how they are laid out, their metadata, owners and timestamps.

Every struct is frozen and holds only tuples, dicts and scalars, so an object that was handed to one reader cannot be
changed under another; nobody may write into the dicts. An absent field, a null and Go's zero value read the same, except
for fields typed ``| None``, where Kubernetes tells "not given" from "empty".

Fed by ``decode``; read by everything above.
"""

from datetime import UTC, datetime
from typing import Annotated, ClassVar, TypeAlias

import msgspec

Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

#: RFC 3339 with an offset; to the microsecond, the rest is rounded.
Time: TypeAlias = Annotated[datetime, msgspec.Meta(tz=True)]


# gc=False: decoded data hold no cycles, and a million pods are not worth traversing.
class Record(
    msgspec.Struct,
    frozen=True,
    rename="camel",
    omit_defaults=True,
    repr_omit_defaults=True,
    gc=False,
):
    """A part of an object. ``msgspec.json.encode(part, order="deterministic")`` is its normal form."""


class OwnerReference(Record, frozen=True):
    """The object that this one belongs to."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(Record, frozen=True):
    """Name, labels and history of an object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Int64 = 0
    generate_name: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: Int64 | None = None
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()


class ObjectReference(Record, frozen=True):
    """Points at another object, as a volume does at its claim."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""


class Condition(Record, frozen=True):
    """One of the conditions in a status: pods, nodes and groups have the same."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: Int64 = 0


class KubeObject(Record, frozen=True, tag_field="kind", tag=True):
    """An object with a kind and a name of its own.

    ``kind`` is the tag of the struct: written when encoded, checked when decoded, if it is there at all (the items of a
    typed list have none).
    """

    #: The apiVersions that ``decode`` reads as this class; the first is the one to write.
    api_versions: ClassVar[tuple[str, ...]] = ("v1",)

    metadata: ObjectMeta = ObjectMeta()

    @property
    def kind(self) -> str:
        return kind_of(type(self))

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.labels

    @property
    def annotations(self) -> dict[str, str]:
        return self.metadata.annotations

    @property
    def key(self) -> str:
        """``namespace/name``, or the name alone where there is no namespace."""
        meta = self.metadata
        return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name

    @property
    def is_terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None


def kind_of(cls: type[KubeObject]) -> str:
    """The Kubernetes kind that a class stands for."""
    return str(cls.__struct_config__.tag)


def controller_of(meta: ObjectMeta) -> OwnerReference | None:
    """The owner that manages the object: the first one marked as controller."""
    for owner in meta.owner_references:
        if owner.controller:
            return owner
    return None


def is_controlled_by(meta: ObjectMeta, uid: str) -> bool:
    """Whether the object with this uid manages the one with this metadata."""
    owner = controller_of(meta)
    return owner is not None and owner.uid == uid


def format_time(moment: datetime) -> str:
    """As Kubernetes writes a ``Time``: UTC, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_micro_time(moment: datetime) -> str:
    """As Kubernetes writes a ``MicroTime``: UTC, always six decimals, or its parser refuses it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
