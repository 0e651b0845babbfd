from __future__ import annotations

import os
from pathlib import Path

from bayplan.runtime.reloading.sources import Sources, Watch


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_change_counts_once_it_stands_still(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    write(file, "one")
    watch = Watch(Sources([file]))
    assert not watch.changed()
    write(file, "half of tw")
    assert not watch.changed()
    write(file, "two")
    assert not watch.changed()
    assert watch.changed()
    watch.know(watch.sources, watch.sources.fingerprint())
    assert not watch.changed()


def test_a_change_that_is_taken_back_is_none(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    write(file, "one")
    before = file.stat()
    watch = Watch(Sources([file]))
    write(file, "two")
    assert not watch.changed()
    write(file, "one")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not watch.changed()
    assert not watch.changed()


def test_files_come_and_go_in_a_directory(tmp_path: Path) -> None:
    sources = Sources([], [tmp_path])
    write(tmp_path / "a.py", "")
    write(tmp_path / "package" / "__init__.py", "")
    write(tmp_path / "package" / "deep" / "b.py", "")
    write(tmp_path / "other" / "c.py", "")
    write(tmp_path / "notes.txt", "")
    names = {Path(name).name for name, *_ in sources.fingerprint()}
    assert names == {"a.py", "__init__.py", "b.py"}
    (tmp_path / "a.py").unlink()
    assert {Path(name).name for name, *_ in sources.fingerprint()} == {"__init__.py", "b.py"}


def test_a_config_map_is_swapped_by_a_link(tmp_path: Path) -> None:
    for number in (1, 2):
        write(tmp_path / f"..{number}" / "config.yaml", "same size")
    link = tmp_path / "..data"
    link.symlink_to("..1")
    (tmp_path / "config.yaml").symlink_to("..data/config.yaml")
    sources = Sources([tmp_path / "config.yaml"])
    before = sources.fingerprint()
    fresh = tmp_path / "new"
    fresh.symlink_to("..2")
    fresh.replace(link)
    assert sources.fingerprint() != before


def test_a_file_that_is_missing_is_a_state_too(tmp_path: Path) -> None:
    sources = Sources([tmp_path / "later.yaml"])
    before = sources.fingerprint()
    write(tmp_path / "later.yaml", "")
    assert sources.fingerprint() != before
