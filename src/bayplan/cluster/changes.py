"""Kinds of change: the vocabulary in which tables tell what happened and plugins tell what they read.

Written by every table of the cluster; read by the evaluation, which redoes just what depends on a change.
"""

from __future__ import annotations

from enum import IntFlag


class Reads(IntFlag):
    """What a verdict or a score depends on.

    The first group lives in one node's row: when it changes on a node, that node alone is judged again. The second is
    cluster-wide: when it changes, every node is judged again.
    """

    NOTHING = 0
    # --- in the node's own row
    LABELS = 1 << 0  #: the node's labels (and name)
    TAINTS = 1 << 1  #: taints and spec.unschedulable
    ALLOCATABLE = 1 << 2  #: allocatable and capacity
    USAGE = 1 << 3  #: requested resources and number of pods
    PORTS = 1 << 4  #: host ports in use
    IMAGES = 1 << 5  #: images on the node
    VOLUMES = 1 << 6  #: disks and attached volumes on the node
    FEATURES = 1 << 7  #: declared features
    ANNOTATIONS = 1 << 8  #: annotations of the node, conditions, addresses and the like
    DATA = 1 << 9  #: outside data of the node (metrics, prices)
    LOCAL_PODS = 1 << 10  #: which pods run on the node, and their labels
    # --- cluster-wide
    ALL_NODES = 1 << 16  #: the set of nodes
    ALL_PODS = 1 << 17  #: the set of placed pods, their labels and where they are
    AFFINITY_TERMS = 1 << 18  #: affinity terms carried by placed pods
    NAMESPACES = 1 << 19  #: namespaces and their labels
    STORAGE = 1 << 20  #: volumes, claims, classes, drivers, capacities, attachments
    WORKLOADS = 1 << 21  #: services, replica sets, stateful sets, replication controllers
    BUDGETS = 1 << 22  #: pod disruption budgets
    NODE_LABELS = 1 << 23  #: any node's labels
    NODE_TAINTS = 1 << 24  #: any node's taints
    ALL_IMAGES = 1 << 25  #: which images are on how many nodes
    QUOTAS = 1 << 26  #: elastic quotas, and what pods take by namespace or any other key
    PROMISES = 1 << 27  #: which nodes are promised to which pods
    # --- of the attempt
    FEASIBLE = 1 << 28  #: which nodes passed the filters (PreScore and Score alone)


#: The part of ``Reads`` that lives in one row.
ROW_LOCAL = Reads((1 << 16) - 1)
#: The part that is cluster-wide.
CLUSTER_WIDE = Reads(((1 << 28) - 1) & ~((1 << 16) - 1))
#: Everything in a row: what a new node changes.
EVERYTHING = Reads((1 << 11) - 1)
