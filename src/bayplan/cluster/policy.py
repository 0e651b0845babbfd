"""A scheduling policy, and a policy as it holds for one pod: plain data.

Made by ``framework.policy_text`` and by ``cluster.scheduling_policies``, where the rules are; held by the pods.
"""

from __future__ import annotations

from dataclasses import dataclass

from bayplan.model.pod import NodeAffinity, Toleration


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy, read and judged."""

    name: str
    #: The object that holds it: ``ConfigMap kube-system/scheduling-policies``, ``SchedulingPolicy gpu``.
    source: str
    #: The object's resourceVersion: another version is another policy.
    version: str = ""
    #: Resource and weight.
    weights: tuple[tuple[str, int], ...] = ()
    node_affinity: NodeAffinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    priority_class: str = ""
    #: What is wrong with it; empty where nothing is.
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Applied:
    """A policy as it holds for one pod."""

    #: As the pod or its namespace names it.
    name: str
    #: None where there is no policy of that name.
    policy: Policy | None
    #: The priority of its class; None where it names none, or one that does not exist.
    priority: int | None

    @property
    def problem(self) -> str:
        """Why the pod has to wait; empty where the policy holds."""
        if self.policy is None:
            return f'scheduling policy "{self.name}" does not exist'
        if self.policy.problem:
            return f'scheduling policy "{self.name}" cannot be used: {self.policy.problem}'
        if self.policy.priority_class and self.priority is None:
            missing = f'there is no PriorityClass "{self.policy.priority_class}"'
            return f'scheduling policy "{self.name}" cannot be used: spec.priorityClass: {missing}'
        return ""

    @property
    def weights(self) -> tuple[tuple[str, int], ...]:
        """Resource and weight; empty where the profile's hold."""
        return self.policy.weights if self.policy is not None else ()

    @property
    def identity(self) -> tuple[str, str, str, int | None]:
        """What alike pods share of it."""
        policy = self.policy
        if policy is None:
            return (self.name, "", "", None)
        return (self.name, policy.source, policy.version, self.priority)
