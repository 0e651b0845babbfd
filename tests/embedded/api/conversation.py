"""A conversation with an API server: requests in an order in which each meets the state that the ones before it left.

Held with kube-apiserver and with the embedded API by ``test_like_the_real_one``. A line is a method, a path, and a body in
YAML where there is one; ``P`` stands for the pods of the namespace default, ``N`` for that namespace.
"""

from __future__ import annotations

from typing import Any

import yaml

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"

_PLACES = {
    "P": "/api/v1/namespaces/default/pods",
    "N": "/api/v1/namespaces/default",
    "APPS": "/apis/apps/v1/namespaces/default",
    "BATCH": "/apis/batch/v1/namespaces/default",
    "BUDGETS": "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    "CLASSES": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "LEASES": "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    "EVENTS": "/apis/events.k8s.io/v1/namespaces/default/events",
    "CRDS": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "STORAGE": "/apis/storage.k8s.io/v1/storageclasses",
    "GROUPS": "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups",
    "TEMPLATES": "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/workloads",
}

_C = "containers: [{name: c, image: 'i:1'}]"
_T = f"{{metadata: {{labels: {{a: b}}}}, spec: {{{_C}}}}}"
_ONCE = f"{{spec: {{restartPolicy: Never, {_C}}}}}"


def _pod(name: str, spec: str = "") -> str:
    return f"{{metadata: {{name: {name}}}, spec: {{{spec or _C}}}}}"


def _with(more: str) -> str:
    return _pod("b", f"{_C}, {more}")


PODS = [
    ("POST", "P", _pod("a")),
    ("POST", "P", _pod("a")),
    ("GET", "P/a"),
    ("GET", "P/zz"),
    ("POST", "P", _pod("A")),
    ("POST", "P", _pod("b", "containers: []")),
    ("POST", "P", _pod("b", "containers: [{name: c}]")),
    ("POST", "P", _with("restartPolicy: X")),
    ("POST", "P", _with("priorityClassName: none")),
    ("POST", "P", _with("priority: 3")),
    ("POST", "P", _with("tolerations: [{key: a, tolerationSeconds: 3}]")),
    ("POST", "P", _with("schedulingGates: [{name: a}, {name: a}]")),
    ("POST", "P", _with("nodeSelector: {'a b': c}")),
    (
        "POST",
        "P",
        _with("topologySpreadConstraints: [{maxSkew: 0, topologyKey: '', whenUnsatisfiable: X}]"),
    ),
    (
        "POST",
        "P",
        _pod(
            "b",
            "containers: [{name: c, image: i, resources: {requests: {cpu: '2'}, limits: {cpu: '1'}}}]",
        ),
    ),
    (
        "POST",
        "P",
        _pod("b", "containers: [{name: c, image: i, resources: {requests: {cpu: abc}}}]"),
    ),
    (
        "POST",
        "P",
        _pod("b", "containers: [{name: c, image: i, resources: {requests: {cpu: '-1'}}}]"),
    ),
    ("POST", "P", _pod("odd", f"bogus: 1, {_C}")),
    ("POST", "P?fieldValidation=Strict", _pod("odd2", f"bogus: 1, {_C}")),
    ("POST", "P", f"{{metadata: {{name: b, labels: {{x: 'a b'}}}}, spec: {{{_C}}}}}"),
    ("POST", "P", f"{{metadata: {{}}, spec: {{{_C}}}}}"),
    ("POST", "P", f"{{metadata: {{name: x, namespace: kube-system}}, spec: {{{_C}}}}}"),
    ("POST", "/api/v1/namespaces/nope/pods", _pod("a")),
    ("POST", "/api/v1/pods", _pod("a")),
    (
        "POST",
        "P",
        _pod(
            "rich",
            "hostNetwork: true, volumes: [{name: v, configMap: {name: x}}, {name: e}], "
            "initContainers: [{name: in, image: 'i:2'}], containers: [{name: c, image: i, "
            "ports: [{containerPort: 80}], resources: {limits: {cpu: '1', memory: 1Gi}}, "
            "livenessProbe: {httpGet: {port: 80}}}]",
        ),
    ),
    ("PATCH", "P/a", "{spec: {nodeName: x}}", STRATEGIC),
    ("PATCH", "P/a", "{metadata: {labels: {l: m}}}", MERGE),
    ("PATCH", "P/a", "{metadata: {resourceVersion: '1', labels: {l: n}}}", MERGE),
    ("PATCH", "P/zz", "{metadata: {labels: {l: n}}}", MERGE),
    (
        "PATCH",
        "P/a/status",
        "{status: {nominatedNodeName: n9, conditions: [{type: PodScheduled, status: 'False', "
        "reason: Unschedulable, message: m}]}}",
        STRATEGIC,
    ),
    ("PATCH", "P/a/status", "{metadata: {uid: other}, status: {phase: Failed}}", STRATEGIC),
    (
        "PATCH",
        "P/a/resize",
        "{spec: {containers: [{name: c, resources: {requests: {cpu: 100m}}}]}}",
        STRATEGIC,
    ),
    (
        "PATCH",
        "P/a/ephemeralcontainers",
        "{spec: {ephemeralContainers: [{name: d, image: i}]}}",
        STRATEGIC,
    ),
    ("POST", "P/a/binding", "{metadata: {name: a, uid: x}, target: {kind: Node, name: n1}}"),
    ("POST", "P/a/binding", "{metadata: {name: a}, target: {kind: Node}}"),
    ("POST", "P/a/binding", "{metadata: {name: b}, target: {kind: Node, name: n1}}"),
    (
        "POST",
        "P/a/binding",
        "{metadata: {name: a, annotations: {q: r}}, target: {kind: Node, name: n1}}",
    ),
    ("POST", "P/a/binding", "{metadata: {name: a}, target: {kind: Node, name: n1}}"),
    ("GET", "P/a"),
    ("POST", "P/zz/binding", "{metadata: {name: zz}, target: {kind: Node, name: n1}}"),
    ("DELETE", "P/a", "{preconditions: {uid: x}}"),
    ("DELETE", "P/a", "{preconditions: {resourceVersion: '1'}}"),
    ("DELETE", "P/a"),
    ("POST", "P/a/binding", "{metadata: {name: a}, target: {kind: Node, name: n1}}"),
    ("DELETE", "P/a", "{gracePeriodSeconds: 10}"),
    ("POST", "P/a/eviction", "{apiVersion: policy/v1, kind: Eviction, metadata: {name: a}}"),
    ("DELETE", "P/a", "{gracePeriodSeconds: 0}"),
    ("DELETE", "P/a"),
    ("POST", "P", _pod("g", f"schedulingGates: [{{name: x/y}}], {_C}")),
    ("POST", "P/g/binding", "{metadata: {name: g}, target: {name: n}}"),
    ("PATCH", "P/g", "{spec: {nodeSelector: {a: b}}}", MERGE),
    ("PATCH", "P/g", "{spec: {schedulingGates: [{name: x/y}, {name: z}]}}", MERGE),
    ("PATCH", "P/g", "{spec: {schedulingGates: null}}", MERGE),
    ("DELETE", "P/g"),
]

