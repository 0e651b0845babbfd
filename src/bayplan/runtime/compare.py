"""SIGUSR2: the columns beside a fresh LIST of the API server, and what the queue holds.

A list is older than what the watch has brought meanwhile, so a difference counts only where a second look finds it too.
Compared are which nodes and pods there are, and for each node what its pods take and what it offers, the latter against
a cluster built anew from the list; then the recount of what is derived: of selectors, whose number times that of the pods is
too much to look at in a process at work, another part each time. Nothing is changed: what is found is logged
and counted (upstream's comparer looks at names alone).
"""

from __future__ import annotations

import asyncio
import gc
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.client.resources import NODES, PODS, Resource
from bayplan.client.retry import IDEMPOTENT
from bayplan.cluster.audit import stages
from bayplan.cluster.cluster import Cluster
from bayplan.cluster.recount import Sample
from bayplan.errors import BayplanError, DecodeError
from bayplan.framework.pod_news import pod_of
from bayplan.model.decode import decode_as
from bayplan.model.meta import KubeObject
from bayplan.runtime.scheduler import POD_FIELDS
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.client.api import Sender
    from bayplan.runtime.scheduler import Scheduler

_log: Final = get_logger(__name__)

T = TypeVar("T", bound=KubeObject)

_PAGE: Final = 500
#: Between the two looks: what was on its way has arrived by then.
_SECOND_LOOK_S: Final = 2.0
#: Labels that are compared with selectors in one recount: a tenth of a second's worth.
_MATCHES: Final = 100_000
#: Lines of one kind that are written out.
_SHOWN: Final = 20
#: Waiting pods that are written out.
_DUMPED: Final = 1000

#: (kind of difference, what differs)
Difference = tuple[str, str]


async def compare(api: Sender, scheduler: Scheduler) -> None:
    """Compare, log and count; then log what waits in the queue."""
    try:
        found = await differences(api, scheduler)
        if found:
            await asyncio.sleep(_SECOND_LOOK_S)
            found &= await differences(api, scheduler)
    except BayplanError as error:
        _log.error("Cannot compare with the API server", error)
    else:
        found |= {("recount", line) async for line in _recount(scheduler)}
        _tell(found, scheduler)
    _dump(scheduler)
    # A second cluster lay here, full of circles; by itself the collector would not look for it for hours.
    gc.collect(1)


async def _recount(scheduler: Scheduler) -> AsyncIterator[str]:
    """What is wrong with columns and queue by themselves, in pieces, so that the loop gets its turn."""
    board = scheduler.board
    sample = Sample(_MATCHES, turn=int(board.clock.monotonic()))
    for stage in stages(board.cluster, sample):
        for line in stage:
            yield line
        await asyncio.sleep(0)
    for line in board.queue.audit():
        yield line


def _tell(found: set[Difference], scheduler: Scheduler) -> None:
    metrics = scheduler.board.metrics
    for kind, count in sorted(Counter(kind for kind, _ in found).items()):
        metrics.column_differences(kind, count)
        lines = sorted(what for each, what in found if each == kind)
        _log.error("Cache mismatch", None, kind=kind, count=count, first=lines[:_SHOWN])
    if not found:
        _log.info("Columns and API server agree")


def _dump(scheduler: Scheduler) -> None:
    queue = scheduler.board.queue
    _log.info("Dump of scheduling queue", summary=queue.pending())
    for queued in islice(queue.pods(), _DUMPED):
        _log.info(
            "Waits",
            pod=queued.pod.key,
            queue=queued.place.value,
            attempts=queued.attempts,
            plugins=sorted(queued.rejectors),
            gatedBy=queued.gating_plugin,
        )


async def differences(api: Sender, scheduler: Scheduler) -> set[Difference]:
    """What differs at this moment; some of it may only be late."""
    fresh = Cluster()
    async for node in _listed(api, NODES, ""):
        fresh.put(node)
    pending: set[str] = set()
    async for pod in _listed(api, PODS, POD_FIELDS):
        if pod.spec.node_name:
            fresh.put(pod)
        else:
            pending.add(pod.key)
    cluster = scheduler.board.cluster
    found = {*_of_nodes(cluster, fresh), *_of_pods(scheduler, fresh, pending)}
    _suppose_assumed(cluster, fresh)
    return found | set(_of_sums(cluster, fresh))


