from __future__ import annotations

import json

import pytest

from bayplan.errors import ConfigError
from bayplan.kit.importing.result import import_config
from bayplan.plugins import default_registry
from tests.kit.importing.test_volcano import STOCK


def test_a_config_map_is_looked_into() -> None:
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "data": {"volcano-scheduler.conf": STOCK},
    }
    for text in (json.dumps(config_map), json.dumps({"kind": "List", "items": [config_map]})):
        assert import_config(text, default_registry()).source == "Volcano"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("a: 1", "neither a KubeSchedulerConfiguration", id="something else"),
        pytest.param("- 1", "neither a KubeSchedulerConfiguration", id="a list"),
        pytest.param("", "neither a KubeSchedulerConfiguration", id="nothing"),
        pytest.param("{", "line 2: yaml", id="no YAML"),
        pytest.param(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: 3",
            "profiles",
            id="no profiles",
        ),
    ],
)
def test_what_cannot_be_imported(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        import_config(text, default_registry(), "file.yaml")


def test_warnings_of_the_loader_are_part_of_the_account() -> None:
    text = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles:\n- schedulerName: s\n  plugins:\n    filter: {disabled: [{name: NodeResourcesFti}]}\n"
        "    preScore: {disabled: [{name: TaintToleration}]}\n"
    )
    rows = import_config(text, default_registry()).rows
    assert any("TaintToleration is not enabled at preScore" in row.remark for row in rows)
