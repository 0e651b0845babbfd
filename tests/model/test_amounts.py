from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.model.amounts import quantity_text, rounded_up
from bayplan.model.quantity import milli_value, value

resources = st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "hugepages-2Mi"])
amounts = st.integers(0, 2**63 - 1)


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 500, "500m"),
        ("cpu", 2000, "2"),
        ("memory", 1 << 30, "1Gi"),
        ("memory", 1536 << 20, "1536Mi"),
        ("memory", 1000, "1000"),
        ("memory", 0, "0"),
        ("nvidia.com/gpu", 1024, "1024"),
    ],
)
def test_quantities_as_people_write_them(resource: str, amount: int, text: str) -> None:
    assert quantity_text(resource, amount) == text


@given(resources, amounts)
def test_a_quantity_says_exactly_the_amount(resource: str, amount: int) -> None:
    read = milli_value if resource == "cpu" else value
    assert read(quantity_text(resource, amount)) == amount


@given(resources, amounts, amounts)
def test_rounding_goes_up_and_not_too_far(resource: str, one: int, other: int) -> None:
    amount, most = sorted([one, other])
    assert amount <= rounded_up(resource, amount, most) <= most


def test_rounding_keeps_few_digits() -> None:
    assert quantity_text("memory", rounded_up("memory", 300_000_001, 1 << 40)) == "287Mi"
