"""Reviews: who holds a token, and what somebody may do. They are answered and not stored.

Everybody who gets in may do everything, except what a test has forbidden; other programs ask here whether to let
somebody in, as kube-scheduler and our own server do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from bayplan.embedded.objects import Object, as_object, at, text_at

#: Who a client is that needs no token.
ADMIN: Final = "system:admin"


@dataclass(frozen=True, slots=True)
class Access:
    """One thing that somebody wants to do."""

    verb: str
    group: str = ""
    #: With its subresource: ``pods/binding``.
    resource: str = ""
    namespace: str = ""
    name: str = ""
    #: Instead of a resource: a path such as ``/metrics``.
    path: str = ""


#: Whether it is forbidden.
Forbids = Callable[[Access], bool]


def access_of(spec: Object) -> Access:
    """What a review asks about."""
    resource = at(spec, "resourceAttributes")
    if not isinstance(resource, dict):
        plain = as_object(spec.get("nonResourceAttributes"))
        return Access(text_at(plain, "verb"), path=text_at(plain, "path"))
    name = text_at(resource, "resource")
    if text_at(resource, "subresource"):
        name = f"{name}/{text_at(resource, 'subresource')}"
    return Access(
        text_at(resource, "verb"),
        text_at(resource, "group"),
        name,
        text_at(resource, "namespace"),
        text_at(resource, "name"),
    )


def answer(
    kind: str, review: Object, tokens: Mapping[str, str], forbids: Forbids, user: str
) -> Object:
    """The review with its answer.

    Args:
        kind: ``TokenReview``, ``SubjectAccessReview`` and so on.
        review: as sent.
        tokens: token to user; none at all means that every token is good.
        forbids: what nobody may do.
        user: who asks.
    """
    spec = as_object(review.get("spec"))
    match kind:
        case "TokenReview":
            status = _token(text_at(spec, "token"), tokens)
        case "SelfSubjectReview":
            status = {"userInfo": {"username": user, "groups": ["system:authenticated"]}}
        case "SelfSubjectRulesReview":
            status = {
                "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
                "incomplete": False,
            }
        case _:
            refused = forbids(access_of(spec))
            status = {"allowed": not refused}
            if refused:
                status["reason"] = "forbidden by a fault"
    return review | {"metadata": as_object(review.get("metadata")), "status": status}


def _token(token: str, tokens: Mapping[str, str]) -> Object:
    if tokens and token not in tokens:
        return {"user": {}, "error": "invalid bearer token"}
    name = tokens.get(token, ADMIN)
    masters = ["system:masters"] if name == ADMIN else []
    return {
        "authenticated": True,
        "user": {"username": name, "groups": [*masters, "system:authenticated"]},
    }
