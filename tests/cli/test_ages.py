from __future__ import annotations

import pytest

from bayplan.cli.ages import age_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0.0s"),
        (0.34, "0.3s"),
        (45.9, "45s"),
        (119, "119s"),
        (200, "3m20s"),
        (180, "3m"),
        (1500, "25m"),
        (15_000, "4h10m"),
        (100_000, "27h"),
        (183_600, "2d3h"),
        (1_000_000, "11d"),
    ],
)
def test_as_kubectl_shows_ages(seconds: float, text: str) -> None:
    assert age_text(seconds) == text
