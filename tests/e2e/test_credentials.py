"""Tokens and certificates that are renewed in their files while the scheduler runs, and end after that."""

from __future__ import annotations

import pytest

from bayplan.errors import ApiError
from bayplan.testing.control_plane import Api, Obj, wait_until
from tests.e2e.stage import Stage, node, pod

pytestmark = pytest.mark.e2e

#: kube-scheduler reads its token again once a minute.
PATIENCE_S = 120.0


def is_known(api: Api) -> bool:
    """Whether the API server still takes what this user logs in with."""
    try:
        api.get("/api/v1/namespaces/default")
    except ApiError as refused:
        return refused.status != 401
    return True


def stock_role(name: str, namespace: str) -> Obj:
    """The stock scheduler has a role of its own, which it has in every cluster."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "stock"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "system:kube-scheduler",
        },
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }


def test_case_26_a_token_that_was_rotated(stage: Stage) -> None:
    stage.add(node("n1"))
    account = stage.account()
    if stage.subject == "kube-scheduler":
        stage.add(stock_role(account.name, account.namespace))
    stage.start_scheduler(login=account.kubeconfig).wait_ready()
    stage.add(pod("before"))
    stage.wait_bound("default/before")

    with account.api() as old:
        account.rotate()
        account.revoke_old()
        wait_until(lambda: not is_known(old), "end of the old token", PATIENCE_S)
    stage.add(pod("after"))

    stage.wait_bound("default/after", timeout_s=PATIENCE_S)


def test_case_26_a_client_certificate_that_was_renewed(stage: Stage) -> None:
    stage.add(node("n1"))
    user = stage.plane.user("short-lived", ["system:masters"], lifetime_s=20)
    stage.start_scheduler(login=user.kubeconfig).wait_ready()
    stage.add(pod("before"))
    stage.wait_bound("default/before")

    with user.api() as old:
        user.renew()
        wait_until(lambda: not is_known(old), "end of the old certificate", PATIENCE_S)
    stage.add(pod("after"))

    stage.wait_bound("default/after", timeout_s=PATIENCE_S)


def test_case_26_the_api_servers_own_certificate_is_renewed(stage: Stage) -> None:
    stage.add(node("n1"))
    stage.start_scheduler().wait_ready()
    stage.plane.stop_api()
    stage.plane.renew_server_certificate()
    stage.plane.start_api()
    stage.add(pod("after"))

    stage.wait_bound("default/after")
