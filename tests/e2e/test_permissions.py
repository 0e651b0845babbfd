"""A role that lacks one verb: readiness says which, and the scheduler goes on by itself once it has been granted."""

from __future__ import annotations

import pytest

from bayplan.testing.control_plane import wait_until
from tests.e2e.roles import documented, role_of, without
from tests.e2e.stage import Stage, node, pod

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    ("verb", "resource"),
    [
        pytest.param("list", "csinodes", id="what it has to see first"),
        pytest.param("watch", "pods", id="what it has to follow"),
        pytest.param("create", "pods/binding", id="what it is there for"),
        pytest.param("patch", "pods/status", id="how it tells why not"),
    ],
)
def test_case_52_readiness_names_what_may_not_be_done(
    stage: Stage, verb: str, resource: str
) -> None:
    if stage.subject != "bayplan":
        pytest.skip("kube-scheduler does not say")
    stage.add(node("n1"))
    account = stage.account(without(verb, resource))
    scheduler = stage.start_scheduler(login=account.kubeconfig)

    def names_it() -> bool:
        status, text = scheduler.page("/readyz?verbose")
        return status not in {0, 200} and verb in text and resource in text

    wait_until(names_it, f"readiness that names {verb} {resource}", 60)
    role = role_of(documented())
    stage.plane.admin.patch(role, {"rules": role["rules"]})
    scheduler.wait_ready()
    stage.add(pod("p"))

    stage.wait_bound("default/p")
