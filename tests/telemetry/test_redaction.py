"""Secrets stay out of texts, and other texts stay as they are."""

from __future__ import annotations

import pytest

from bayplan.telemetry.redaction import REDACTED, Secret, is_secret_name, redact

KEY = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----"
WEB_TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abcdefgh12345", "abcdefgh12345"),
        ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        (f"got {WEB_TOKEN} from file", WEB_TOKEN),
        (f"cannot load {KEY}", "MHcCAQEE"),
        ("key cut off -----BEGIN PRIVATE KEY-----\nMIIE", "MIIE"),
        ("password=hunter2 user=me", "hunter2"),
        ('{"client-key-data": "c2VjcmV0"}', "c2VjcmV0"),
        ('{"token":"short"}', "short"),
        ("https://h/path?access_token=abc&x=1", "abc"),
    ],
)
def test_secrets_are_blotted_out(text: str, secret: str) -> None:
    shown = redact(text)
    assert secret not in shown
    assert REDACTED in shown


@pytest.mark.parametrize(
    "text",
    [
        "0/3 nodes are available: 3 Insufficient cpu.",
        'node label "key" is missing',
        "the basic form is enough",
        "bearer of bad news",
        "topologyKey: kubernetes.io/hostname",
    ],
)
def test_other_texts_stay(text: str) -> None:
    assert redact(text) == text


def test_a_secret_shows_itself_to_nobody() -> None:
    secret = Secret("s3cret")
    assert "s3cret" not in f"{secret} {secret!r} {[secret]}"
    assert secret.reveal() == "s3cret"
    assert secret == Secret("s3cret")
    assert not Secret("")


@pytest.mark.parametrize("name", ["token", "clientKey", "client-key-data", "API_KEY", "password"])
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["pod", "key", "tokens", "topologyKey"])
def test_names_of_other_things(name: str) -> None:
    assert not is_secret_name(name)
