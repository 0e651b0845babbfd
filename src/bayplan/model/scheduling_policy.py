"""Scheduling policies as objects: of a kind of their own, or as text in a ConfigMap.

The kind is bayplan's (``policy.bayplan.io/v1alpha1``); documents that people write into ConfigMaps may also call it
``scheduling.k8s.io/v1``. What a policy asks for stays as it is written: ``framework.policy_text`` reads it strictly and
names every mistake with its path, which the usual decoding, made for what the API server has checked, does not.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec

from bayplan.model.meta import Condition, KubeObject, Record

#: On a pod or a namespace, as label or as annotation: the policy that holds for it.
POLICY_KEY: Final = "bayplan.io/policy"


class SchedulingPolicyStatus(Record, frozen=True):
    """Whether the policy can be applied."""

    conditions: tuple[Condition, ...] = ()


class SchedulingPolicy(KubeObject, frozen=True):
    """What holds for the pods that name it."""

    api_versions: ClassVar[tuple[str, ...]] = (
        "policy.bayplan.io/v1alpha1",
        "scheduling.k8s.io/v1",
    )

    #: As it is written.
    spec: dict[str, Any] = msgspec.field(default_factory=dict)
    status: SchedulingPolicyStatus = SchedulingPolicyStatus()


class ConfigMap(KubeObject, frozen=True):
    """Texts by key."""

    data: dict[str, str] = msgspec.field(default_factory=dict)
