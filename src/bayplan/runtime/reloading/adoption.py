"""Pods that wait for a scheduler name which has just become ours: so far only their names were kept.

Called by ``app`` when a profile was added. The watch goes on meanwhile: where it has told of a pod since, that goes first.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import msgspec

from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.client.resources import PODS
from bayplan.client.retry import IDEMPOTENT
from bayplan.errors import DecodeError
from bayplan.model.decode import decode_as
from bayplan.model.pod import Pod
from bayplan.runtime.scheduler import POD_FIELDS

if TYPE_CHECKING:
    from bayplan.client.api import Sender
    from bayplan.runtime.ingest.pods import Pods

_PAGE = 500


async def adopt(api: Sender, pods: Pods, names: Collection[str]) -> int:
    """Take in the pods that ask for these schedulers; how many there were.

    Raises:
        BayplanError: the API server does not tell.
    """
    found = 0
    for name in names:
        token = ""
        while True:
            path = PODS.collection(
                fieldSelector=f"spec.nodeName=,spec.schedulerName={name},{POD_FIELDS}",
                limit=str(_PAGE),
                **{"continue": token},
            )
            answer = await api.send(Request("GET", path, retry=IDEMPOTENT), Lane.READ)
            page: dict[str, Any] = msgspec.json.decode(answer)
            for item in page.get("items") or ():
                try:
                    pod = decode_as(Pod, item)
                except DecodeError:
                    continue  # the informer has said so
                if pod.key in pods.foreign:
                    pods.on_put(pod)
                    found += 1
            token = page.get("metadata", {}).get("continue", "")
            if not token:
                break
    return found
