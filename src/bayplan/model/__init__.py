"""Kubernetes objects as frozen data: no NumPy, no I/O.

What the API server, a dump or a YAML file holds becomes one of these structs through ``decode``; everything above reads
them and nothing changes them. Selectors and quantities are kept as written and compiled where they are used.
"""

from bayplan.model.decode import (
    KINDS,
    ObjectList,
    UnknownKind,
    class_of,
    decode,
    decode_as,
    decode_list,
    describe,
)
from bayplan.model.groups import CoschedulingPodGroup, PodGroup
from bayplan.model.lease import Lease
from bayplan.model.meta import (
    Condition,
    KubeObject,
    ObjectMeta,
    OwnerReference,
    controller_of,
    kind_of,
)
from bayplan.model.namespace import Namespace
from bayplan.model.node import Node, Taint
from bayplan.model.pod import Container, Pod, PodSpec, PodStatus, Toleration
from bayplan.model.policy import (
    ElasticQuota,
    PodDisruptionBudget,
    PriorityClass,
    ResourceQuota,
)
from bayplan.model.quantity import Quantity, ResourceList, milli_value, nano_value, value
from bayplan.model.scheduling_policy import ConfigMap, SchedulingPolicy
from bayplan.model.selectors import (
    LabelSelector,
    NodeSelector,
    Requirement,
    Selector,
    compile_label_selector,
    compile_node_selector,
    compile_preferred_terms,
    parse_field_selector,
    parse_selector,
    selector_from_map,
)
from bayplan.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from bayplan.model.volumes import Volume
from bayplan.model.workloads import (
    Deployment,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)

__all__ = [
    "KINDS",
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "Condition",
    "ConfigMap",
    "Container",
    "CoschedulingPodGroup",
    "Deployment",
    "ElasticQuota",
    "KubeObject",
    "LabelSelector",
    "Lease",
    "Namespace",
    "Node",
    "NodeSelector",
    "ObjectList",
    "ObjectMeta",
    "OwnerReference",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "PodGroup",
    "PodSpec",
    "PodStatus",
    "PriorityClass",
    "Quantity",
    "ReplicaSet",
    "ReplicationController",
    "Requirement",
    "ResourceList",
    "ResourceQuota",
    "SchedulingPolicy",
    "Selector",
    "Service",
    "StatefulSet",
    "StorageClass",
    "Taint",
    "Toleration",
    "UnknownKind",
    "Volume",
    "VolumeAttachment",
    "class_of",
    "compile_label_selector",
    "compile_node_selector",
    "compile_preferred_terms",
    "controller_of",
    "decode",
    "decode_as",
    "decode_list",
    "describe",
    "kind_of",
    "milli_value",
    "nano_value",
    "parse_field_selector",
    "parse_selector",
    "selector_from_map",
    "value",
]