LISTS = [
    ("GET", "/api/v1/pods?fieldSelector=spec.nope%3D1"),
    ("GET", "/api/v1/pods?labelSelector=a+b+c"),
    ("GET", "/api/v1/pods?resourceVersion=x"),
    ("GET", "/api/v1/pods?limit=x"),
    ("GET", "/api/v1/pods?resourceVersionMatch=Exact"),
    ("GET", "/api/v1/pods?resourceVersionMatch=Foo&resourceVersion=1"),
    ("GET", "/api/v1/pods?watch=1&sendInitialEvents=true"),
    ("GET", "/api/v1/nothing"),
    ("GET", "/nowhere"),
    ("PUT", "P", _pod("a")),
]

CLUSTER = [
    ("DELETE", "N"),
    ("POST", "/api/v1/namespaces", "{metadata: {name: Te}}"),
    ("POST", "/api/v1/namespaces", "{metadata: {name: team}}"),
    (
        "POST",
        "/api/v1/nodes",
        "{metadata: {name: n1}, status: {capacity: {cpu: '4'}, allocatable: {cpu: '4'}}}",
    ),
    ("POST", "/api/v1/nodes", "{metadata: {name: n2}, spec: {taints: [{key: a}]}}"),
    (
        "PATCH",
        "/api/v1/nodes/n1",
        "{status: {capacity: {cpu: '9'}}, spec: {unschedulable: true}}",
        MERGE,
    ),
    ("PATCH", "/api/v1/nodes/n1/status", "{status: {capacity: {cpu: '9'}}}", MERGE),
    ("POST", "CLASSES", "{metadata: {name: hi}, value: 10}"),
    ("POST", "CLASSES", "{metadata: {name: big}, value: 1000000001}"),
    ("POST", "CLASSES", "{metadata: {name: system-x}, value: 1}"),
    ("GET", "CLASSES/system-node-critical"),
    ("POST", "P", _pod("pc", f"priorityClassName: hi, {_C}")),
    ("POST", "STORAGE", "{metadata: {name: s}, provisioner: p}"),
    ("POST", "STORAGE", "{metadata: {name: s2}}"),
    (
        "POST",
        "N/persistentvolumeclaims",
        "{metadata: {name: c}, spec: {storageClassName: s, accessModes: [ReadWriteOnce], "
        "resources: {requests: {storage: 1Gi}}}}",
    ),
    ("POST", "N/persistentvolumeclaims", "{metadata: {name: c2}, spec: {}}"),
    (
        "POST",
        "/api/v1/persistentvolumes",
        "{metadata: {name: v}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], "
        "hostPath: {path: /x}}}",
    ),
    ("POST", "N/services", "{metadata: {name: s}, spec: {ports: [{port: 80}], selector: {a: b}}}"),
    ("POST", "N/resourcequotas", "{metadata: {name: q}, spec: {hard: {count/secrets: '0'}}}"),
]

