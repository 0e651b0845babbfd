"""Scheduling policies: what is laid over the pods that name one, and which pods these are.

A scheduler cannot write a pod's spec, so a policy makes an *effective* pod: the pod as it would be if the policy's node
affinity and tolerations stood in its spec. Every plugin, class of alike pods and hint reads that one; nothing is sent.

* node affinity: required terms hold in addition to the pod's own, preferred ones count beside them;
* tolerations are added; only those that the scheduler alone acts upon (``framework.policy_text`` refuses NoExecute);
* resource weights take the place of the profile's in NodeResourcesFit;
* the priority class orders the queue. It gives no right to evict and no protection from it: those go by the priority
  that admission wrote into the pod, which quotas can limit and everybody can see.

A pod names a policy by label or annotation; one that names none goes by its namespace. Filled by ``framework.policy_text``;
asked by the cluster whenever a pending pod comes in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Final

import msgspec

from bayplan.cluster.policy import Applied, Policy
from bayplan.model.node_selectors import NodeSelector, NodeSelectorTerm
from bayplan.model.pod import Affinity, NodeAffinity, Pod, PodSpec
from bayplan.model.scheduling_policy import POLICY_KEY

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo, Shape
    from bayplan.model.meta import ObjectMeta
    from bayplan.model.namespace import Namespace
    from bayplan.model.policy import PriorityClass

_replace = msgspec.structs.replace

#: Asked for by pods that say nothing, as the API server fills it in.
_DEFAULT_SCHEDULER: Final = "default-scheduler"


class SchedulingPolicies:
    """All policies that are known, and who goes by them."""

    def __init__(self) -> None:
        #: Scheduler names whose profile has the plugin SchedulingPolicy: no other pod goes by a policy.
        self._served: set[str] = set()
        #: By name, then by source.
        self._policies: dict[str, dict[str, Policy]] = {}
        self._priorities: dict[str, int] = {}
        #: Namespace to the policy that it names.
        self._namespaces: dict[str, str] = {}
        #: Changes whenever some pod's effective self may.
        self.version = 0

    # --- what there is -------------------------------------------------------------------------------------------------

    def serve(self, scheduler_name: str) -> None:
        """Pods that ask for this scheduler go by policies."""
        if scheduler_name not in self._served:
            self._served.add(scheduler_name)
            self.version += 1

    def serve_only(self, scheduler_names: Iterable[str]) -> None:
        """Pods that ask for these schedulers go by policies, and no others."""
        names = set(scheduler_names)
        if names != self._served:
            self._served = names
            self.version += 1

    def put_all(self, source: str, policies: Mapping[str, Policy]) -> None:
        """All policies of one object; those that it held before and holds no more are gone."""
        for name in list(self._policies):
            if source in self._policies[name] and name not in policies:
                del self._policies[name][source]
                self.version += 1
                if not self._policies[name]:
                    del self._policies[name]
        for name, policy in policies.items():
            by_source = self._policies.setdefault(name, {})
            if by_source.get(source) != policy:
                by_source[source] = policy
                self.version += 1

    def get(self, name: str) -> Policy | None:
        """The policy of that name. Where several objects hold one, a SchedulingPolicy goes before a ConfigMap."""
        by_source = self._policies.get(name)
        return by_source[max(by_source)] if by_source else None

    def put_class(self, priority_class: PriorityClass) -> None:
        """A PriorityClass was added or changed."""
        if self._priorities.get(priority_class.name) != priority_class.value:
            self._priorities[priority_class.name] = priority_class.value
            self.version += 1

    def remove_class(self, name: str) -> None:
        """A PriorityClass is gone."""
        if self._priorities.pop(name, None) is not None:
            self.version += 1

    def put_namespace(self, namespace: Namespace) -> None:
        """A namespace was added or changed."""
        self._name_for_namespace(namespace.name, _named(namespace.metadata))

    def remove_namespace(self, name: str) -> None:
        """A namespace is gone."""
        self._name_for_namespace(name, "")

    def _name_for_namespace(self, namespace: str, policy: str) -> None:
        if self._namespaces.get(namespace, "") == policy:
            return
        self.version += 1
        if policy:
            self._namespaces[namespace] = policy
        else:
            del self._namespaces[namespace]

    # --- what holds for a pod ------------------------------------------------------------------------------------------

    def holding_for(self, pod: PodInfo, own: Shape) -> Applied | None:
        """The policy that holds for a pending pod; None where none does. ``own``: its spec as the API server has it."""
        if not self._served or pod.node_name:
            return None
        if (own.spec.scheduler_name or _DEFAULT_SCHEDULER) not in self._served:
            return None
        name = (
            pod.labels.get(POLICY_KEY)
            or pod.annotations.get(POLICY_KEY)
            or self._namespaces.get(pod.namespace)
        )
        if not name:
            return None
        policy = self.get(name)
        priority = self._priorities.get(policy.priority_class) if policy is not None else None
        return Applied(name, policy, priority)


def effective(spec: PodSpec, policy: Policy) -> PodSpec:
    """A spec with what a policy adds to it."""
    if policy.tolerations:
        added = tuple(one for one in policy.tolerations if one not in spec.tolerations)
        spec = _replace(spec, tolerations=spec.tolerations + added)
    if policy.node_affinity is not None:
        affinity = spec.affinity or Affinity()
        both = joined(affinity.node_affinity, policy.node_affinity)
        spec = _replace(spec, affinity=_replace(affinity, node_affinity=both))
    return spec


def effective_pod(spec: PodSpec, policy: Policy) -> Pod:
    """A pod with such a spec: shapes are made of pods."""
    return Pod(spec=effective(spec, policy))


def joined(one: NodeAffinity, other: NodeAffinity) -> NodeAffinity:
    """Nodes that both need, ranked by what either prefers."""
    if one.required is None or other.required is None:
        required = one.required or other.required
    else:
        # (a or b) and (c or d): each of the first with each of the second. An empty term matches no node.
        pairs = product(_said(one.required), _said(other.required))
        required = NodeSelector(
            tuple(
                NodeSelectorTerm(
                    a.match_expressions + b.match_expressions, a.match_fields + b.match_fields
                )
                for a, b in pairs
            )
        )
    return NodeAffinity(required, one.preferred + other.preferred)


def _said(selector: NodeSelector) -> list[NodeSelectorTerm]:
    return [t for t in selector.node_selector_terms if t.match_expressions or t.match_fields]


def _named(meta: ObjectMeta) -> str:
    return meta.labels.get(POLICY_KEY) or meta.annotations.get(POLICY_KEY) or ""
