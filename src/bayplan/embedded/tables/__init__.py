"""Tables: lists as ``kubectl get`` wants them, rows of cells that the server has filled.

``TableForm`` is one of the ``forms`` in which objects are answered. Which columns a kind has stands in the files of this
package; the headings and the words in the cells are kube-apiserver's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayplan.clock import Clock
from bayplan.embedded.forms import bookmark_object, partial
from bayplan.embedded.objects import Object, decode, encode
from bayplan.embedded.rendering import rendered
from bayplan.embedded.tables import cluster, storage, workloads
from bayplan.embedded.tables.cells import AGE, NAME, Column
from bayplan.embedded.tables.custom import columns_of
from bayplan.embedded.tables.pods import PODS

if TYPE_CHECKING:
    from bayplan.embedded.entries import Entry
    from bayplan.embedded.kinds import Kind
    from bayplan.embedded.lists import Page

_TABLES: Final[dict[str, tuple[Column, ...]]] = {
    "pods": PODS,
    "nodes": cluster.NODES,
    "events": cluster.EVENTS,
    "namespaces": cluster.NAMESPACES,
    "services": cluster.SERVICES,
    "configmaps": cluster.CONFIG_MAPS,
    "secrets": cluster.SECRETS,
    "resourcequotas": cluster.QUOTAS,
    "replicationcontrollers": workloads.REPLICA_SETS,
    "persistentvolumes": storage.VOLUMES,
    "persistentvolumeclaims": storage.CLAIMS,
    "storageclasses.storage.k8s.io": storage.CLASSES,
    "csinodes.storage.k8s.io": storage.CSI_NODES,
    "deployments.apps": workloads.DEPLOYMENTS,
    "replicasets.apps": workloads.REPLICA_SETS,
    "statefulsets.apps": workloads.STATEFUL_SETS,
    "daemonsets.apps": workloads.DAEMON_SETS,
    "jobs.batch": workloads.JOBS,
    "cronjobs.batch": workloads.CRON_JOBS,
    "podgroups.scheduling.k8s.io": workloads.POD_GROUPS,
    "workloads.scheduling.k8s.io": (NAME, AGE),
    "poddisruptionbudgets.policy": cluster.BUDGETS,
    "priorityclasses.scheduling.k8s.io": cluster.PRIORITY_CLASSES,
    "leases.coordination.k8s.io": cluster.LEASES,
    "runtimeclasses.node.k8s.io": cluster.RUNTIME_CLASSES,
    "resourceclaims.resource.k8s.io": cluster.RESOURCE_CLAIMS,
    "resourceslices.resource.k8s.io": cluster.RESOURCE_SLICES,
    "volumeattachments.storage.k8s.io": storage.ATTACHMENTS,
    "csidrivers.storage.k8s.io": storage.CSI_DRIVERS,
    "resourceclaimtemplates.resource.k8s.io": (NAME, AGE),
    "serviceaccounts": (NAME, AGE),
    "deviceclasses.resource.k8s.io": (NAME, AGE),
}

_API: Final = "meta.k8s.io/v1"


class TableForm:
    """Objects as rows."""

    headed = True

    def __init__(self, kind: Kind, clock: Clock, include: str) -> None:
        """A table of a kind.

        Args:
            kind: whose objects.
            clock: for ages.
            include: what is told of the objects beside their cells: ``Metadata``, ``Object`` or ``None``.
        """
        self._kind = kind
        self._clock = clock
        self._include = include
        self._columns = _TABLES.get(kind.shelf) or columns_of(kind)
        self.key: object = ("table", kind.api_version, include)

    def one(self, entry: Entry) -> bytes:
        return self._table([self._row(entry)], {"resourceVersion": str(entry.version)})

    def page(self, page: Page) -> bytes:
        meta: Object = {"resourceVersion": str(page.version)}
        if page.token:
            meta["continue"] = page.token
        if page.remaining is not None:
            meta["remainingItemCount"] = page.remaining
        return self._table([self._row(entry) for entry in page.entries], meta)

    def frame(self, entry: Entry, *, first: bool) -> bytes:
        meta = {"resourceVersion": str(entry.version)}
        return self._table([self._row(entry)], meta, headed=first)

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        meta = {"resourceVersion": str(version)}
        kind = self._kind
        marker = bookmark_object(kind.api_version, kind.kind, version, initial_end=initial_end)
        row = {"cells": [], "object": marker}
        return self._table([row], meta, headed=False)

    def _table(self, rows: list[Object], meta: Object, *, headed: bool = True) -> bytes:
        columns = [column.definition for column in self._columns] if headed else None
        head = {"kind": "Table", "apiVersion": _API, "metadata": meta}
        return encode(head | {"columnDefinitions": columns, "rows": rows})

    def _row(self, entry: Entry) -> Object:
        # Tables read objects as they are kept, so an event is in one form whichever group asks.
        obj, now_s = entry.decode(), self._clock.now()
        row: Object = {"cells": [column.cell(obj, now_s) for column in self._columns]}
        if self._include == "Object":
            row["object"] = decode(rendered(self._kind, entry))
        elif self._include != "None":
            row["object"] = partial(self._kind, obj)
        return row