WORKLOADS = [
    (
        "POST",
        "APPS/deployments",
        f"{{metadata: {{name: d}}, spec: {{selector: {{matchLabels: {{a: b}}}}, template: {_T}}}}}",
    ),
    (
        "POST",
        "APPS/deployments",
        f"{{metadata: {{name: d2}}, spec: {{selector: {{matchLabels: {{a: c}}}}, template: {_T}}}}}",
    ),
    ("POST", "APPS/deployments", f"{{metadata: {{name: d2}}, spec: {{template: {_T}}}}}"),
    ("GET", "APPS/deployments/d/scale"),
    ("PATCH", "APPS/deployments/d/scale", "{spec: {replicas: 3}}", MERGE),
    ("PATCH", "APPS/deployments/d", "{spec: {selector: {matchLabels: {z: b}}}}", MERGE),
    ("DELETE", "APPS/deployments/d"),
    (
        "POST",
        "APPS/replicasets",
        f"{{metadata: {{name: d}}, spec: {{selector: {{matchLabels: {{a: b}}}}, template: {_T}}}}}",
    ),
    (
        "POST",
        "APPS/statefulsets",
        f"{{metadata: {{name: d}}, spec: {{serviceName: x, selector: {{matchLabels: {{a: b}}}}, template: {_T}}}}}",
    ),
    ("POST", "BATCH/jobs", f"{{metadata: {{name: j}}, spec: {{template: {_ONCE}}}}}"),
    ("POST", "BATCH/jobs", f"{{metadata: {{name: j2}}, spec: {{template: {{spec: {{{_C}}}}}}}}}"),
    (
        "POST",
        "BUDGETS",
        "{metadata: {name: b}, spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}}",
    ),
]

OTHERS = [
    (
        "POST",
        "LEASES",
        "{metadata: {name: l}, spec: {holderIdentity: a, leaseDurationSeconds: 15}}",
    ),
    (
        "POST",
        "LEASES",
        "{metadata: {name: l2}, spec: {holderIdentity: a, leaseDurationSeconds: 0}}",
    ),
    ("PUT", "LEASES/l", "{metadata: {name: l}, spec: {holderIdentity: b}}"),
    ("PUT", "LEASES/l", "{metadata: {name: l, resourceVersion: '1'}, spec: {holderIdentity: b}}"),
    ("PUT", "LEASES/l9", "{metadata: {name: l9}, spec: {holderIdentity: b}}"),
    (
        "POST",
        "EVENTS",
        "{metadata: {name: e}, eventTime: '2026-01-01T00:00:00.000000Z', reportingController: x.y/z, "
        "reportingInstance: i, action: B, reason: R, regarding: {kind: Pod, name: a, namespace: default}, "
        "note: n, type: Normal}",
    ),
    ("GET", "N/events/e"),
    (
        "POST",
        "N/events",
        "{metadata: {name: e2}, involvedObject: {kind: Pod, name: a, namespace: default}, reason: R, "
        "message: m, type: Normal, source: {component: s}}",
    ),
    ("GET", "EVENTS/e2"),
    ("POST", "N/configmaps", "{metadata: {name: m, finalizers: [a/b]}, data: {a: b}}"),
    ("DELETE", "N/configmaps/m"),
    ("PATCH", "N/configmaps/m", "{metadata: {finalizers: [a/b, c/d]}}", MERGE),
    ("PATCH", "N/configmaps/m", "{metadata: {finalizers: null}}", MERGE),
    ("GET", "N/configmaps/m"),
    ("POST", "N/configmaps", "{metadata: {name: k, resourceVersion: '4'}}"),
    ("POST", "N/configmaps", "{metadata: {name: k}}"),
    ("PUT", "N/configmaps/k", "{metadata: {name: k, uid: x}}"),
    ("PUT", "N/configmaps/k", "{metadata: {name: other}}"),
    ("DELETE", "N/configmaps/k"),
    (
        "POST",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        "{spec: {resourceAttributes: {verb: get, resource: pods}}}",
    ),
    (
        "POST",
        "CRDS",
        "{metadata: {name: w.e.com}, spec: {group: e.com, scope: Namespaced, names: {plural: ws, kind: W}, "
        "versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}",
    ),
]


