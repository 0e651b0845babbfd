"""Nulls and quantities, found by the types of the fields."""

from __future__ import annotations

import msgspec
import pytest

from bayplan.errors import QuantityError
from bayplan.model import shapes
from bayplan.model.decode import KINDS
from bayplan.model.meta import KubeObject, Record
from bayplan.model.namespace import Namespace
from bayplan.model.quantity import Quantity, ResourceList


@pytest.mark.parametrize("cls", KINDS, ids=lambda cls: cls.__name__)
def test_every_kind_can_be_all_null(cls: type[KubeObject]) -> None:
    tree = {field.encode_name: None for field in msgspec.structs.fields(cls)}
    assert msgspec.convert(shapes.without_nulls(tree, shapes.type_of(cls)), cls) == cls()


def test_no_quantities_no_check() -> None:
    assert shapes.quantity_check(Namespace) is None


class Bag(Record, frozen=True):
    """A few quantities."""

    size: Quantity | None = None
    amounts: ResourceList = msgspec.field(default_factory=dict)


class Shelf(Record, frozen=True):
    """Quantities in all places."""

    bag: Bag | None = None
    bags: tuple[Bag, ...] = ()


@pytest.mark.parametrize(
    ("shelf", "path"),
    [
        pytest.param(Shelf(bag=Bag(size="")), "bag.size", id="an empty one"),
        pytest.param(Shelf(bag=Bag(size="1x")), "bag.size", id="a field"),
        pytest.param(Shelf(bag=Bag(amounts={"a": 1, "b": "x"})), "bag.amounts.b", id="a map"),
        pytest.param(Shelf(bags=(Bag(), Bag(size="x"))), "bags[1].size", id="a list"),
    ],
)
def test_bad_quantities(shelf: Shelf, path: str) -> None:
    check = shapes.quantity_check(Shelf)
    assert check is not None
    with pytest.raises(QuantityError):
        check(shelf)
    error = shapes.bad_quantity(shelf)
    assert error is not None
    assert error.path == path


def test_good_quantities() -> None:
    shelf = Shelf(bag=Bag(size="1"), bags=(Bag(size=0, amounts={"a": 0.5}),))
    check = shapes.quantity_check(Shelf)
    assert check is not None
    check(shelf)
    assert shapes.bad_quantity(shelf) is None


def test_nulls_become_zeros() -> None:
    tree = {
        "bag": {"size": None, "amounts": {"a": None, "b": "1"}, "unknown": None},
        "bags": [None, {"amounts": None}],
    }
    clean = shapes.without_nulls(tree, shapes.type_of(Shelf))
    assert clean == {"bag": {"amounts": {"a": "0", "b": "1"}}, "bags": [{}, {}]}


def test_finding_nulls() -> None:
    assert shapes.has_null({"a": [{"b": None}]})
    assert not shapes.has_null({"a": [{"b": 0}], "c": ""})
