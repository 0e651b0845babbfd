"""A case: a cluster, a pod, and what the scheduler says of it.

Read from conformance files, from bug reports and from ``explain --save``; evaluated by ``bayplan evaluate``. The format is
that of the conformance files: objects as the API server shows them, and a verdict per node in Kubernetes' words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.podinfo import PodInfo
from bayplan.cycle.attempt import evaluate
from bayplan.cycle.desk import Desk
from bayplan.cycle.local import LocalHandle
from bayplan.cycle.postfilter import make_room
from bayplan.cycle.record import Decision, Picture, Ring
from bayplan.errors import ConfigError, DecodeError
from bayplan.framework.config import Configuration, default_config, load_config_objects
from bayplan.framework.dice import Dice
from bayplan.framework.policy_text import take
from bayplan.framework.profile import build_profile
from bayplan.framework.registry import Registry
from bayplan.framework.status import Rejected
from bayplan.model.decode import decode_as
from bayplan.model.group_forms import group_from
from bayplan.model.groups import CoschedulingPodGroup, PodGroup
from bayplan.model.meta import KubeObject, ObjectMeta
from bayplan.model.namespace import Namespace
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.policy import ElasticQuota, PodDisruptionBudget, PriorityClass
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
from bayplan.model.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from bayplan.sim.gangs import GangVerdict, gang_of

K = TypeVar("K", bound=KubeObject)

#: The lists of a case, and what is in them. Nodes come first, so that pods find them; pods last.
LISTS: Final[dict[str, type[KubeObject]]] = {
    "configmaps": ConfigMap,
    "schedulingpolicies": SchedulingPolicy,
    "namespaces": Namespace,
    "nodes": Node,
    "services": Service,
    "replicasets": ReplicaSet,
    "statefulsets": StatefulSet,
    "replicationcontrollers": ReplicationController,
    "storageclasses": StorageClass,
    "csidrivers": CSIDriver,
    "csinodes": CSINode,
    "csistoragecapacities": CSIStorageCapacity,
    "persistentvolumes": PersistentVolume,
    "persistentvolumeclaims": PersistentVolumeClaim,
    "volumeattachments": VolumeAttachment,
    "poddisruptionbudgets": PodDisruptionBudget,
    "priorityclasses": PriorityClass,
    "elasticquotas": ElasticQuota,
    "podgroups": CoschedulingPodGroup,
    "nativepodgroups": PodGroup,
    "pods": Pod,
}

Feed = Callable[[Cluster, Iterable[Any]], None]


def feed_in_order(cluster: Cluster, objects: Iterable[Any]) -> None:
    """Put every object in, one after the other."""
    for obj in objects:
        if isinstance(obj, SchedulingPolicy | ConfigMap):
            take(cluster, obj)
        elif isinstance(obj, CoschedulingPodGroup | PodGroup):
            cluster.gangs.put(group_from(obj))
        else:
            cluster.put(obj)


def objects_of(case: Mapping[str, Any]) -> Iterator[Any]:
    """The decoded objects of a case.

    Raises:
        DecodeError: one of them is malformed.
    """
    for field, kind in LISTS.items():
        raw = case.get(field) or ()
        if not isinstance(raw, list | tuple):
            raise DecodeError(f"expected a list, got {type(raw).__name__}", path=field)
        for i, one in enumerate(raw):
            yield _decoded(kind, one, f"{field}[{i}]")


def _decoded(kind: type[K], raw: Any, path: str) -> K:
    if not isinstance(raw, Mapping):
        raise DecodeError(f"expected an object, got {type(raw).__name__}", path=path)
    try:
        return decode_as(kind, raw)
    except DecodeError as error:
        raise error.at(path) from error


def _config_of(case: Mapping[str, Any], registry: Registry) -> Configuration:
    written = case.get("config")
    try:
        return load_config_objects(written, registry) if written else default_config(registry)
    except ConfigError as error:
        raise ConfigError(error.problems, source="config") from error


@dataclass(frozen=True, slots=True)
class Judged:
    """A case and the decision on its pod."""

    pod: PodInfo
    desk: Desk
    decision: Decision
    #: What its gang comes to; None where it is decided alone.
    gang: GangVerdict | None = None

    @property
    def picture(self) -> Picture:
        """Everything that was said."""
        return self.decision.picture()


def judge(
    case: Mapping[str, Any], registry: Registry, *, seed: int = 0, feed: Feed = feed_in_order
) -> Judged:
    """Build the cluster of a case and evaluate its pod on every node."""
    desk = open_desk(case, registry, seed=seed)
    feed(desk.cluster, objects_of(case))
    return judge_at(desk, case)


def open_desk(case: Mapping[str, Any], registry: Registry, *, seed: int = 0) -> Desk:
    """A desk with the configuration of a case, over a cluster that is empty yet."""
    config = _config_of(case, registry)
    cluster = Cluster()
    dice = Dice(seed)
    handle = LocalHandle(cluster.view, config.profiles[0].scheduler_name, dice)
    profile = build_profile(config.profiles[0], registry, handle)
    return Desk(cluster, profile, dice, Ring(), handle)


def judge_at(desk: Desk, case: Mapping[str, Any]) -> Judged:
    """Evaluate the pod of a case at a desk whose cluster holds the objects of the case."""
    if not case.get("queued"):
        _forget_queued(desk.cluster)
    if "pod" not in case:
        raise DecodeError("a case has a pod to place", path="pod")
    pod = desk.cluster.info(_decoded(Pod, case["pod"], "pod"))
    decision = evaluate(pod, desk)
    return Judged(pod, desk, decision, _gang(pod, desk, case))


def _gang(pod: PodInfo, desk: Desk, case: Mapping[str, Any]) -> GangVerdict | None:
    if desk.cluster.gangs.of(pod) is None:
        return None
    pods = [_decoded(Pod, raw, "pods") for raw in case.get("pods") or ()]
    pending = [desk.cluster.info(each) for each in pods if not each.spec.node_name]
    return gang_of(pod, pending, desk)


def _forget_queued(cluster: Cluster) -> None:
    """Reduce nominated pods to references, as kube-scheduler knows them where they are not in its queue.

    A conformance case has no queue: of a nominated pod it knows name, namespace and uid, so that it asks for nothing
    and has priority 0. A case saved from a cluster says ``queued: true``: there the pods were pending.
    """
    for pod, node in cluster.nominations.all():
        meta = ObjectMeta(name=pod.name, namespace=pod.namespace, uid=pod.uid)
        cluster.nominations.put(cluster.info(Pod(metadata=meta)), node)


def verdict_of(
    case: Mapping[str, Any], registry: Registry, *, feed: Feed = feed_in_order
) -> dict[str, Any]:
    """The verdict on a case, in the format of the conformance files.

    Raises:
        BayplanError: there is none, and why.
    """
    return verdict_on(case, judge(case, registry, feed=feed))


def verdict_on(case: Mapping[str, Any], judged: Judged) -> dict[str, Any]:
    """The same for a case that has been judged."""
    if judged.decision.fits:
        judged.decision.ranking()  # a node promised to the pod is taken without scores
    picture = judged.picture
    verdict: dict[str, Any] = {"id": case.get("id")}
    if judged.gang is not None:
        verdict["gang"] = {"fits": judged.gang.fits, "message": judged.gang.message}
        if judged.gang.nodes:
            verdict["gang"]["nodes"] = judged.gang.nodes
    if picture.rejection is not None:
        verdict["preFilter"] = _status(picture.rejection)
    lines = picture.lines()
    verdict["filter"] = {line.node: _status(line.rejected) for line in lines}
    feasible = [line for line in lines if line.rejected is None]
    if feasible:
        verdict["scores"] = {
            line.node: {name: score.weighted for name, score in line.scores.items()}
            for line in feasible
        }
        totals = verdict["totals"] = {line.node: line.total for line in feasible}
        best = max(totals.values())
        verdict["best"] = [node for node, total in totals.items() if total == best]
    else:
        verdict["message"] = picture.message()
        if case.get("preempt"):
            _add_preemption(verdict, judged)
    return verdict


def _add_preemption(verdict: dict[str, Any], judged: Judged) -> None:
    nominated, said = make_room(judged.decision, judged.decision.picture(), judged.desk)
    if nominated is None:
        verdict["postFilterMessage"] = said
        return
    victims = [pod.key for pod in nominated.victims if not pod.terminating]
    verdict["preempted"] = [{"node": nominated.node, "victims": victims}]


def _status(rejected: Rejected | None) -> dict[str, Any]:
    if rejected is None:
        return {"code": "Success"}
    status: dict[str, Any] = {"code": rejected.code.label}
    if rejected.plugin:
        status["plugin"] = rejected.plugin
    status["reasons"] = list(rejected.reasons)
    return status
