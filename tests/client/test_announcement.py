from __future__ import annotations

import pytest

from bayplan.client.announcement import ADDRESS, FINGERPRINT, Announcement

SAID = Announcement("https://10.0.0.7:10259", "ab" * 32, ("a", "b"), "kube-system/bayplan-0")


def test_what_is_written_is_read() -> None:
    assert Announcement.of(SAID.annotations()) == SAID
    alone = Announcement("https://[::1]:1", "00" * 32)
    assert Announcement.of(alone.annotations()) == alone


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({ADDRESS: ""}, id="no address"),
        pytest.param({ADDRESS: "http://10.0.0.7:10251"}, id="without TLS"),
        pytest.param({FINGERPRINT: "abcd"}, id="too short"),
        pytest.param({FINGERPRINT: "zz" * 32}, id="no hexadecimal digits"),
    ],
)
def test_what_cannot_be_used_is_as_good_as_nothing(wrong: dict[str, str]) -> None:
    assert Announcement.of({**SAID.annotations(), **wrong}) is None


def test_a_lease_of_others_says_nothing() -> None:
    assert Announcement.of({}) is None
