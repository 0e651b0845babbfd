"""What pods belong to: services and controllers.

Fed by ``decode``; read by PodTopologySpread's default constraints, which spread the pods of one workload.
"""

from typing import ClassVar

import msgspec

from bayplan.model.label_selectors import LabelSelector
from bayplan.model.meta import Int32, KubeObject, ObjectMeta, Record
from bayplan.model.pod import PodSpec

_APPS = ("apps/v1",)


class PodTemplate(Record, frozen=True):
    """What the pods of a controller look like."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class ServiceSpec(Record, frozen=True):
    """The pods behind a service; with an empty selector none."""

    selector: dict[str, str] = msgspec.field(default_factory=dict)


class Service(KubeObject, frozen=True):
    """A service."""

    spec: ServiceSpec = ServiceSpec()


class ReplicationControllerSpec(Record, frozen=True):
    """How many pods, which, and how they look."""

    #: None means 1.
    replicas: Int32 | None = None
    selector: dict[str, str] = msgspec.field(default_factory=dict)
    template: PodTemplate | None = None


class ReplicationController(KubeObject, frozen=True):
    """The ancestor of the ReplicaSet."""

    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class ControllerSpec(Record, frozen=True):
    """How many pods, which, and how they look."""

    #: None means 1.
    replicas: Int32 | None = None
    #: None matches nothing.
    selector: LabelSelector | None = None
    template: PodTemplate = PodTemplate()


class ReplicaSet(KubeObject, frozen=True):
    """Keeps a number of alike pods."""

    api_versions: ClassVar[tuple[str, ...]] = _APPS

    spec: ControllerSpec = ControllerSpec()


class StatefulSet(KubeObject, frozen=True):
    """Keeps a number of pods, each with a name and volumes of its own."""

    api_versions: ClassVar[tuple[str, ...]] = _APPS

    spec: ControllerSpec = ControllerSpec()


class Deployment(KubeObject, frozen=True):
    """Keeps ReplicaSets, one per version of the template."""

    api_versions: ClassVar[tuple[str, ...]] = _APPS

    spec: ControllerSpec = ControllerSpec()
