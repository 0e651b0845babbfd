"""Services and the controllers of pods, and the selector by which they hold a pod's siblings together.

Fed by the cluster; read by PodTopologySpread, whose default constraints spread the pods that one workload selects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakKeyDictionary

from bayplan.cluster.changes import Reads
from bayplan.errors import SelectorError
from bayplan.model.selectors import NOTHING, Selector, compile_label_selector, selector_from_map
from bayplan.model.workloads import ReplicaSet, ReplicationController, Service, StatefulSet

if TYPE_CHECKING:
    from bayplan.cluster.journal import Journal
    from bayplan.cluster.podinfo import Kin, PodInfo

Workload = Service | ReplicationController | ReplicaSet | StatefulSet

#: API version and kind of the controllers that are looked at.
_CONTROLLERS: Final = {
    ("v1", "ReplicationController"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
}
#: Answers that are remembered for pods of the same labels, by owner.
_REMEMBERED: Final = 1024


class _Answer(NamedTuple):
    version: int
    selector: Selector | None


class Workloads:
    """Selectors of services and controllers by namespace."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        #: By namespace and name; those without a selector add nothing and are not kept.
        self._services: dict[str, dict[str, dict[str, str]]] = {}
        #: By namespace, kind and name.
        self._controllers: dict[tuple[str, str, str], dict[str, str] | Selector] = {}
        self._versions: dict[str, int] = {}
        #: As long as there are pods with these labels: a churning cluster does not grow.
        self._answers: WeakKeyDictionary[Kin, dict[object, _Answer]] = WeakKeyDictionary()

    def put(self, obj: Workload) -> None:
        """Add a workload or bring it up to date."""
        namespace, name = obj.metadata.namespace, obj.metadata.name
        if isinstance(obj, Service):
            services = self._services.setdefault(namespace, {})
            selector = obj.spec.selector
            if services.get(name, {}) == selector:
                return
            if selector:
                services[name] = selector
            else:
                del services[name]
        else:
            key = (namespace, obj.kind, name)
            compiled = _compile(obj)
            if self._controllers.get(key) == compiled:
                return
            self._controllers[key] = compiled
        self._changed(namespace)

    def remove(self, obj: Workload) -> None:
        """Forget a workload."""
        namespace, name = obj.metadata.namespace, obj.metadata.name
        if isinstance(obj, Service):
            found: object = self._services.get(namespace, {}).pop(name, None)
        else:
            found = self._controllers.pop((namespace, obj.kind, name), None)
        if found is not None:
            self._changed(namespace)

    def _changed(self, namespace: str) -> None:
        self._versions[namespace] = self._versions.get(namespace, 0) + 1
        self._journal.topic_changed(Reads.WORKLOADS)

    def selector_for(self, pod: PodInfo) -> Selector | None:
        """What selects the pod and its siblings: its services' and its controller's selectors together.

        None where nothing selects it.
        """
        kin, owner = pod.kin, pod.owner
        key = None if owner is None else (owner.api_version, owner.kind, owner.name)
        version = self._versions.get(kin.namespace, 0)
        answers = self._answers.get(kin)
        if answers is None:
            answers = self._answers[kin] = {}
        known = answers.get(key)
        if known is not None and known.version == version:
            return known.selector
        if len(answers) >= _REMEMBERED:
            answers.clear()
        selector = self._selector_for(pod)
        answers[key] = _Answer(version, selector)
        return selector

    def _selector_for(self, pod: PodInfo) -> Selector | None:
        labels: dict[str, str] = {}
        for service in self._services.get(pod.namespace, {}).values():
            if all(pod.labels.get(key) == value for key, value in service.items()):
                labels |= service
        controller = self._controller_of(pod)
        if isinstance(controller, dict):
            labels |= controller
        selector = selector_from_map(labels)
        if isinstance(controller, Selector) and not controller.nothing:
            selector &= controller
        return None if selector.empty else selector

    def _controller_of(self, pod: PodInfo) -> dict[str, str] | Selector | None:
        owner = pod.owner
        if owner is None or (owner.api_version, owner.kind) not in _CONTROLLERS:
            return None
        return self._controllers.get((pod.namespace, owner.kind, owner.name))


def _compile(
    controller: ReplicationController | ReplicaSet | StatefulSet,
) -> dict[str, str] | Selector:
    """A controller's selector; one that cannot be read adds no condition, and neither does nothing at all."""
    if isinstance(controller, ReplicationController):
        return controller.spec.selector
    try:
        return compile_label_selector(controller.spec.selector)
    except SelectorError:
        return NOTHING
