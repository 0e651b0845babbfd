"""What the scheduler has to be allowed to do, and whether it is: so that readiness names the verb that a role lacks.

The API server is asked for each right once at the start, often as long as one is missing, and now and then after that
(SelfSubjectAccessReview, which everybody may ask for). Without an answer, what was known before holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bayplan.client.lanes import Lane
from bayplan.client.request import JSON, Request
from bayplan.client.resources import ELASTIC_QUOTAS, SCHEDULING_POLICIES
from bayplan.errors import BayplanError
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.client.api import Sender
    from bayplan.client.resources import Resource

_log: Final = get_logger(__name__)

_PATH: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
#: How often all rights are looked at, and how often while one is missing.
_LOOK_S: Final = 60.0
_LOOK_AGAIN_S: Final = 3.0


@dataclass(frozen=True, slots=True)
class Right:
    """One verb of one resource."""

    verb: str
    resource: str
    group: str = ""
    subresource: str = ""
    namespace: str = ""
    #: Of the one object that it is about; empty: any.
    name: str = ""

    def __str__(self) -> str:
        """``create pods/binding``, ``list csinodes.storage.k8s.io``, ``get leases.coordination.k8s.io/bayplan``."""
        kind = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        grouped = f"{kind}.{self.group}" if self.group else kind
        return f"{self.verb} {grouped}/{self.name}" if self.name else f"{self.verb} {grouped}"


_WRITES: Final = (
    Right("get", "pods"),
    Right("create", "pods", subresource="binding"),
    Right("patch", "pods", subresource="status"),
    Right("delete", "pods"),
    Right("create", "events", "events.k8s.io"),
    Right("patch", "events", "events.k8s.io"),
    Right("patch", "persistentvolumes"),
    Right("patch", "persistentvolumeclaims"),
)


def needed(
    watched: Collection[Resource[Any]], lease: tuple[str, str] | None, *, writes: bool
) -> Iterator[Right]:
    """All rights of a scheduler that watches these kinds and holds this lease (namespace and name), or none."""
    for resource in watched:
        for verb in ("list", "watch"):
            yield Right(
                verb,
                resource.plural,
                resource.group,
                namespace=resource.only_in,
                name=resource.only_named,
            )
    if writes:
        yield from _WRITES
        for kind in (ELASTIC_QUOTAS, SCHEDULING_POLICIES):
            if kind in watched:
                yield Right("patch", kind.plural, kind.group, "status")
    if lease is not None:
        namespace, name = lease
        leases = partial(Right, resource="leases", group="coordination.k8s.io", namespace=namespace)
        yield leases("get", name=name)
        # What is to be created has no name yet, so RBAC cannot ask for it.
        yield leases("create")
        yield leases("update", name=name)


def for_groups(kind: Resource[Any]) -> Iterator[Right]:
    """What pod groups of a kind take, where the API server serves it."""
    for verb in ("list", "watch"):
        yield Right(verb, kind.plural, kind.group)
    yield Right("patch", kind.plural, kind.group, "status")


class Permissions:
    """Which rights are missing."""

    def __init__(self, api: Sender, rights: Sequence[Right]) -> None:
        self._api = api
        self.rights = list(rights)
        self._missing: set[Right] = set()

    def need(self, rights: Iterable[Right]) -> None:
        """These too, from now on: a kind is served that was not before."""
        self.rights += [right for right in rights if right not in self.rights]

    def lacks(self, right: Right) -> bool:
        """Whether the API server has said that this is not allowed."""
        return right in self._missing

    async def run(self) -> None:
        """Look again and again until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(_LOOK_AGAIN_S if self._missing else _LOOK_S)

    async def look(self) -> None:
        """Ask for every right."""
        for right in tuple(self.rights):
            try:
                answer = await self._api.send(_review(right), Lane.READ)
                allowed = bool(msgspec.json.decode(answer)["status"]["allowed"])
            except (BayplanError, msgspec.MsgspecError, LookupError, TypeError) as error:
                if debug := _log.v(2):
                    debug.info("Cannot ask what is allowed", right=str(right), err=error)
                return
            if not allowed and right not in self._missing:
                self._missing.add(right)
                _log.error("Not allowed", None, right=str(right), namespace=right.namespace)
            elif allowed and right in self._missing:
                self._missing.discard(right)
                _log.info("Allowed now", right=str(right))


def _review(right: Right) -> Request:
    attributes = {
        "verb": right.verb,
        "group": right.group,
        "resource": right.resource,
        "subresource": right.subresource,
        "namespace": right.namespace,
        "name": right.name,
    }
    body = {
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "spec": {"resourceAttributes": {k: v for k, v in attributes.items() if v}},
    }
    return Request("POST", _PATH, msgspec.json.encode(body), JSON, guarded=True)
