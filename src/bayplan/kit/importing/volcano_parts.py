"""What there is in a volcano-scheduler.conf, and what becomes of it. Names and defaults: Volcano, pkg/scheduler.

Read by ``volcano``, which does the work for those plugins that have arguments worth keeping.
"""

from __future__ import annotations

from typing import Final

from bayplan.kit.importing.draft import Verdict

ACTIONS: Final = {
    "enqueue": (Verdict.BUILT_IN, "a gang waits until all of it fits; there is no Inqueue phase"),
    "allocate": (Verdict.BUILT_IN, "placing pods"),
    "backfill": (Verdict.BUILT_IN, "pods without requests are placed like any other"),
    "preempt": (Verdict.BUILT_IN, "DefaultPreemption: by priority, also across queues"),
    "reclaim": (
        Verdict.CHANGED,
        "elastic quotas: what is lent beyond min is taken back by preemption",
    ),
    "gangpreempt": (Verdict.BUILT_IN, "a gang preempts as one"),
    "gangreclaim": (Verdict.CHANGED, "as reclaim"),
    "shuffle": (Verdict.NONE, "rescheduling of running pods: use the descheduler"),
    "elect": (Verdict.NONE, "gone from Volcano too"),
    "reserve": (Verdict.NONE, "gone from Volcano too"),
}

#: By which Volcano's pods say what queue they are in.
QUEUE_LABEL: Final = "volcano.sh/queue-name"
#: What Volcano does where the file says nothing.
USUAL_ACTIONS: Final = "enqueue, allocate, backfill"

#: nodeorder's arguments: our plugin and Volcano's default.
NODE_ORDER: Final = {
    "leastrequested.weight": ("NodeResourcesFit", 1),
    "nodeaffinity.weight": ("NodeAffinity", 2),
    "podaffinity.weight": ("InterPodAffinity", 2),
    "balancedresource.weight": ("NodeResourcesBalancedAllocation", 1),
    "tainttoleration.weight": ("TaintToleration", 3),
    "imagelocality.weight": ("ImageLocality", 1),
    "podtopologyspread.weight": ("PodTopologySpread", 2),
}
#: predicates' switches: our filters.
PREDICATES: Final = {
    "predicate.NodeAffinityEnable": "NodeAffinity",
    "predicate.NodePortsEnable": "NodePorts",
    "predicate.TaintTolerationEnable": "TaintToleration",
    "predicate.PodAffinityEnable": "InterPodAffinity",
    "predicate.NodeVolumeLimitsEnable": "NodeVolumeLimits",
    "predicate.VolumeZoneEnable": "VolumeZone",
    "predicate.PodTopologySpreadEnable": "PodTopologySpread",
}

#: Plugins of which there is nothing to write down.
PLAIN: Final = {
    "priority": (Verdict.BUILT_IN, "PrioritySort"),
    "gang": (Verdict.BUILT_IN, "pod groups are placed as one; write them as scheduling.x-k8s.io PodGroups"),
    "conformance": (Verdict.BUILT_IN, "system-critical priorities are above all others"),
    "overcommit": (Verdict.NONE, "gangs are placed when they fit, not let in beforehand"),
    "pdb": (Verdict.BUILT_IN, "DefaultPreemption spares PodDisruptionBudgets where it can"),
    "sla": (Verdict.NONE, "a pod's chance grows with its priority alone"),
    "tdm": (Verdict.NONE, "no nodes that belong to a queue by time of day"),
    "rescheduling": (Verdict.NONE, "running pods are left alone: use the descheduler"),
    "resourcequota": (Verdict.BUILT_IN, "the API server enforces ResourceQuota when pods are made"),
    "task-topology": (Verdict.NONE, "use pod affinity between the tasks"),
    "nodegroup": (Verdict.NONE, "TenantIsolation keeps tenants in pools of their own, by labels"),
    "network-topology-aware": (Verdict.CHANGED, "a gang's topology key, on its PodGroup; no HyperNodes"),
    "cdp": (Verdict.NONE, "no cool-down between preemptions"),
}  # fmt: skip
