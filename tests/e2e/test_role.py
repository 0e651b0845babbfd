"""Whether ``deploy/rbac.yaml`` grants what the scheduler asks readiness about, and no more. Needs no API server."""

from __future__ import annotations

from typing import Any

import yaml

from bayplan.app.assembly import _ASKED_FOR, _OBJECTS
from bayplan.client.resources import NODES, PODS, Resource
from bayplan.runtime.permissions import Right, needed
from tests.e2e.roles import RBAC, Rights, documented, rights, role_of, without


def as_rights(needed: list[Right]) -> Rights:
    return {
        (
            right.group,
            f"{right.resource}/{right.subresource}" if right.subresource else right.resource,
            right.verb,
        )
        for right in needed
    }


def test_the_cluster_role_is_what_is_needed_and_no_more() -> None:
    watched: list[Resource[Any]] = [NODES, PODS, *(kind for kind, _ in _OBJECTS)]

    assert rights(role_of(documented())) == as_rights(list(needed(watched, None, writes=True)))


def test_the_role_is_for_the_lease_and_nothing_else() -> None:
    leases = as_rights(list(needed([], "kube-system", writes=False)))

    assert rights(role_of(documented(), "Role")) == leases


def test_the_role_for_quotas_is_what_their_plugins_need_and_no_more() -> None:
    found = yaml.safe_load_all((RBAC.parent / "rbac-quotas.yaml").read_text(encoding="utf-8"))
    asked_for = [kind for kind, _ in _ASKED_FOR]
    always = as_rights(list(needed([], None, writes=True)))

    assert (
        rights(role_of(list(found)))
        == as_rights(list(needed(asked_for, None, writes=True))) - always
    )


def test_one_verb_is_taken_and_no_other() -> None:
    less = rights(role_of(without("watch", "csinodes")))

    assert rights(role_of(documented())) - less == {("storage.k8s.io", "csinodes", "watch")}
    assert less < rights(role_of(documented()))
