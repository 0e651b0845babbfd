"""The logging policy's file: where it is looked for, and that it is read again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bayplan.app.logging_file import LoggingFile, logging_file, read_policy
from bayplan.errors import ConfigError
from bayplan.telemetry import log
from bayplan.testing.virtual_time import run

SEEDS = Path(__file__).parent.parent / "seeds" / "data" / "001-line-0301.yaml"
POLICY = "kind: Policy\napiVersion: v1\nrules:\n- level: {level}\n  verbs: [bind]\n"
BINDING = log.get_logger("bayplan.runtime.binding")


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    log.set_levels({})


def write(path: Path, level: str, inode: int = 0) -> Path:
    # By a new file in its place, as the kubelet does it.
    fresh = path.with_name(f"{path.name}.{inode}")
    fresh.write_text(POLICY.format(level=level), encoding="utf-8")
    os.replace(fresh, path)
    return path


def test_the_seeds_config_map_as_it_stands() -> None:
    found = read_policy(SEEDS)
    assert found["bayplan.runtime.binding"] == found["bayplan.runtime.loop"] == 2
    assert "bayplan.client.leases" not in found


def test_which_file_holds(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    assert logging_file(None, None) is None
    assert logging_file(None, config) is None
    write(tmp_path / "logging.yaml", "Debug")
    beside = logging_file(None, config)
    assert beside is not None
    beside.apply()
    assert BINDING.v(5)
    named = logging_file(write(tmp_path / "other.yaml", "Error"), config)
    assert named is not None
    named.apply()
    assert not BINDING.v(1)


def test_it_is_read_again_when_it_changes_and_kept_when_it_breaks(tmp_path: Path) -> None:
    path = write(tmp_path / "logging.yaml", "Info")

    async def main() -> None:
        file = LoggingFile(path)
        file.apply()
        watching = asyncio.create_task(file.watch())
        assert BINDING.v(2)
        assert not BINDING.v(5)
        write(path, "Debug", 1)
        await asyncio.sleep(6)
        assert BINDING.v(5)
        write(path, "Loud", 2)
        await asyncio.sleep(6)
        assert BINDING.v(5)
        path.unlink()
        await asyncio.sleep(6)
        assert BINDING.v(5)
        watching.cancel()

    run(main())


@pytest.mark.parametrize("text", ["", "a: 1\n---\nb: 2\n", "rules: [", "kind: ConfigMap\n"])
def test_what_cannot_be_used_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "logging.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"logging\.yaml"):
        read_policy(path)
    with pytest.raises(ConfigError, match="missing"):
        read_policy(tmp_path / "missing")