async def _listed(api: Sender, resource: Resource[T], selector: str) -> AsyncIterator[T]:
    """All objects of a kind; those that cannot be read are left out, as the informer does."""
    token = ""
    while True:
        path = resource.collection(fieldSelector=selector, limit=str(_PAGE), **{"continue": token})
        answer = await api.send(Request("GET", path, retry=IDEMPOTENT), Lane.READ)
        page: dict[str, Any] = msgspec.json.decode(answer)
        for item in page.get("items") or ():
            try:
                obj = decode_as(resource.kind, item)
            except DecodeError:
                continue
            yield obj
        token = page.get("metadata", {}).get("continue", "")
        if not token:
            return


def _of_nodes(ours: Cluster, fresh: Cluster) -> set[Difference]:
    known = {name for name, row in ours.nodes.row_of.items() if ours.nodes.records[row]}
    there = {name for name, row in fresh.nodes.row_of.items() if fresh.nodes.records[row]}
    missed = {("missed node", name) for name in there - known}
    return missed | {("redundant node", name) for name in known - there}


def _of_pods(scheduler: Scheduler, fresh: Cluster, pending: set[str]) -> set[Difference]:
    pods = scheduler.board.cluster.pods
    ours = {key: pods.uids[row] for key, row in pods.row_of.items() if not pods.is_assumed(row)}
    there = {key: fresh.pods.uids[row] for key, row in fresh.pods.row_of.items()}
    found = {("missed pod", key) for key, uid in there.items() if ours.get(key) != uid}
    found |= {("redundant pod", key) for key, uid in ours.items() if there.get(key) != uid}
    waiting = {*scheduler.pods.pending, *scheduler.pods.foreign}
    found |= {("missed pending pod", key) for key in pending - waiting}
    return found | {("redundant pending pod", key) for key in waiting - pending - there.keys()}


def _suppose_assumed(ours: Cluster, fresh: Cluster) -> None:
    """Pods that are being bound hold room that no list shows."""
    pods = ours.pods
    for key, row in pods.row_of.items():
        if pods.is_assumed(row) and key not in fresh.pods.row_of:
            info = pods.info(row, ours.nodes.names[int(pods.node_row.data[row])])
            fresh.put(pod_of(info))


def _of_sums(ours: Cluster, fresh: Cluster) -> set[Difference]:
    """Nodes on whose sums the two do not agree, though they have the same pods: other pods are a difference by themselves.

    Where many pods come and go, two looks often find the same error in the sums of a node, and each time for another pod.
    """
    found = set()
    ours_on, fresh_on = _pods_by_row(ours), _pods_by_row(fresh)
    for name, row in fresh.nodes.row_of.items():
        known = ours.nodes.row_of.get(name)
        if known is None or fresh.nodes.records[row] is None:
            continue
        if ours_on.get(known) != fresh_on.get(row):
            continue
        if (mine := _sums(ours, known)) != (theirs := _sums(fresh, row)):
            off_by = {k: mine.get(k, 0) - theirs.get(k, 0) for k in mine.keys() | theirs.keys()}
            # The error and not the sums: in a cluster at work those are others at the second look.
            text = ", ".join(f"{k} {amount:+d}" for k, amount in sorted(off_by.items()) if amount)
            found.add(("node sums", f"{name}: {text}"))
    return found


def _pods_by_row(cluster: Cluster) -> dict[int, set[str]]:
    found: defaultdict[int, set[str]] = defaultdict(set)
    pods = cluster.pods
    for key, row in pods.row_of.items():
        found[int(pods.node_row.data[row])].add(key)
    return found


def _sums(cluster: Cluster, row: int) -> dict[str, int]:
    nodes = cluster.nodes
    sums = {"pods": len(cluster.pods.on_node(row))}
    for number, name in enumerate(nodes.resources):
        sums[f"{name} requested"] = int(nodes.requested[number].data[row])
        sums[f"{name} allocatable"] = int(nodes.allocatable[number].data[row])
    return {name: amount for name, amount in sums.items() if amount}
