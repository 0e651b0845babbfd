"""/flagz and /statusz answer as those of kube-scheduler 1.36.4, which runs beside."""

from __future__ import annotations

import http.client
import json
import ssl

import pytest

from tests.e2e.stage import Stage
from tests.e2e.subjects import Running

pytestmark = pytest.mark.e2e

KINDS = {"/flagz": "Flagz", "/statusz": "Statusz"}


def get(scheduler: Running, path: str, accept: str | None) -> tuple[int, str, str, str]:
    """Status, type, warning and text."""
    tls = ssl.create_default_context()
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE
    tls.load_cert_chain(scheduler.certificate, scheduler.key)
    connection = http.client.HTTPSConnection("127.0.0.1", scheduler.port, timeout=10, context=tls)
    try:
        connection.request("GET", path, headers={} if accept is None else {"Accept": accept})
        answer = connection.getresponse()
        header = answer.headers
        said = answer.read().decode()
        return answer.status, header["Content-Type"], header["Warning"] or "", said
    finally:
        connection.close()


def shape(answer: tuple[int, str, str, str], path: str) -> object:
    """What has to be equal: everything but the values."""
    status, kind, warning, text = answer
    kind = kind.partition(";")[0] if status != 200 else kind.replace(" ", "")
    if status != 200:
        said: object = json.loads(text)["message"]
    elif "json" in kind:
        found = json.loads(text)
        # Ours has no version of Go.
        said = sorted(set(found) - {"goVersion"})
    else:
        said = text.splitlines()[2]
    return status, kind, warning, said, path


def test_as_kube_scheduler_does(stage: Stage) -> None:
    ours = stage.start_scheduler("ours").wait_ready()
    theirs = stage.start_scheduler(
        "theirs", subject="kube-scheduler", profiles=[{"schedulerName": "stock"}]
    ).wait_ready()
    for path, kind in KINDS.items():
        structured = [
            f"application/{form};as={kind};v={version};g=config.k8s.io"
            for form in ("json", "yaml")
            for version in ("v1alpha1", "v1beta1")
        ]
        for accept in (
            None,
            "*/*",
            "text/plain",
            "text/html",
            "application/json",
            "application/vnd.kubernetes.protobuf",
            *structured,
        ):
            expected = shape(get(theirs, path, accept), path)
            if accept is not None and "yaml" in accept:
                # The text differs in what it holds; its form is YAML's.
                assert get(ours, path, accept)[:3] == get(theirs, path, accept)[:3]
                continue
            assert shape(get(ours, path, accept), path) == expected, accept
    flags = json.loads(
        get(ours, "/flagz", "application/json;as=Flagz;v=v1beta1;g=config.k8s.io")[3]
    )
    assert flags["flags"]["secure-port"] == str(ours.port)
