"""Asking the API server who somebody is and what they may do: TokenReview and SubjectAccessReview, as requests.

Used by ``serve.gatekeeper``. Nothing here sends anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from bayplan.client.request import JSON, Request
from bayplan.client.resources import segment

_TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


@dataclass(frozen=True, slots=True)
class User:
    """Somebody, as the API server knows them."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)


ANONYMOUS: Final = User("system:anonymous", ("system:unauthenticated",))


class _UserInfo(msgspec.Struct, frozen=True):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class _TokenStatus(msgspec.Struct, frozen=True):
    authenticated: bool = False
    user: _UserInfo = _UserInfo()


class _TokenReview(msgspec.Struct, frozen=True):
    status: _TokenStatus = _TokenStatus()


class _AccessStatus(msgspec.Struct, frozen=True):
    allowed: bool = False


class _AccessReview(msgspec.Struct, frozen=True):
    status: _AccessStatus = _AccessStatus()


class _ConfigMap(msgspec.Struct, frozen=True):
    data: dict[str, str] = {}


def review_token(token: str) -> Request:
    """Whose token is this?"""
    body = {
        "kind": "TokenReview",
        "apiVersion": "authentication.k8s.io/v1",
        "spec": {"token": token},
    }
    return Request("POST", _TOKEN_REVIEWS, msgspec.json.encode(body), JSON)


def user_of(answer: bytes) -> User | None:
    """Whose it is; None where it is nobody's. Raises ``msgspec.MsgspecError`` where the answer makes no sense."""
    status = msgspec.json.decode(answer, type=_TokenReview).status
    if not status.authenticated:
        return None
    user = status.user
    return User(user.username, user.groups, user.uid, user.extra)


def review_access(user: User, verb: str, path: str) -> Request:
    """May this user do this with this path?"""
    spec: dict[str, Any] = {
        "user": user.name,
        "groups": user.groups,
        "nonResourceAttributes": {"path": path, "verb": verb},
    }
    if user.uid:
        spec["uid"] = user.uid
    if user.extra:
        spec["extra"] = dict(user.extra)
    body = {
        "kind": "SubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "spec": spec,
    }
    return Request("POST", _ACCESS_REVIEWS, msgspec.json.encode(body), JSON)


def is_allowed(answer: bytes) -> bool:
    """Whether they may. Raises ``msgspec.MsgspecError``."""
    return msgspec.json.decode(answer, type=_AccessReview).status.allowed


def get_config_map(namespace: str, name: str) -> Request:
    """Read a ConfigMap."""
    return Request("GET", f"/api/v1/namespaces/{segment(namespace)}/configmaps/{segment(name)}")


def data_of(answer: bytes) -> dict[str, str]:
    """What is in a ConfigMap. Raises ``msgspec.MsgspecError``."""
    return msgspec.json.decode(answer, type=_ConfigMap).data
