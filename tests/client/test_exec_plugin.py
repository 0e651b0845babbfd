"""Credentials from commands, which are real processes here: scripts of one line."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bayplan.client.exec_plugin import Command, ExecPlugin
from bayplan.errors import CredentialsError

V1 = "client.authentication.k8s.io/v1"
NOW = 1_000_000.0


def answer(status: dict[str, Any] | None, version: str = V1) -> str:
    return json.dumps({"kind": "ExecCredential", "apiVersion": version, "status": status})


def plugin(tmp_path: Path, script: str, **more: Any) -> ExecPlugin:
    """A plugin that runs some Python; every run adds a line to ``runs``."""
    path = tmp_path / "plugin.py"
    path.write_text(
        f"open({str(tmp_path / 'runs')!r}, 'a').write('x')\nimport os, sys, json\n{script}"
    )
    return ExecPlugin(
        Command(sys.executable, ("-S", str(path)), {"EXTRA": "1"}, V1, entry="exec of me", **more)
    )


def printing(tmp_path: Path, status: dict[str, Any] | None) -> ExecPlugin:
    return plugin(tmp_path, f"print({answer(status)!r})")


def runs(tmp_path: Path) -> int:
    path = tmp_path / "runs"
    return len(path.read_text()) if path.exists() else 0


def failure(made: ExecPlugin) -> str:
    with pytest.raises(CredentialsError) as caught:
        asyncio.run(made.renew(None, NOW))
    return str(caught.value)


def test_a_token(tmp_path: Path) -> None:
    made = printing(tmp_path, {"token": "abc"})
    assert made.header(NOW) is None
    asyncio.run(made.renew(None, NOW))
    assert made.header(NOW + 1e9) == "Bearer abc"
    assert made.certificate is None


def test_a_certificate(tmp_path: Path) -> None:
    made = printing(tmp_path, {"clientCertificateData": "CERT", "clientKeyData": "KEY"})
    asyncio.run(made.renew(None, NOW))
    assert made.header(NOW) == ""
    assert made.certificate is not None
    assert (made.certificate.certificate, made.certificate.key) == (b"CERT", b"KEY")
    assert "KEY" not in repr(made.certificate)


def test_a_token_that_expires_is_replaced_in_time(tmp_path: Path) -> None:
    expires = datetime.fromtimestamp(NOW + 600, UTC).isoformat().replace("+00:00", "Z")
    made = printing(tmp_path, {"token": "abc", "expirationTimestamp": expires})
    asyncio.run(made.renew(None, NOW))
    assert made.header(NOW + 590) == "Bearer abc"
    assert made.header(NOW + 596) is None
    asyncio.run(made.renew(None, NOW))
    assert runs(tmp_path) == 1, "it holds still"
    asyncio.run(ExecPlugin(made._command).renew(None, NOW))
    assert runs(tmp_path) == 2


def test_a_token_that_was_refused_is_replaced_and_many_who_ask_run_the_command_once(
    tmp_path: Path,
) -> None:
    made = printing(tmp_path, {"token": "abc"})

    async def all_at_once() -> None:
        await asyncio.gather(*(made.renew(None, NOW) for _ in range(5)))

    asyncio.run(all_at_once())
    assert runs(tmp_path) == 1


def test_a_refusal_of_what_was_replaced_already_runs_nothing(tmp_path: Path) -> None:
    made = printing(tmp_path, {"token": "abc"})

    async def play() -> None:
        await made.renew(None, NOW)
        await made.renew("Bearer old", NOW)
        assert runs(tmp_path) == 1
        await made.renew("Bearer abc", NOW)
        assert runs(tmp_path) == 2

    asyncio.run(play())


def test_what_the_command_is_told(tmp_path: Path) -> None:
    script = (
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "assert os.environ['EXTRA'] == '1' and not sys.stdin.read()\n"
        "info['status'] = {'token': json.dumps(info['spec']).replace(' ', '')}\n"
        "print(json.dumps(info))"
    )
    made = plugin(tmp_path, script, cluster={"server": "https://x"})
    asyncio.run(made.renew(None, NOW))
    assert made.header(NOW) == 'Bearer {"interactive":false,"cluster":{"server":"https://x"}}'


def test_a_command_that_fails(tmp_path: Path) -> None:
    said = failure(plugin(tmp_path, "sys.stderr.write('log in\\nfirst'); sys.exit(3)"))
    assert said == f"exec of me: {sys.executable} failed with exit code 3: log in first"


def test_a_command_that_is_not_there() -> None:
    command = Command(
        "no-such-program", (), {}, V1, install_hint="Install it.\n", entry="exec of me"
    )
    said = failure(ExecPlugin(command))
    assert said == "exec of me: cannot run no-such-program: No such file or directory\nInstall it."


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        pytest.param("secret nonsense", "printed no ExecCredential in JSON", id="no JSON"),
        pytest.param(answer(None), "gave no status", id="no status"),
        pytest.param(answer({}), "gave no token and no certificate", id="nothing"),
        pytest.param(answer({"clientKeyData": "K"}), "only certificate or key", id="half a pair"),
        pytest.param(answer({"token": "a\nb"}), "is no token", id="a token of two lines"),
        pytest.param(
            answer({"token": "t"}, "client.authentication.k8s.io/v1beta1"),
            f"asks for {V1}",
            id="another version",
        ),
    ],
)
def test_answers_that_are_none(tmp_path: Path, printed: str, words: str) -> None:
    said = failure(plugin(tmp_path, f"print({printed!r})"))
    assert words in said
    assert "secret" not in said
