"""Why pods of a workload do not exist: asked of the API server where ``explain`` is given a name that no pod has.

No scheduler knows of a pod that was never created. What stands in its way is admission: the ResourceQuotas of its namespace.
"""

from __future__ import annotations

import random
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from bayplan.client import resources
from bayplan.client.api import Api
from bayplan.client.config import load
from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.client.retry import IDEMPOTENT
from bayplan.clock import Clock, SystemClock
from bayplan.errors import Forbidden, NotFound
from bayplan.model.decode import decode_as, decode_list
from bayplan.model.pod import Pod
from bayplan.model.policy import ResourceQuota
from bayplan.sim.manifest import admitted
from bayplan.sim.missing_pods import how_many, next_pod
from bayplan.sim.resource_quotas import refusals, standing

if TYPE_CHECKING:
    from bayplan.cli.running import Which
    from bayplan.model.meta import KubeObject
    from bayplan.sim.missing_pods import Workload

_WORKLOADS: Final = (resources.DEPLOYMENTS, resources.STATEFUL_SETS, resources.REPLICA_SETS)


async def why_missing(which: Which, key: str, clock: Clock | None = None) -> list[str]:
    """What is known of the pods of a workload (``namespace/name``); nothing where there is no such workload.

    Raises:
        BayplanError: the API server cannot be asked.
    """
    access = load(which.kubeconfig or None, which.context)
    api = Api.open(access, clock or SystemClock(), random.Random(secrets.randbits(64)))
    try:
        return await _asked(api, key)
    finally:
        await api.close()


async def _asked(api: Api, key: str) -> list[str]:
    namespace, _, name = key.partition("/")
    workload = await _workload(api, namespace, name)
    if workload is None:
        return []
    pods = [pod for pod in await _list(api, resources.PODS, namespace) if isinstance(pod, Pod)]
    found = await _list(api, resources.RESOURCE_QUOTAS, namespace)
    quotas = [quota for quota in found if isinstance(quota, ResourceQuota)]
    pod, _ = admitted(next_pod(workload), {})
    against = [f"the API server would refuse it: {said}" for said in refusals(pod, quotas)]
    return [how_many(workload, pods), *against, *standing(quotas, namespace)]


async def _workload(api: Api, namespace: str, name: str) -> Workload | None:
    for kind in _WORKLOADS:
        request = Request("GET", kind.path(name, namespace), retry=IDEMPOTENT)
        with suppress(NotFound, Forbidden):
            return decode_as(kind.kind, await api.send(request, Lane.READ))
    return None


async def _list(api: Api, kind: resources.Resource[Any], namespace: str) -> tuple[KubeObject, ...]:
    request = Request("GET", kind.path(namespace=namespace), retry=IDEMPOTENT)
    try:
        return decode_list(await api.send(request, Lane.READ)).items
    except Forbidden:
        return ()  # who may not see the quotas is told what is left
