from __future__ import annotations

import pytest

from bayplan.framework.config.paths import Path, parse, render


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param((), "", id="the document itself"),
        pytest.param(("a", "b"), "a.b", id="fields"),
        pytest.param(("a", 0, "b", 1, 2), "a[0].b[1][2]", id="items"),
    ],
)
def test_paths(path: Path, text: str) -> None:
    assert render(path) == text
    assert parse(text) == path
