"""What is wrong with a pod, and what of it may not be changed any more; in Kubernetes' words.

The rules a scheduler's user meets: names, containers, quantities, tolerations, affinity, spread, gates. Not every rule
of kube-apiserver is here; what is not checked is stored as it is.
"""

from __future__ import annotations

from typing import Any, Final

from bayplan.embedded.objects import Object, as_list, as_object, at, copy_of
from bayplan.embedded.refusals import (
    FieldProblem,
    duplicate,
    forbidden_field,
    invalid_value,
    required,
    unsupported_value,
)
from bayplan.embedded.rules.names import label_problems, labels_problems, subdomain_problems
from bayplan.embedded.rules.pod_group_validation import membership_problems
from bayplan.embedded.rules.quantities import limits_problems
from bayplan.model.label_syntax import key_problems, value_problems

_UPDATABLE: Final = ",".join(
    (
        "`spec.containers[*].image`",
        "`spec.initContainers[*].image`",
        "`spec.activeDeadlineSeconds`",
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    )
)

_CHOICES: Final = (
    ("restartPolicy", ("Always", "OnFailure", "Never")),
    ("dnsPolicy", ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")),
)
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def pod_problems(pod: Object, old: Object | None) -> list[FieldProblem]:
    """What is wrong with a pod, and with a change of one."""
    found = spec_problems(as_object(pod.get("spec")), "spec")
    if old is not None:
        found += _change_problems(as_object(pod.get("spec")), as_object(old.get("spec")))
    return found


def template_problems(owner: Object) -> list[FieldProblem]:
    """What is wrong with the pod template of a workload."""
    template = at(owner, "spec", "template")
    if not isinstance(template, dict):
        return [required("spec.template")]
    labels = at(template, "metadata", "labels")
    found = labels_problems(labels, "spec.template.metadata.labels")
    return found + spec_problems(as_object(template.get("spec")), "spec.template.spec")


def spec_problems(spec: Object, path: str) -> list[FieldProblem]:
    """What is wrong with a pod's spec."""
    found: list[FieldProblem] = []
    if not as_list(spec.get("containers")):
        found.append(required(f"{path}.containers"))
    for field in ("containers", "initContainers"):
        found += _containers(as_list(spec.get(field)), f"{path}.{field}")
    for field, choices in _CHOICES:
        value = spec.get(field)
        if value is not None and value not in choices:
            found.append(unsupported_value(f"{path}.{field}", value, choices))
    if spec.get("nodeName"):
        found += [
            invalid_value(f"{path}.nodeName", spec["nodeName"], said)
            for said in subdomain_problems(str(spec["nodeName"]))
        ]
    found += labels_problems(spec.get("nodeSelector"), f"{path}.nodeSelector")
    found += _tolerations(as_list(spec.get("tolerations")), f"{path}.tolerations")
    found += _spread(
        as_list(spec.get("topologySpreadConstraints")), f"{path}.topologySpreadConstraints"
    )
    found += _gates(as_list(spec.get("schedulingGates")), f"{path}.schedulingGates")
    found += membership_problems(spec, path)
    return found + _affinity(as_object(spec.get("affinity")), f"{path}.affinity")


def _containers(containers: list[Any], path: str) -> list[FieldProblem]:
    found: list[FieldProblem] = []
    names: set[str] = set()
    for number, one in enumerate(containers):
        where, container = f"{path}[{number}]", as_object(one)
        name = str(container.get("name") or "")
        if not name:
            found.append(required(f"{where}.name"))
        elif name in names:
            found.append(duplicate(f"{where}.name", name))
        else:
            found += [invalid_value(f"{where}.name", name, said) for said in label_problems(name)]
        names.add(name)
        if not container.get("image"):
            found.append(required(f"{where}.image"))
        found += limits_problems(as_object(container.get("resources")), f"{where}.resources")
        found += _ports(as_list(container.get("ports")), f"{where}.ports")
    return found


def _ports(ports: list[Any], path: str) -> list[FieldProblem]:
    found = []
    for number, port in enumerate(ports):
        for field in ("containerPort", "hostPort"):
            value = as_object(port).get(field)
            if value is None and field == "containerPort":
                found.append(required(f"{path}[{number}].{field}"))
            elif value and not (isinstance(value, int) and 0 < value < 65536):
                said = "must be between 1 and 65535, inclusive"
                found.append(invalid_value(f"{path}[{number}].{field}", value, said))
    return found


def _tolerations(tolerations: list[Any], path: str) -> list[FieldProblem]:
    found = []
    for number, one in enumerate(tolerations):
        where, toleration = f"{path}[{number}]", as_object(one)
        key, operator = toleration.get("key") or "", toleration.get("operator") or ""
        value, effect = toleration.get("value") or "", toleration.get("effect") or ""
        if key:
            found += [invalid_value(f"{where}.key", key, said) for said in key_problems(key)]
        elif operator != "Exists":
            said = (
                "operator must be Exists when `key` is empty, which means "
                '"match all values and all keys"'
            )
            found.append(invalid_value(f"{where}.operator", operator, said))
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            said = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            found.append(invalid_value(f"{where}.effect", effect, said))
        if operator == "Exists" and value:
            said = "value must be empty when `operator` is 'Exists'"
            found.append(invalid_value(f"{where}.operator", value, said))
        elif operator in ("", "Equal"):
            found += [
                invalid_value(f"{where}.operator", value, said) for said in value_problems(value)
            ]
        elif operator not in ("Exists", "Lt", "Gt"):
            found.append(unsupported_value(f"{where}.operator", operator, ("Equal", "Exists")))
        if effect and effect not in _EFFECTS:
            found.append(unsupported_value(f"{where}.effect", effect, _EFFECTS))
    return found


def _spread(constraints: list[Any], path: str) -> list[FieldProblem]:
    found = []
    seen: set[tuple[Any, Any]] = set()
    for number, one in enumerate(constraints):
        where, constraint = f"{path}[{number}]", as_object(one)
        skew = constraint.get("maxSkew")
        if not isinstance(skew, int) or skew <= 0:
            found.append(invalid_value(f"{where}.maxSkew", skew or 0, "must be greater than zero"))
        key, when = constraint.get("topologyKey"), constraint.get("whenUnsatisfiable")
        if not key:
            found.append(required(f"{where}.topologyKey", "can not be empty"))
        choices = ("DoNotSchedule", "ScheduleAnyway")
        if when not in choices:
            found.append(unsupported_value(f"{where}.whenUnsatisfiable", when or "", choices))
        if (key, when) in seen:
            field = f"{where}.{{topologyKey, whenUnsatisfiable}}"
            found.append(duplicate(field, f"{{{key}, {when}}}"))
        seen.add((key, when))
        least = constraint.get("minDomains")
        if least is not None and (not isinstance(least, int) or least <= 0):
            found.append(invalid_value(f"{where}.minDomains", least, "must be greater than zero"))
        elif least is not None and when != "DoNotSchedule":
            said = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {when}"
            found.append(invalid_value(f"{where}.minDomains", least, said))
    return found


def _gates(gates: list[Any], path: str) -> list[FieldProblem]:
    found: list[FieldProblem] = []
    seen: set[str] = set()
    for number, gate in enumerate(gates):
        name = str(as_object(gate).get("name") or "")
        found += [invalid_value(f"{path}[{number}]", name, said) for said in key_problems(name)]
        if name in seen:
            found.append(duplicate(f"{path}[{number}]", name))
        seen.add(name)
    return found


_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def _affinity(affinity: Object, path: str) -> list[FieldProblem]:
    found: list[FieldProblem] = []
    wanted = at(affinity, "nodeAffinity", _REQUIRED)
    if isinstance(wanted, dict) and not as_list(wanted.get("nodeSelectorTerms")):
        said = "must have at least one node selector term"
        found.append(required(f"{path}.nodeAffinity.{_REQUIRED}.nodeSelectorTerms", said))
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = [
            (f"{path}.{kind}.{_REQUIRED}[{number}]", as_object(term))
            for number, term in enumerate(as_list(at(affinity, kind, _REQUIRED)))
        ]
        for number, one in enumerate(as_list(at(affinity, kind, _PREFERRED))):
            where = f"{path}.{kind}.{_PREFERRED}[{number}]"
            weight = as_object(one).get("weight")
            if not isinstance(weight, int) or not 1 <= weight <= 100:
                said = "must be in the range 1-100"
                found.append(invalid_value(f"{where}.weight", weight or 0, said))
            terms.append((f"{where}.podAffinityTerm", as_object(at(one, "podAffinityTerm"))))
        found += [
            required(f"{where}.topologyKey", "can not be empty")
            for where, term in terms
            if not term.get("topologyKey")
        ]
    return found


def _change_problems(spec: Object, old: Object) -> list[FieldProblem]:
    found: list[FieldProblem] = []
    for field in ("containers", "initContainers"):
        if len(as_list(spec.get(field))) != len(as_list(old.get(field))):
            said = "pod updates may not add or remove containers"
            return [forbidden_field(f"spec.{field}", said)]
    kept = [_without_seconds(one) for one in as_list(spec.get("tolerations"))]
    if any(_without_seconds(one) not in kept for one in as_list(old.get("tolerations"))):
        said = "existing toleration can not be modified except its tolerationSeconds"
        found.append(forbidden_field("spec.tolerations", said))
    found += _gate_changes(spec, old)
    merged = _with_free_fields(spec, old)
    if old.get("schedulingGates"):
        found += _tightening(merged, spec, old)
    if merged != old:
        names = sorted(name for name in {*merged, *old} if merged.get(name) != old.get(name))
        said = f"pod updates may not change fields other than {_UPDATABLE}\n"
        found.append(forbidden_field("spec", said + "changed: " + ", ".join(names)))
    return found


def _without_seconds(toleration: object) -> Object:
    return {k: v for k, v in as_object(toleration).items() if k != "tolerationSeconds"}


def _gate_changes(spec: Object, old: Object) -> list[FieldProblem]:
    known = {as_object(gate).get("name") for gate in as_list(old.get("schedulingGates"))}
    return [
        forbidden_field(
            f"spec.schedulingGates[{number}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'",
        )
        for number, gate in enumerate(as_list(spec.get("schedulingGates")))
        if gate.get("name") not in known
    ]


def _with_free_fields(spec: Object, old: Object) -> Object:
    """The new spec with everything taken back that may be changed."""
    merged: Object = copy_of(spec)
    for field in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        merged.pop(field, None)
        if field in old:
            merged[field] = old[field]
    grace = "terminationGracePeriodSeconds"
    if isinstance(old.get(grace), int) and old[grace] < 0 and merged.get(grace) == 1:
        merged[grace] = old[grace]
    for field in ("containers", "initContainers"):
        for mine, before in zip(as_list(merged.get(field)), as_list(old.get(field)), strict=True):
            mine["image"] = before.get("image")
    return merged


def _tightening(merged: Object, spec: Object, old: Object) -> list[FieldProblem]:
    """A gated pod may get a narrower node selector and node affinity."""
    found = []
    before, after = as_object(old.get("nodeSelector")), as_object(spec.get("nodeSelector"))
    if any(after.get(key) != value for key, value in before.items()):
        said = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        found.append(invalid_value("spec.nodeSelector", after, said))
    merged.pop("nodeSelector", None)
    if before:
        merged["nodeSelector"] = old["nodeSelector"]
    own, earlier = as_object(merged.get("affinity")), as_object(old.get("affinity"))
    if {k: v for k, v in own.items() if k != "nodeAffinity"} == {
        k: v for k, v in earlier.items() if k != "nodeAffinity"
    }:
        merged.pop("affinity", None)
        if "affinity" in old:
            merged["affinity"] = old["affinity"]
    return found
