"""kubectl bayplan; asked for real in ``tests/e2e/test_insight.py``."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from bayplan.cli.kubectl_bayplan import key_of, main


@pytest.mark.parametrize(
    ("pod", "namespace", "key"),
    [
        ("web", "", "home/web"),
        ("web", "team", "team/web"),
        ("pod/web", "team", "team/web"),
        ("po/web", "", "home/web"),
        ("pods/web", "", "home/web"),
        ("team/web", "", "team/web"),
    ],
)
def test_pods_as_kubectl_users_write_them(pod: str, namespace: str, key: str) -> None:
    assert key_of(pod, namespace, lambda: "home") == key


@pytest.mark.parametrize("command", [["why", "web"], ["queue"], ["top", "--once"]])
def test_without_a_kubeconfig_it_says_what_to_do(command: list[str], tmp_path: Path) -> None:
    missing = str(tmp_path / "kubeconfig")
    done = CliRunner().invoke(main, [*command, "--kubeconfig", missing])
    assert done.exit_code == 1
    assert missing in done.output


def test_a_server_that_is_no_url(tmp_path: Path) -> None:
    config = tmp_path / "kubeconfig"
    config.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
        "users: [{name: u, user: {token: t}}]\n",
        encoding="utf-8",
    )
    done = CliRunner().invoke(main, ["queue", "--kubeconfig", str(config), "--server", "host:1"])
    assert done.exit_code == 1
    assert "write it as https://HOST:10259" in done.output