def steps(lines: list[tuple[str, ...]]) -> list[tuple[str, str, Any, str]]:
    """Method, path, body and content type of each line."""
    found = []
    for method, path, *rest in lines:
        place, slash, more = path.partition("/") if not path.startswith("/") else (path, "", "")
        place, mark, query = place.partition("?")
        full = _PLACES.get(place, place) + slash + more + mark + query
        body = yaml.safe_load(rest[0]) if rest else None
        found.append((method, full, body, rest[1] if len(rest) > 1 else ""))
    return found


def _group(name: str, spec: str) -> str:
    return f"{{metadata: {{name: {name}}}, spec: {{{spec}}}}}"


_GANG = "schedulingPolicy: {gang: {minCount: 2}}"

GROUPS = [
    ("POST", "GROUPS", _group("gang", _GANG)),
    ("POST", "GROUPS", _group("basic", "schedulingPolicy: {basic: {}}, disruptionMode: PodGroup")),
    ("POST", "GROUPS", _group("b", "schedulingPolicy: {}")),
    ("POST", "GROUPS", _group("b", "schedulingPolicy: {basic: {}, gang: {minCount: 1}}")),
    ("POST", "GROUPS", _group("b", "schedulingPolicy: {gang: {minCount: 0}}")),
    ("POST", "GROUPS", _group("b", "schedulingPolicy: {gang: {minCount: -1}}")),
    ("POST", "GROUPS", _group("b", f"{_GANG}, disruptionMode: Some")),
    ("POST", "GROUPS", _group("b", f"{_GANG}, priorityClassName: none")),
    ("POST", "GROUPS", _group("b", f"{_GANG}, priority: 7")),
    (
        "POST",
        "GROUPS",
        _group("b", f"{_GANG}, schedulingConstraints: {{topology: [{{key: a}}, {{key: b}}]}}"),
    ),
    ("PATCH", "GROUPS/gang", "{spec: {schedulingPolicy: {gang: {minCount: 3}}}}", MERGE),
    (
        "PATCH",
        "GROUPS/gang/status",
        "{status: {conditions: [{type: PodGroupScheduled, status: 'False', reason: Unschedulable, "
        "message: m, lastTransitionTime: '2026-01-01T00:00:00Z'}]}}",
        MERGE,
    ),
    ("GET", "GROUPS/gang"),
    ("POST", "TEMPLATES", _group("w", f"podGroupTemplates: [{{name: t, {_GANG}}}]")),
    ("POST", "TEMPLATES", _group("v", "podGroupTemplates: []")),
    (
        "POST",
        "TEMPLATES",
        _group("v", f"podGroupTemplates: [{{name: t, {_GANG}}}, {{name: t, {_GANG}}}]"),
    ),
    ("PATCH", "TEMPLATES/w", "{spec: {podGroupTemplates: []}}", MERGE),
    ("POST", "P", _with("schedulingGroup: {}")),
    ("POST", "P", _pod("member", f"{_C}, schedulingGroup: {{podGroupName: gang}}")),
    ("PATCH", "P/member", "{spec: {schedulingGroup: {podGroupName: other}}}", MERGE),
    ("GET", "P/member"),
]
