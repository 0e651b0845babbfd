"""Who may see a scheduler's pages, as the real API server decides it."""

from __future__ import annotations

import http.client
import ssl

import pytest

from bayplan.testing.control_plane import Obj, wait_until
from tests.e2e.stage import Stage
from tests.e2e.subjects import Running

pytestmark = pytest.mark.e2e


def page(scheduler: Running, path: str, token: str = "") -> tuple[int, str]:
    """Status and text for whoever has this token, or none."""
    tls = ssl.create_default_context()
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE
    connection = http.client.HTTPSConnection("127.0.0.1", scheduler.port, timeout=10, context=tls)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def reader(user: str) -> list[Obj]:
    """May read metrics and nothing else."""
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "metrics-reader"},
        "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
    }
    _, namespace, name = user.rsplit(":", 2)
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "metrics-reader"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "metrics-reader",
        },
        "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": name}],
    }
    return [role, binding]


def test_case_48_who_may_see_what(stage: Stage) -> None:
    scheduler = stage.start_scheduler().wait_ready()
    account: Obj = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "prometheus", "namespace": "kube-system"},
    }
    stage.add(account)
    prometheus = stage.plane.service_account("prometheus")
    token = prometheus.token_file.read_text()

    assert page(scheduler, "/healthz") == (200, "ok")
    # kube-scheduler answers 403 to whoever shows nothing; we say that there is something to show.
    assert page(scheduler, "/metrics")[0] in {401, 403}
    assert page(scheduler, "/metrics", "nonsense")[0] == 401
    status, text = page(scheduler, "/metrics", token)
    assert status == 403
    assert f'User \\"{prometheus.user}\\" cannot get path \\"/metrics\\"' in text

    stage.add(*reader(prometheus.user))
    # The refusal is remembered for ten seconds.
    wait_until(lambda: page(scheduler, "/metrics", token)[0] == 200, "metrics for Prometheus", 30)
    assert page(scheduler, "/configz", token)[0] == 403
    # An administrator's certificate opens everything.
    assert scheduler.page("/configz")[0] == 200
    assert scheduler.page("/nope")[0] == 404
    status, text = scheduler.page("/metrics/resources")
    assert (status, "kube_pod_resource" in text) == (200, False)
