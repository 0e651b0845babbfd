"""Kubeconfigs as people have them: which file counts, which entry wins, and what errors name."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from bayplan.client.access import Address
from bayplan.client.config import in_cluster, load
from bayplan.client.exec_plugin import ExecPlugin
from bayplan.errors import ConfigError, CredentialsError

NOW = 1_000.0


def written(
    path: Path,
    *,
    cluster: dict[str, Any] | None = None,
    user: dict[str, Any] | None = None,
    name: str = "kind",
    **more: Any,
) -> Path:
    """A kubeconfig with one of everything."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [
            {"name": name, "cluster": {"server": "https://10.0.0.1:6443", **(cluster or {})}}
        ],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        **more,
    }
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config"


def header(path: Path) -> str | None:
    return load(path, environment={}).credentials.header(NOW)


# --- which file --------------------------------------------------------------------------------------------------------


def test_a_file_that_is_given_counts_alone(path: Path, tmp_path: Path) -> None:
    other = written(tmp_path / "other", name="other")
    access = load(written(path), environment={"KUBECONFIG": str(other)})
    assert access.server == Address("10.0.0.1", 6443, secure=True)
    assert access.source == f'context "kind" of {path}'


def test_several_files_are_laid_over_each_other_and_the_first_wins(tmp_path: Path) -> None:
    first = written(tmp_path / "a", user={"token": "first"})
    second = written(tmp_path / "b", user={"token": "second"})
    third = written(tmp_path / "c", name="other", cluster={"server": "https://other"})
    environment = {"KUBECONFIG": f"{tmp_path / 'missing'}:{first}::{second}:{third}"}
    access = load(environment=environment)
    assert access.credentials.header(NOW) == "Bearer first"
    assert load(context="other", environment=environment).server.host == "other"


def test_in_the_home_directory_if_nothing_else_is_said(tmp_path: Path) -> None:
    written(tmp_path / ".kube" / "config")
    assert load(environment={"HOME": str(tmp_path)}).server.port == 6443


def test_nothing_at_all_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="give one with --kubeconfig or \\$KUBECONFIG"):
        load(environment={"HOME": str(tmp_path)})


def test_a_server_from_the_command_line_wins(path: Path) -> None:
    access = load(written(path), master="http://localhost:8080", environment={})
    assert str(access.server) == "http://localhost:8080"


def test_another_context_than_the_current_one(path: Path) -> None:
    contexts = [
        {"name": name, "context": {"cluster": "kind", "user": "kind", "namespace": name}}
        for name in ("one", "two")
    ]
    more: dict[str, Any] = {"contexts": contexts, "current-context": "one"}
    written(path, **more)
    assert load(path, environment={}).namespace == "one"
    assert load(path, "two", environment={}).namespace == "two"


# --- whom to be taken for ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        pytest.param({}, "", id="nobody"),
        pytest.param({"token": "abc"}, "Bearer abc", id="a token"),
        pytest.param({"token": 12345}, "Bearer 12345", id="a token of digits"),
        pytest.param({"username": "me", "password": "pw"}, "Basic bWU6cHc=", id="a password"),
        pytest.param(
            {"tokenFile": "token", "token": "old"}, "Bearer fresh", id="file before token"
        ),
        pytest.param(
            {"tokenFile": "gone", "token": "old"}, "Bearer old", id="a file that is not there"
        ),
    ],
)
def test_credentials(path: Path, user: dict[str, Any], expected: str) -> None:
    path.with_name("token").write_text("fresh\n")
    assert header(written(path, user=user)) == expected


def test_a_token_like_a_date_and_values_that_are_null(path: Path) -> None:
    path.write_text(
        "current-context: c\n"
        "preferences: null\n"
        "clusters:\n- name: c\n  cluster: {server: 'https://x', certificate-authority: null}\n"
        "users:\n- name: u\n  user: {token: 2026-01-01, client-key: ~}\n"
        "contexts:\n- name: c\n  context: {cluster: c, user: u}\n"
    )
    assert header(path) == "Bearer 2026-01-01"


def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "token").write_text("abc")
    first = written(tmp_path / "first", name="other")
    second = written(tmp_path / "deep" / "config", user={"tokenFile": "token"})
    access = load(context="kind", environment={"KUBECONFIG": f"{first}:{second}"})
    assert access.credentials.header(NOW) == "Bearer abc"


def test_a_command_is_taken_as_it_is_unless_it_is_a_path(path: Path) -> None:
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "./bin/get-token"}
    access = load(written(path, user={"exec": plugin}), environment={})
    assert isinstance(access.credentials, ExecPlugin)
    assert access.credentials._command.program == str(path.parent / "bin/get-token")
    plugin["command"] = "aws"
    access = load(written(path, user={"exec": plugin}), environment={})
    assert isinstance(access.credentials, ExecPlugin)
    assert access.credentials._command.program == "aws"


def test_a_command_is_told_of_the_cluster_on_request(path: Path) -> None:
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "x",
        "provideClusterInfo": True,
        "env": [{"name": "A", "value": "1"}],
        "args": ["--one"],
    }
    cluster = {
        "certificate-authority-data": base64.b64encode(b"PEM").decode(),
        "extensions": [
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "k"}}
        ],
    }
    access = load(written(path, user={"exec": plugin}, cluster=cluster), environment={})
    assert isinstance(access.credentials, ExecPlugin)
    command = access.credentials._command
    assert command.cluster == {
        "server": "https://10.0.0.1:6443",
        "certificate-authority-data": "UEVN",
        "config": {"audience": "k"},
    }
    assert (command.arguments, command.environment) == (("--one",), {"A": "1"})


