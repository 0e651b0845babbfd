from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from bayplan.cli import main
from bayplan.cli.compare_arms import print_arms, verdicts


def account(role: str = "stable", **fields: Any) -> dict[str, Any]:
    return {
        "role": role,
        "attempts": 1000,
        "scheduled": 990,
        "unschedulable": 10,
        "errors": 0,
        "p50Seconds": 0.001,
        "p99Seconds": 0.010,
        "utilisation": 0.5,
        "pricePerPod": 0.2,
        **fields,
    }


@pytest.mark.parametrize(
    ("arm", "said"),
    [
        pytest.param({}, [], id="as good"),
        pytest.param({"attempts": 7}, ["too early to say (fewer than 30 attempts)"], id="too few"),
        pytest.param({"errors": 50}, ["more failures (5.0% against 0.0%)"], id="fails"),
        pytest.param({"p99Seconds": 0.02}, ["slower by 100%"], id="slower"),
        pytest.param({"role": "shadow", "p99Seconds": 0.02}, [], id="a shadow binds nothing"),
        pytest.param(
            {"pricePerPod": 0.1, "utilisation": 0.7},
            ["cheaper by 50%", "packs tighter"],
            id="cheaper and tighter",
        ),
        pytest.param({"pricePerPod": None, "utilisation": None}, [], id="nothing known"),
    ],
)
def test_the_verdict(arm: dict[str, Any], said: list[str]) -> None:
    assert list(verdicts(account(**{"role": "canary", **arm}), account())) == said


def test_both_sides_and_what_they_disagree_about(capsys: pytest.CaptureFixture[str]) -> None:
    shown = {
        "profile": "default-scheduler",
        "with": "new",
        "mode": "shadow",
        "percent": 10.0,
        "matchLabels": {},
        "verdicts": {"same": 9, "only_stable": 1},
        "disagreements": [
            {"pod": "a/b", "verdict": "only_stable", "stable": "n", "shadow": "", "why": "full"}
        ],
    }
    accounts = {"default-scheduler": account(), "new": account("shadow", attempts=10)}
    print_arms({"arms": [shown], "accounts": accounts})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        *["PROFILE", "ROLE", "ATTEMPTS", "SCHEDULED", "UNSCHEDULABLE", "FAILURES", "P50", "P99"],
        *["UTILISATION", "PRICE/H", "VERDICT"],
    ]
    assert lines[1].split()[:8] == [
        "default-scheduler",
        "stable",
        "1000",
        "990",
        "10",
        "0",
        "1.00",
        "ms",
    ]
    assert lines[2].endswith("too early to say (fewer than 30 attempts)")
    assert lines[-2:] == [
        "new in the shadow of default-scheduler: 10 pods: 9 alike, 1 that only the profile places",
        "  a/b: n against nowhere: full",
    ]


def test_nothing_to_compare(capsys: pytest.CaptureFixture[str]) -> None:
    print_arms({"arms": [], "accounts": {}})
    assert "no profile has an arm" in capsys.readouterr().out


def test_from_a_file_of_decisions(tmp_path: Path) -> None:
    file = tmp_path / "decisions.jsonl"
    results = ["scheduled"] * 8 + ["unschedulable", "error"]
    lines = [
        {"profile": profile, "result": result, "seconds": seconds}
        for profile, seconds in (("a", 0.001), ("b", 0.002))
        for result in results
    ]
    file.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    result = CliRunner().invoke(main, ["compare-arms", "--decisions", str(file)])
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.output.splitlines()[1:]]
    assert rows == [
        ["a", "10", "8", "1", "1", "1.00", "ms", "1.00", "ms", "-", "-"],
        ["b", "10", "8", "1", "1", "2.00", "ms", "2.00", "ms", "-", "-"],
    ]
