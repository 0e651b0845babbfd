"""What is wrong with the groups of Kubernetes' own: PodGroups and Workloads of ``scheduling.k8s.io/v1alpha2``.

Called by ``validation``. Those of scheduler-plugins are custom resources: their schema says what they may hold.
"""

from __future__ import annotations

from typing import Final

from bayplan.embedded.objects import Object, as_list, as_object, at, text_at
from bayplan.embedded.refusals import (
    FieldProblem,
    duplicate,
    invalid_value,
    required,
    too_many,
    unsupported_value,
)
from bayplan.embedded.rules.names import label_problems

_IMMUTABLE: Final = "field is immutable"
_POLICIES: Final = ("basic", "gang")
_MODES: Final = ("Pod", "PodGroup")
#: Of templates in one Workload.
_MOST_TEMPLATES: Final = 8


def group_problems(obj: Object, old: Object | None) -> list[FieldProblem]:
    """What is wrong with a PodGroup; nothing of its spec ever changes."""
    spec = as_object(obj.get("spec"))
    found = _frozen(spec, old)
    return found + _scheduling_problems(spec, "spec")


def workload_problems(obj: Object, old: Object | None) -> list[FieldProblem]:
    """What is wrong with a Workload; its templates stay as they are."""
    spec = as_object(obj.get("spec"))
    templates = [as_object(one) for one in as_list(spec.get("podGroupTemplates"))]
    found = _frozen(spec, old)
    if not templates:
        found.append(required("spec.podGroupTemplates"))
    if len(templates) > _MOST_TEMPLATES:
        found.append(too_many("spec.podGroupTemplates", len(templates), _MOST_TEMPLATES))
    names: set[str] = set()
    for number, template in enumerate(templates):
        where = f"spec.podGroupTemplates[{number}]"
        name = text_at(template, "name")
        if name in names:
            # kube-apiserver shows the field whether or not it was given.
            constraints = template.get("schedulingConstraints")
            found.append(duplicate(where, template | {"schedulingConstraints": constraints}))
        names.add(name)
        found += [invalid_value(f"{where}.name", name, said) for said in label_problems(name)]
        found += _scheduling_problems(template, where)
    return found


def membership_problems(spec: Object, path: str) -> list[FieldProblem]:
    """What is wrong with the group that a pod names."""
    group = spec.get("schedulingGroup")
    if group is None or at(group, "podGroupName"):
        return []
    said = "must specify one of: `podGroupName`"
    return [invalid_value(f"{path}.schedulingGroup.podGroupName", None, said)]


def _frozen(spec: Object, old: Object | None) -> list[FieldProblem]:
    if old is None:
        return []
    before = as_object(old.get("spec"))
    return [
        invalid_value(f"spec.{field}", None, _IMMUTABLE)
        for field in sorted(before.keys() | spec.keys())
        if spec.get(field) != before.get(field)
    ]


def _scheduling_problems(spec: Object, path: str) -> list[FieldProblem]:
    """What groups and templates have in common: policy, topology and the mode of disruption."""
    policy = as_object(spec.get("schedulingPolicy"))
    chosen = [name for name in _POLICIES if policy.get(name) is not None]
    found: list[FieldProblem] = []
    if not chosen:
        said = "must specify one of: `basic`, `gang`"
        found.append(invalid_value(f"{path}.schedulingPolicy", "", said))
    elif len(chosen) > 1:
        said = "must specify exactly one of: `basic`, `gang`"
        found.append(invalid_value(f"{path}.schedulingPolicy", "{basic, gang}", said))
    elif chosen == ["gang"]:
        found += _count_problems(at(policy, "gang", "minCount"), path)
    constraints = as_list(at(spec, "schedulingConstraints", "topology"))
    if len(constraints) > 1:
        where = f"{path}.schedulingConstraints.topology"
        found.append(too_many(where, len(constraints), 1))
    mode = spec.get("disruptionMode")
    if mode is not None and mode not in _MODES:
        found.append(unsupported_value(f"{path}.disruptionMode", mode, _MODES))
    return found


def _count_problems(count: object, path: str) -> list[FieldProblem]:
    where = f"{path}.schedulingPolicy.gang.minCount"
    if not count:
        return [required(where)]
    if isinstance(count, int) and count < 1:
        return [invalid_value(where, count, "must be greater than or equal to 1")]
    return []
