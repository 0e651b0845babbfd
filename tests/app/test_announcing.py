from __future__ import annotations

import socket
from pathlib import Path

from bayplan.app.announcing import own_pod, reachable_address, url_of


def test_the_address_that_is_listened_on_or_the_pods_own() -> None:
    assert reachable_address("127.0.0.1", {"POD_IP": "10.0.0.7"}) == "127.0.0.1"
    assert reachable_address("0.0.0.0", {"POD_IP": "10.0.0.7"}) == "10.0.0.7"


def test_of_several_addresses_the_one_on_the_way_to_the_api_server() -> None:
    assert reachable_address("::", {"KUBERNETES_SERVICE_HOST": "127.0.0.1"}) == "127.0.0.1"
    assert reachable_address("0.0.0.0", {"KUBERNETES_SERVICE_HOST": "no such host."})


def test_urls() -> None:
    assert url_of("10.0.0.7", 10259) == "https://10.0.0.7:10259"
    assert url_of("fd00::7", 1) == "https://[fd00::7]:1"
    assert url_of("node-1", 2) == "https://node-1:2"


def test_the_pod_that_we_run_in(tmp_path: Path) -> None:
    assert own_pod({}, tmp_path) == ""
    inside = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    assert own_pod(inside, tmp_path) == ""
    (tmp_path / "namespace").write_text("kube-system\n")
    assert own_pod(inside, tmp_path) == f"kube-system/{socket.gethostname()}"
    named = {**inside, "POD_NAMESPACE": "batch", "POD_NAME": "bayplan-0"}
    assert own_pod(named, tmp_path) == "batch/bayplan-0"
