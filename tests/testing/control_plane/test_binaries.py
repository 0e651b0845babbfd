from __future__ import annotations

from pathlib import Path

import pytest

from bayplan.errors import BinariesMissing
from bayplan.testing.control_plane.binaries import find_binaries


def folder_with(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).touch(mode=0o755)
    return folder


def test_the_named_folder_is_taken_before_the_one_that_was_built(tmp_path: Path) -> None:
    assets = folder_with(tmp_path / "assets", "etcd", "kube-apiserver")
    folder_with(tmp_path / "tree" / ".kube" / "bin", "etcd", "kube-apiserver")

    found = find_binaries({"KUBEBUILDER_ASSETS": str(assets)}, tmp_path / "tree")

    assert found.folder == assets


def test_what_was_built_is_found_from_a_folder_below(tmp_path: Path) -> None:
    built = folder_with(tmp_path / ".kube" / "bin", "etcd", "kube-apiserver")
    below = folder_with(tmp_path / "tests" / "deep")

    assert find_binaries({}, below).folder == built


def test_a_named_folder_that_lacks_one_is_an_error_and_not_passed_over(tmp_path: Path) -> None:
    assets = folder_with(tmp_path / "assets", "etcd")
    folder_with(tmp_path / ".kube" / "bin", "etcd", "kube-apiserver")

    with pytest.raises(BinariesMissing, match="where there is no kube-apiserver"):
        find_binaries({"KUBEBUILDER_ASSETS": str(assets)}, tmp_path)


def test_a_file_that_may_not_be_run_is_none(tmp_path: Path) -> None:
    built = folder_with(tmp_path / ".kube" / "bin", "etcd", "kube-apiserver")
    (built / "etcd").chmod(0o644)

    with pytest.raises(BinariesMissing, match="run `make kube`"):
        find_binaries({}, tmp_path)


def test_a_program_that_is_asked_for_by_name_may_be_missing(tmp_path: Path) -> None:
    built = folder_with(tmp_path / ".kube" / "bin", "etcd", "kube-apiserver")
    found = find_binaries({}, tmp_path)

    assert found.path("etcd") == built / "etcd"
    assert not found.has("kubectl")
    with pytest.raises(BinariesMissing, match=r"no kubectl in .*: run `make kube`"):
        found.path("kubectl")
