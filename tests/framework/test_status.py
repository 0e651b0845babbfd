"""Rejections as values, and verdicts made of bit patterns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.framework.status import SKIP, Code, Rejected, Verdicts, unresolvable


def test_codes_have_kubernetes_names() -> None:
    assert [code.label for code in Code] == [
        "Success",
        "Error",
        "Unschedulable",
        "UnschedulableAndUnresolvable",
        "Wait",
        "Skip",
        "Pending",
    ]


def test_rejections_are_values() -> None:
    assert Rejected("a", "b") == Rejected("a", "b")
    assert hash(Rejected("a", "b")) == hash(Rejected("a", "b"))
    different = [
        Rejected("a"),
        Rejected("b", "a"),
        unresolvable("a", "b"),
        Rejected("a", "b").by("P"),
    ]
    assert Rejected("a", "b") not in different
    assert Rejected("a") != "a"


def test_a_signed_rejection_says_the_same() -> None:
    signed = unresolvable("a", "b").by("Plugin")
    assert (signed.plugin, signed.code, signed.message) == ("Plugin", Code.UNRESOLVABLE, "a, b")


def test_how_they_show() -> None:
    assert repr(unresolvable("a")) == "Rejected('a', code=UnschedulableAndUnresolvable)"
    assert repr(SKIP) == "SKIP"


def say(pattern: int) -> Rejected:
    return Rejected(f"pattern {pattern}")


@pytest.mark.parametrize("highest", [7, 1 << 40], ids=["few patterns", "wide patterns"])
@given(data=st.data())
def test_verdicts_from_bits_like_a_node_at_a_time(highest: int, data: st.DataObject) -> None:
    bits = data.draw(st.lists(st.sampled_from([0, 1, 2, highest]), max_size=8))
    verdicts = Verdicts.from_bits(np.array(bits, np.int64), say)
    said = [verdicts.outcomes[k - 1].message if k else "" for k in verdicts.index.tolist()]
    assert said == [f"pattern {pattern}" if pattern else "" for pattern in bits]
    assert len(verdicts.outcomes) == len({pattern for pattern in bits if pattern}), "each said once"
