"""/flagz and /statusz; beside kube-scheduler's own in ``tests/e2e/test_zpages.py``."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from bayplan.serve.refusal import RefusedError
from bayplan.serve.zpages import Answer, ZPages
from bayplan.testing.virtual_time import START, VirtualClock


def pages(**more: Any) -> ZPages:
    clock = VirtualClock()
    clock.advance(7384)
    given: dict[str, Any] = {
        "binary_version": "0.1.0",
        "python_version": "3.11.7",
        "emulation_version": "1.36",
        "flags": {"v": "2", "config": "/etc/bayplan.yaml"},
        "paths": ("/metrics", "/configz"),
        **more,
    }
    return ZPages(clock, START, **given)


def page(path: str, accept: str = "", **more: Any) -> Answer:
    found = pages(**more).page(path, accept)
    assert found is not None
    return found


@pytest.mark.parametrize("accept", ["", "*/*", "text/plain", "text/html, text/*;q=0.5"])
def test_text_for_people(accept: str) -> None:
    status = page("/statusz", accept)
    assert status.content_type == "text/plain; charset=utf-8"
    assert status.body.decode().splitlines()[1] == "bayplan statusz"
    assert status.body.decode().splitlines()[4:] == [
        "Started: Thu Jan  1 00:00:00 UTC 2026",
        "Up: 2 hr 03 min 04 sec",
        "Python version: 3.11.7",
        "Binary version: 0.1.0",
        "Emulation version: 1.36",
        "Paths: /configz /metrics",
    ]
    flags = page("/flagz", accept).body.decode().splitlines()
    assert flags[3:] == ["config=/etc/bayplan.yaml", "v=2"]


@pytest.mark.parametrize(
    ("version", "deprecated"), [("v1beta1", False), ("v1alpha1", True)], ids=str
)
@pytest.mark.parametrize("form", ["json", "yaml"])
def test_objects_for_programs(version: str, deprecated: bool, form: str) -> None:
    accept = f"application/{form};as=Flagz;v={version};g=config.k8s.io"
    answer = page("/flagz", accept)
    read = json.loads if form == "json" else yaml.safe_load
    assert read(answer.body) == {
        "kind": "Flagz",
        "apiVersion": f"config.k8s.io/{version}",
        "metadata": {"name": "bayplan"},
        "flags": {"config": "/etc/bayplan.yaml", "v": "2"},
    }
    assert answer.content_type == f"application/{form};g=config.k8s.io;v={version};as=Flagz"
    assert ("deprecated" in answer.warning) is deprecated


def test_the_status_as_an_object() -> None:
    accept = "application/json;as=Statusz;v=v1beta1;g=config.k8s.io"
    status = json.loads(page("/statusz", accept).body)
    assert (status["startTime"], status["uptimeSeconds"]) == ("2026-01-01T00:00:00Z", 7384)
    assert (status["binaryVersion"], status["emulationVersion"]) == ("0.1.0", "1.36")


@pytest.mark.parametrize(
    "accept",
    [
        "application/json",
        "text/html",
        "application/vnd.kubernetes.protobuf",
        "application/json;as=Flagz;v=v1beta1;g=config.k8s.io",
        "application/json;as=Statusz;v=v2;g=config.k8s.io",
        "application/json;as=Statusz;v=v1beta1;g=other",
        ";;q=x,",
    ],
)
def test_whatever_else_is_refused(accept: str) -> None:
    with pytest.raises(RefusedError, match="only the following media types") as refused:
        page("/statusz", accept)
    assert refused.value.code == 406


def test_what_is_wanted_most_is_sent() -> None:
    accept = "text/plain;q=0.5, application/yaml;as=Statusz;v=v1beta1;g=config.k8s.io"
    assert page("/statusz", accept).content_type.startswith("application/yaml")


def test_gates_turn_them_off() -> None:
    assert pages(flags=None).page("/flagz", "") is None
    assert pages(paths=None).page("/statusz", "") is None
    assert pages().page("/other", "") is None
