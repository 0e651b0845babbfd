"""How many members of a group have done their work. Pods that have ended are not watched, so the API server is asked.

Read by ``runtime.gangs.keeping`` where it matters: some members of a gang that was complete are on nodes, others wait to
take the place of members that failed, and it has to be known which of the missing ones are simply done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import msgspec

from bayplan.client import resources
from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.client.retry import IDEMPOTENT
from bayplan.errors import BayplanError
from bayplan.model.pod import Pod
from bayplan.model.pod_group import group_of
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.client.api import Sender
    from bayplan.model.pod_group import GroupKey

_log: Final = get_logger(__name__)

#: A gang with more finished members than one page has is counted to the page's end.
_PAGE: Final = 5000


class _Pods(msgspec.Struct):
    items: list[Pod] = msgspec.field(default_factory=list)


class FinishedMembers:
    """Counts them."""

    def __init__(self, api: Sender) -> None:
        self._api = api

    async def count(self, key: GroupKey) -> int | None:
        """How many have succeeded; None where that cannot be found out now."""
        query = urlencode({"fieldSelector": "status.phase=Succeeded", "limit": str(_PAGE)})
        path = f"{resources.PODS.path(namespace=key.namespace)}?{query}"
        try:
            answer = await self._api.send(Request("GET", path, retry=IDEMPOTENT), Lane.READ)
            pods = msgspec.json.decode(answer, type=_Pods).items
        except (BayplanError, msgspec.MsgspecError) as error:
            _log.error("Cannot count the finished members of a gang", error, group=str(key))
            return None
        return sum(group_of(pod) == key for pod in pods)
