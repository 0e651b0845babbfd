from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bayplan.cli import main
from bayplan.testing import make_node, make_pod

FITS: dict[str, Any] = {
    "id": "fits",
    "nodes": [make_node("a").manifest, make_node("b").taint("dedicated").manifest],
    "pod": make_pod("web").requests(cpu="1").manifest,
}
TOO_BIG = {**FITS, "id": "too big", "pod": make_pod("web").requests(cpu="5").manifest}
BAD = {**FITS, "id": "bad", "pod": None}
EVICTS = {
    **FITS,
    "id": "evicts",
    "preempt": True,
    "nodes": [make_node("a").manifest],
    "pods": [make_pod("small").requests(cpu="3").on("a").manifest],
    "pod": make_pod("web").priority(9).requests(cpu="2").manifest,
}


def run(*args: object, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(main, ["evaluate", *map(str, args)], input=stdin)


def lines(*cases: dict[str, Any]) -> str:
    return "".join(json.dumps(case) + "\n" for case in cases)


def test_a_verdict_per_line_in_the_order_of_the_cases(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(lines(FITS, BAD, TOO_BIG))
    result = run(path)
    assert (result.exit_code, result.stderr) == (0, "")
    fits, bad, too_big = (json.loads(line) for line in result.stdout.splitlines())
    assert fits["id"] == "fits"
    assert fits["filter"]["a"] == {"code": "Success"}
    assert fits["filter"]["b"] == {
        "code": "UnschedulableAndUnresolvable",
        "plugin": "TaintToleration",
        "reasons": ["node(s) had untolerated taint(s)"],
    }
    assert fits["totals"]["a"] == sum(fits["scores"]["a"].values())
    assert fits["best"] == ["a"]
    assert bad == {"id": "bad", "error": "pod: expected an object, got NoneType"}
    assert too_big["message"] == (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s)."
    )


@pytest.mark.parametrize("form", ["plain", "gzipped", "standard input", "with empty lines"])
def test_the_same_however_the_cases_come(tmp_path: Path, form: str) -> None:
    text = lines(FITS, TOO_BIG)
    path = tmp_path / ("cases.jsonl.gz" if form == "gzipped" else "cases.jsonl")
    path.write_bytes(gzip.compress(text.encode()) if form == "gzipped" else text.encode())
    if form == "standard input":
        result = run("-", stdin=text)
    elif form == "with empty lines":
        path.write_text(text.replace("\n", "\n\n \n"))
        result = run(path)
    else:
        result = run(path)
    verdicts = [json.loads(line) for line in result.stdout.splitlines()]
    assert [verdict["id"] for verdict in verdicts] == ["fits", "too big"]


def test_victims() -> None:
    (verdict,) = map(json.loads, run("-", stdin=lines(EVICTS)).stdout.splitlines())
    assert verdict["preempted"] == [{"node": "a", "victims": ["default/small"]}]


def test_a_table_for_people() -> None:
    result = run("-", "--table", stdin=lines(FITS, BAD, TOO_BIG, EVICTS))
    assert result.exit_code == 0
    shown = " ".join(result.stdout.split())
    for words in (
        "=> a ",
        "bad: pod: expected an object, got NoneType",
        "node(s) had untolerated taint(s) (TaintToleration)",
        "=> 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s).",
        "=> room on a by evicting default/small",
    ):
        assert words in shown


def test_words_in_brackets_are_words() -> None:
    """The table library has a markup of its own."""
    odd = {**BAD, "id": "[red]x[/red]", "nodes": [{"metadata": {"name": "[/bold]"}, "spec": 5}]}
    result = run("-", "--table", stdin=lines(odd, {**FITS, "id": "[/nothing]"}))
    assert result.exit_code == 0
    assert "[red]x[/red]: Node [/bold]: nodes[0].spec: expected object, got int" in result.stdout
    assert "[/nothing]" in result.stdout


def test_a_file_that_is_not_there() -> None:
    result = run("gone.jsonl")
    assert result.exit_code == 2
    assert "'gone.jsonl' does not exist" in result.stderr
