"""Subresources that put a pod on a node or take it away: ``binding`` and ``eviction``.

Called by the HTTP side; both answer with a ``Status``. Everything is checked and written in one step, so of two
schedulers that bind one pod the second is refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bayplan.embedded import refusals
from bayplan.embedded.deleting import DeleteOptions, check
from bayplan.embedded.objects import (
    Object,
    as_list,
    as_object,
    at,
    metadata,
    number_at,
    section,
    text_at,
    timestamp,
)
from bayplan.embedded.rules.matching import selects as selects
from bayplan.embedded.rules.names import subdomain_problems
from bayplan.embedded.writing import check_uid

if TYPE_CHECKING:
    from bayplan.embedded.store import Store

SUCCESS: Final[Object] = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}

#: More evictions than this may not wait for the budget's controller.
_MOST_DISRUPTED: Final = 2000

_VIOLATES: Final = "Cannot evict pod as it would violate the pod's disruption budget."


def bind(
    store: Store, namespace: str, name: str, binding: Object, *, dry_run: bool = False
) -> Object:
    """Put a pod on a node.

    Raises:
        RequestRefused: 404, or 409 if the pod is bound, is another one, is being deleted or has gates.
    """
    if text_at(binding, "metadata", "name") not in ("", name):
        raise refusals.bad_request("name in URL does not match name in Binding object")
    target = as_object(binding.get("target"))
    _check_target(target)
    kind = store.kind("pods")
    pod = store.entry(kind, name, namespace).decode()
    check_uid(kind, binding, pod)
    _check_version(binding, pod)
    _check_free(pod)
    if dry_run:
        return SUCCESS

    def assign(pod: Object) -> None:
        section(pod, "spec")["nodeName"] = target["name"]
        status = section(pod, "status")
        status.pop("nominatedNodeName", None)
        for field in ("annotations", "labels"):
            given = as_object(at(binding, "metadata", field))
            if given:
                metadata(pod)[field] = as_object(metadata(pod).get(field)) | given
        set_condition(status, {"type": "PodScheduled", "status": "True"}, store.clock.now())

    store.mutate(kind, name, assign, namespace)
    return SUCCESS


def _check_target(target: Object) -> None:
    problems = []
    if target.get("kind") not in (None, "", "Node"):
        problems.append(
            refusals.unsupported_value("target.kind", target["kind"], ("Node", "<empty>"))
        )
    name = target.get("name")
    if not name:
        problems.append(refusals.required("target.name"))
    else:
        problems += [
            refusals.invalid_value("target.name", name, said)
            for said in subdomain_problems(str(name))
        ]
    if problems:
        raise refusals.plain_error(", ".join(map(str, problems)))


def _check_version(binding: Object, pod: Object) -> None:
    given = text_at(binding, "metadata", "resourceVersion")
    real = text_at(pod, "metadata", "resourceVersion")
    if given and given != real:
        why = (
            f"Precondition failed: ResourceVersion in precondition: {given}, "
            f"ResourceVersion in object meta: {real}"
        )
        raise refusals.conflict("pods", "", text_at(pod, "metadata", "name"), why)


def _check_free(pod: Object) -> None:
    name, node = text_at(pod, "metadata", "name"), text_at(pod, "spec", "nodeName")
    if "deletionTimestamp" in metadata(pod):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif node:
        why = f'pod {name} is already assigned to node "{node}"'
    elif at(pod, "spec", "schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    else:
        return
    raise refusals.conflict("pods/binding", "", name, why)


def set_condition(status: Object, condition: Object, now_s: float) -> None:
    """Set a condition by its type; its transition time moves only with its status."""
    conditions = status["conditions"] = as_list(status.get("conditions"))
    for number, before in enumerate(conditions):
        if before.get("type") == condition["type"]:
            stamp = before.get("lastTransitionTime")
            if before.get("status") != condition["status"] or not stamp:
                stamp = timestamp(now_s)
            conditions[number] = condition | {
                "lastProbeTime": before.get("lastProbeTime"),
                "lastTransitionTime": stamp,
            }
            return
    conditions.append(condition | {"lastProbeTime": None, "lastTransitionTime": timestamp(now_s)})


def evict(
    store: Store, namespace: str, name: str, eviction: Object, *, dry_run: bool = False
) -> Object:
    """Delete a pod if its disruption budget allows.

    Raises:
        RequestRefused: 404, 409, 429 where the budget forbids it, 500 where several budgets match.
    """
    if text_at(eviction, "metadata", "name") not in ("", name):
        raise refusals.bad_request("name in URL does not match name in Eviction object")
    options = DeleteOptions.of(as_object(eviction.get("deleteOptions")))
    options = replace(options, dry_run=options.dry_run or dry_run)
    kind = store.kind("pods")
    pod = store.entry(kind, name, namespace).decode()
    check(kind, pod, options)
    if not _needs_no_budget(pod):
        _ask_budget(store, pod, dry_run=options.dry_run)
    if not options.dry_run:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        store.mutate(
            kind,
            name,
            lambda pod: set_condition(section(pod, "status"), condition, store.clock.now()),
            namespace,
        )
    store.delete(kind, name, namespace, replace(options, version=""))
    return SUCCESS


def _needs_no_budget(pod: Object) -> bool:
    phase = text_at(pod, "status", "phase")
    return phase in ("Succeeded", "Failed", "Pending") or "deletionTimestamp" in metadata(pod)


def _is_ready(pod: Object) -> bool:
    return any(
        one.get("type") == "Ready" and one.get("status") == "True"
        for one in as_list(at(pod, "status", "conditions"))
    )


def _ask_budget(store: Store, pod: Object, *, dry_run: bool) -> None:
    namespace = text_at(pod, "metadata", "namespace")
    budgets = [
        one
        for one in store.list("poddisruptionbudgets.policy", namespace)
        if selects(at(one, "spec", "selector"), as_object(metadata(pod).get("labels")))
    ]
    if not budgets:
        return
    if len(budgets) > 1:
        raise refusals.internal_error(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )
    budget = budgets[0]
    status = as_object(budget.get("status"))
    healthy, desired = status.get("currentHealthy") or 0, status.get("desiredHealthy") or 0
    if not _is_ready(pod):
        if at(budget, "spec", "unhealthyPodEvictionPolicy") == "AlwaysAllow":
            return
        if healthy >= desired > 0:
            return
    _check_allowed(budget)
    if not dry_run:
        name = text_at(pod, "metadata", "name")

        def use_up(budget: Object) -> None:
            status = section(budget, "status")
            status["disruptionsAllowed"] -= 1
            status["disruptedPods"] = as_object(status.get("disruptedPods")) | {
                name: timestamp(store.clock.now())
            }

        store.mutate("poddisruptionbudgets.policy", metadata(budget)["name"], use_up, namespace)


def _check_allowed(budget: Object) -> None:
    name, status = text_at(budget, "metadata", "name"), as_object(budget.get("status"))
    if number_at(status, "observedGeneration") < number_at(budget, "metadata", "generation"):
        said = f"The disruption budget {name} is still being processed by the server."
        raise refusals.too_many_requests(_VIOLATES, 10, [_cause(said)])
    allowed = number_at(status, "disruptionsAllowed")
    if allowed < 0:
        why = "pdb disruptions allowed is negative"
        raise refusals.forbidden("poddisruptionbudget", "policy", name, why)
    if len(as_object(status.get("disruptedPods"))) > _MOST_DISRUPTED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise refusals.forbidden("poddisruptionbudget", "policy", name, why)
    if allowed == 0:
        healthy, desired = number_at(status, "currentHealthy"), number_at(status, "desiredHealthy")
        said = f"The disruption budget {name} does not allow evicting pods currently"
        if healthy <= desired:
            said = f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
        raise refusals.too_many_requests(_VIOLATES, 0, [_cause(said)])


def _cause(message: str) -> Object:
    return {"reason": "DisruptionBudget", "message": message}
