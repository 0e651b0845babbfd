"""kubectl port-forward, with a program that says what kubectl says."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from bayplan.client.port_forward import forwarded
from bayplan.errors import Unreachable


def kubectl(folder: Path, program: str) -> str:
    script = folder / "kubectl"
    script.write_text(f"#!{sys.executable}\nimport sys, time\n{program}\n", encoding="utf-8")
    script.chmod(0o755)
    return str(script)


async def port(program: str) -> int:
    async with forwarded("kube-system/bayplan-0", 10259, ["--context=c"], program) as local:
        return local


def test_the_port_that_kubectl_chose(tmp_path: Path) -> None:
    script = kubectl(
        tmp_path,
        "expected = ['--context=c', '-n', 'kube-system', 'port-forward', 'pod/bayplan-0', ':10259']\n"
        "assert sys.argv[1:] == expected, sys.argv\n"
        "print('Forwarding from 127.0.0.1:40123 -> 10259', flush=True)\n"
        "sys.stdin.read(); time.sleep(60)",
    )
    assert asyncio.run(port(script)) == 40123


def test_what_kubectl_complains_of_is_told(tmp_path: Path) -> None:
    script = kubectl(tmp_path, "sys.exit('Error from server (Forbidden): pods is forbidden')")
    with pytest.raises(Unreachable, match="bayplan-0: Error from server"):
        asyncio.run(port(script))


def test_without_kubectl(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="cannot be started: No such file"):
        asyncio.run(port(str(tmp_path / "kubectl")))
