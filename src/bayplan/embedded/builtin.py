"""The kinds that are there from the start, as a table.

A row is plural, kind and a few words; the words are explained at ``_FLAGS``. Read by
the store, which makes ``Kinds`` of it.
"""

from __future__ import annotations

from typing import Any, Final

from bayplan.embedded.kinds import Kind

#: What a word in a row stands for. ``/x`` is a subresource, ``+x`` a category, ``@x`` a short name.
_FLAGS: Final[dict[str, dict[str, Any]]] = {
    "ns": {"namespaced": True},
    "status": {"has_status": True},
    "gen": {"has_generation": True},
    "given-status": {"creates_status": True},
    "upsert": {"creates_on_update": True},
    "versioned": {"needs_version": True},
    "post": {"create_only": True},
    "loose": {"loose_names": True},
}

_TABLE: Final = {
    ("", "v1"): """
        pods Pod ns status gen @po +all /binding /eviction /ephemeralcontainers /resize
        nodes Node status given-status @no
        namespaces Namespace status @ns /finalize
        services Service ns status upsert @svc +all
        endpoints Endpoints ns upsert @ep
        configmaps ConfigMap ns @cm
        secrets Secret ns
        serviceaccounts ServiceAccount ns @sa
        events Event ns upsert given-status @ev
        persistentvolumes PersistentVolume status @pv
        persistentvolumeclaims PersistentVolumeClaim ns status @pvc
        replicationcontrollers ReplicationController ns status gen @rc +all /scale
        resourcequotas ResourceQuota ns status @quota
        limitranges LimitRange ns @limits
        podtemplates PodTemplate ns gen
        bindings Binding ns post
    """,
    ("apps", "v1"): """
        deployments Deployment ns status gen @deploy +all /scale
        replicasets ReplicaSet ns status gen @rs +all /scale
        statefulsets StatefulSet ns status gen @sts +all /scale
        daemonsets DaemonSet ns status gen @ds +all
        controllerrevisions ControllerRevision ns
    """,
    ("batch", "v1"): """
        jobs Job ns status gen +all
        cronjobs CronJob ns status gen @cj +all
    """,
    ("policy", "v1"): """
        poddisruptionbudgets PodDisruptionBudget ns status gen versioned @pdb
    """,
    ("scheduling.k8s.io", "v1"): """
        priorityclasses PriorityClass gen @pc
    """,
    ("scheduling.k8s.io", "v1alpha2"): """
        podgroups PodGroup ns status
        workloads Workload ns
    """,
    ("storage.k8s.io", "v1"): """
        storageclasses StorageClass @sc
        csinodes CSINode
        csidrivers CSIDriver gen
        csistoragecapacities CSIStorageCapacity ns
        volumeattachments VolumeAttachment status given-status
        volumeattributesclasses VolumeAttributesClass @vac
    """,
    ("coordination.k8s.io", "v1"): """
        leases Lease ns upsert versioned
    """,
    ("events.k8s.io", "v1"): """
        events Event ns upsert given-status @ev
    """,
    ("rbac.authorization.k8s.io", "v1"): """
        roles Role ns loose
        rolebindings RoleBinding ns loose
        clusterroles ClusterRole loose
        clusterrolebindings ClusterRoleBinding loose
    """,
    ("autoscaling", "v2"): """
        horizontalpodautoscalers HorizontalPodAutoscaler ns status gen @hpa +all
    """,
    ("resource.k8s.io", "v1"): """
        deviceclasses DeviceClass gen
        resourceclaims ResourceClaim ns status
        resourceclaimtemplates ResourceClaimTemplate ns
        resourceslices ResourceSlice gen
    """,
    ("networking.k8s.io", "v1"): """
        ingresses Ingress ns status gen @ing
        ingressclasses IngressClass gen
        networkpolicies NetworkPolicy ns gen @netpol
    """,
    ("node.k8s.io", "v1"): """
        runtimeclasses RuntimeClass
    """,
    ("discovery.k8s.io", "v1"): """
        endpointslices EndpointSlice ns gen
    """,
    ("apiextensions.k8s.io", "v1"): """
        customresourcedefinitions CustomResourceDefinition status gen @crd @crds +api-extensions
    """,
    ("authentication.k8s.io", "v1"): """
        tokenreviews TokenReview post
        selfsubjectreviews SelfSubjectReview post
    """,
    ("authorization.k8s.io", "v1"): """
        subjectaccessreviews SubjectAccessReview post
        selfsubjectaccessreviews SelfSubjectAccessReview post
        selfsubjectrulesreviews SelfSubjectRulesReview post
        localsubjectaccessreviews LocalSubjectAccessReview ns post
    """,
}

#: Kinds that show the objects of another one.
_STORAGE: Final = {("events.k8s.io", "events"): "events"}


def builtin_kinds() -> tuple[Kind, ...]:
    """All of them, in the order in which discovery lists them."""
    return tuple(
        _kind(group, version, row)
        for (group, version), table in _TABLE.items()
        for row in table.strip().splitlines()
    )


def _kind(group: str, version: str, row: str) -> Kind:
    plural, kind, *words = row.split()
    fields: dict[str, Any] = {"namespaced": False}
    names: dict[str, list[str]] = {"@": [], "+": [], "/": []}
    for word in words:
        if word[0] in names:
            names[word[0]].append(word[1:])
        else:
            fields |= _FLAGS[word]
    if fields.get("has_status"):
        names["/"].insert(0, "status")
    return Kind(
        group=group,
        version=version,
        plural=plural,
        kind=kind,
        singular=kind.lower(),
        short_names=tuple(names["@"]),
        categories=tuple(names["+"]),
        subresources=tuple(names["/"]),
        storage=_STORAGE.get((group, plural), ""),
        schema_type=f"{group.partition('.')[0] or 'core'}/{version}.{kind}",
        **fields,
    )
