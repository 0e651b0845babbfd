from __future__ import annotations

from pathlib import Path

import pytest

from bayplan.errors import BayplanError
from bayplan.providers.source import KnownNode
from bayplan.providers.tables import NodeLabels, Static, Table
from bayplan.testing.virtual_time import run

NODES = (
    KnownNode("a", {"price": "1.5"}, {"watts": "90"}, {}),
    KnownNode("b", {"price": "cheap"}, {}, {}),
    KnownNode("c", {}, {"price": "3"}, {}),
)


def test_labels_and_annotations_that_hold_numbers() -> None:
    source = NodeLabels({"price": "price", "power": "watts"}, lambda: NODES)
    assert run(source.read()) == {"price": {"a": 1.5, "c": 3.0}, "power": {"a": 90.0}}


def test_a_table_of_one_s_own() -> None:
    values = {"a": {"price": 2.0}, "*": {"price": 1.0, "power": 5.0}, "gone": {"price": 9.0}}
    assert run(Static(values, lambda: NODES[:2]).read()) == {
        "price": {"a": 2.0, "b": 1.0},
        "power": {"a": 5.0, "b": 5.0},
    }


def test_a_csv_file(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text("node,price,power\na,1,\n*,2,7\n")
    source = Table(path, lambda: NODES[:2])
    assert run(source.read()) == {"price": {"a": 1.0, "b": 2.0}, "power": {"a": 7.0, "b": 7.0}}
    path.write_text("node,price\nb,4\n")
    assert run(source.read()) == {"price": {"b": 4.0}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("price,node\n", 'line 1: the first column must be called "node"'),
        ("node,price\na,1\nb,much\n", "line 3: price: 'much' is no number"),
        ("", "line 1: the first column"),
        ("node,price\na\n", None),
    ],
)
def test_what_is_no_table(tmp_path: Path, text: str, said: str | None) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(text)
    if said is None:
        assert run(Table(path, lambda: NODES).read()) == {}
        return
    with pytest.raises(BayplanError, match=said):
        run(Table(path, lambda: NODES).read())


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BayplanError, match=r"no\.csv"):
        run(Table(tmp_path / "no.csv", lambda: NODES).read())
