from __future__ import annotations

import json
from pathlib import Path

import pytest

from bayplan.errors import ConfigError
from bayplan.framework.config import load_config
from bayplan.kit.importing.result import import_config
from bayplan.plugins import default_registry
from tests.kit.importing.test_volcano import STOCK

ROOT = Path(__file__).parents[3]
SEEDS = [
    path
    for path in sorted((ROOT / "tests" / "seeds" / "data").glob("*.yaml"))
    # 000-line-0018 is refused: extenders stand inside a profile.
    if "KubeSchedulerConfiguration" in path.read_text(encoding="utf-8")
    and path.stem != "000-line-0018"
]


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


def test_what_an_old_release_did_otherwise_is_part_of_it() -> None:
    text = (
        "apiVersion: kubescheduler.config.k8s.io/v1beta2\nkind: KubeSchedulerConfiguration\n"
        "profiles:\n- schedulerName: s\n"
    )
    imported = import_config(text, default_registry())
    assert imported.documents[0]["apiVersion"] == "kubescheduler.config.k8s.io/v1"
    assert any(
        "default weight of TaintToleration is 3, and was 1" in r.remark for r in imported.rows
    )


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem)
def test_configurations_of_the_seeds_are_imported_whole(path: Path) -> None:
    registry = default_registry()
    registry.add_directory(ROOT / "examples" / "plugins")
    imported = import_config(path.read_text(encoding="utf-8"), registry, path.name)
    assert imported.is_whole
    assert load_config(imported.text, registry).profiles


def test_a_document_of_ours_is_kept() -> None:
    text = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- schedulerName: s\n"
        "  plugins: {score: {enabled: [{name: TargetLoadPacking}]}}\n---\n"
        "apiVersion: bayplan.io/v1alpha1\nkind: BayplanConfiguration\nseed: 7\n"
        "providers: [{name: prices, type: static, values: {a: {price: 1}}}]\n"
    )
    beside = import_config(text, default_registry()).documents[1]
    assert beside["seed"] == 7
    assert [one["name"] for one in beside["providers"]] == ["prices", "measured"]
