"""Does the API server have a kind at all? It turns those away who have no right to it before it looks whether there is any.

Used by ``client.informer`` for kinds that may be missing.
"""

from __future__ import annotations

from typing import Any

import msgspec

from bayplan.client.api import Sender
from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.client.resources import Resource
from bayplan.client.retry import IDEMPOTENT
from bayplan.errors import BayplanError, Forbidden, NotFound


class _Served(msgspec.Struct):
    name: str = ""


class _Group(msgspec.Struct):
    resources: list[_Served] = []


async def exists(api: Sender, resource: Resource[Any]) -> bool:
    """Whether discovery, which is open to everybody who has a name, knows the kind; True where it cannot be found out now."""
    try:
        answer = await api.send(Request("GET", resource.root, retry=IDEMPOTENT), Lane.READ)
        group = msgspec.json.decode(answer, type=_Group)
    except (NotFound, Forbidden):
        return False
    except (BayplanError, msgspec.MsgspecError):
        return True
    return any(served.name == resource.plural for served in group.resources)