# --- what is wrong -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param(
            {"current-context": ""}, 'no current-context; the contexts are "kind"', id="none"
        ),
        pytest.param(
            {"current-context": "prod"}, 'no context "prod"; there are "kind"', id="unknown context"
        ),
        pytest.param({"clusters": []}, 'context "kind" names cluster "kind"', id="no such cluster"),
        pytest.param({"users": []}, 'names user "kind", which is not there', id="no such user"),
        pytest.param(
            {"cluster": {"server": ""}}, 'server of cluster "kind" is not given', id="no server"
        ),
        pytest.param(
            {"cluster": {"server": "ftp://x"}}, "'ftp://x' is no http or https URL", id="bad server"
        ),
        pytest.param(
            {"cluster": {"certificate-authority-data": "???"}},
            'certificate-authority-data of cluster "kind" is not in base64',
            id="no base64",
        ),
        pytest.param(
            {"cluster": {"insecure-skip-tls-verify": True, "certificate-authority": "ca"}},
            "exclude each other",
            id="trusting anybody and somebody",
        ),
        pytest.param(
            {"cluster": {"proxy-url": "socks5://x"}},
            "proxy-url of cluster",
            id="proxy of another kind",
        ),
        pytest.param(
            {"user": {"client-certificate": "x"}},
            "needs a client-key",
            id="certificate without key",
        ),
        pytest.param(
            {"user": {"as": "root"}}, 'as of user "kind" is not supported', id="impersonation"
        ),
        pytest.param(
            {"user": {"auth-provider": {"name": "gcp"}}}, "use an exec plugin", id="auth-provider"
        ),
        pytest.param(
            {
                "user": {
                    "exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1alpha1"}
                }
            },
            "supported are client.authentication.k8s.io/v1 and",
            id="exec of an old version",
        ),
        pytest.param(
            {
                "user": {
                    "exec": {
                        "command": "x",
                        "apiVersion": "client.authentication.k8s.io/v1",
                        "interactiveMode": "Always",
                    }
                }
            },
            "there is nobody to ask",
            id="exec that wants to talk",
        ),
        pytest.param({"user": {"token": ["a"]}}, "users[0].user.token", id="a list for a token"),
        pytest.param({"kind": "Pod"}, "'Pod' is no kubeconfig", id="something else"),
    ],
)
def test_errors_name_the_file_and_the_entry(
    path: Path, changes: dict[str, Any], words: str
) -> None:
    written(path, **changes)
    with pytest.raises(ConfigError) as caught:
        load(path, environment={})
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("users: [\n", "line 2", id="broken YAML"),
        pytest.param(
            "users:\n- token: !!python/object:x.y {}\n", "could not determine", id="a tag"
        ),
        pytest.param("- a\n", "expected `object`", id="a list"),
        pytest.param("", "no current-context", id="empty"),
        pytest.param("\x00", "not YAML", id="no text"),
    ],
)
def test_files_that_are_no_kubeconfig(path: Path, text: str, words: str) -> None:
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(path, environment={})
    assert words.lower() in str(caught.value).lower()
    assert str(path) in str(caught.value)


def test_a_file_that_was_asked_for_has_to_be_there(path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load(path, environment={})


def test_no_error_quotes_a_secret(path: Path) -> None:
    path.write_text("users:\n- name: u\n  user: {token: 'topsecret\n")
    with pytest.raises(ConfigError) as caught:
        load(path, environment={})
    assert "topsecret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param("https://host", "https://host:443", id="https"),
        pytest.param("host:6443", "https://host:6443", id="no scheme"),
        pytest.param("http://[::1]:80/", "http://[::1]:80", id="IPv6"),
        pytest.param("https://h/k8s/clusters/c-1/", "https://h:443/k8s/clusters/c-1", id="prefix"),
    ],
)
def test_addresses(url: str, expected: str) -> None:
    assert str(Address.of(url)) == expected


# --- in a pod ----------------------------------------------------------------------------------------------------------

IN_POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def test_in_a_pod(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one")
    (tmp_path / "namespace").write_text("bay\n")
    access = in_cluster(IN_POD, tmp_path)
    assert str(access.server) == "https://10.96.0.1:443"
    assert access.namespace == "bay"
    assert access.credentials.header(NOW) == "Bearer one"


def test_a_token_in_a_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one")
    credentials = in_cluster(IN_POD, tmp_path).credentials
    assert credentials.header(NOW) == "Bearer one"
    (tmp_path / "token").write_text("two")
    assert credentials.header(NOW + 59) == "Bearer one"
    assert credentials.header(NOW + 60) == "Bearer two"
    (tmp_path / "token").write_text("three")
    assert credentials.header(NOW) == "Bearer three", "a clock that was put back"
    (tmp_path / "token").unlink()
    assert credentials.header(NOW + 1000) == "Bearer three", "what we have may still hold"


def test_a_pod_without_a_token_is_told_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="automountServiceAccountToken"):
        in_cluster(IN_POD, tmp_path)


def test_a_token_file_that_is_empty_is_an_error(path: Path) -> None:
    path.with_name("token").write_text("\n")
    access = load(written(path, user={"tokenFile": "token"}), environment={})
    with pytest.raises(CredentialsError, match=r'tokenFile of user "kind" in .*: no token in it'):
        access.credentials.header(NOW)
