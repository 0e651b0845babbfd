"""Asks kube-scheduler's own code and bayplan about the same odd cases, and shows where they differ.

    python -m bench.differential --cases 5000 --seed 1
    python -m bench.differential --case volumes-odd1-77

Cases come from bench.odd; kube-scheduler's verdicts from tools/verdicts, which is built into .kube/bin when it is older
than its sources (Go on PATH; a few minutes the first time). Exit status 0 only if all verdicts agree.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.conformance.compare import differences_or_errors
from tests.conformance.restless import over_and_over
from tests.conformance.stream import as_events

from bayplan.errors import BayplanError
from bayplan.plugins import default_registry
from bayplan.sim.cases import feed_in_order, verdict_of
from bench.odd.cases import SUITES, make_case

ROOT = Path(__file__).parents[1]
JUDGE = ROOT / ".kube" / "bin" / "verdicts"
#: How often kube-scheduler is asked again where the two differ: some of its answers are luck.
AGAIN = 12
CHUNK = 100
#: How many cases of each suite and outcome are recorded.
EACH = 8
MANNERS = ("once", "stream", "again")

Case = dict[str, Any]
Verdict = dict[str, Any]


def build_judge() -> None:
    """Compile tools/verdicts unless that is done."""
    sources = ROOT / "tools" / "verdicts"
    newest = max(path.stat().st_mtime for path in sources.iterdir())
    if JUDGE.exists() and JUDGE.stat().st_mtime > newest:
        return
    print("building tools/verdicts", file=sys.stderr)
    JUDGE.parent.mkdir(parents=True, exist_ok=True)
    command = ["go", "build", "-mod=readonly", "-trimpath", "-o", str(JUDGE), "."]
    environment = os.environ | {"CGO_ENABLED": "0", "GOWORK": "off"}
    subprocess.run(command, cwd=sources, check=True, env=environment)


def judge(cases: Sequence[Case]) -> list[Verdict]:
    """What kube-scheduler's code says."""
    lines = b"".join(json.dumps(case).encode() + b"\n" for case in cases)
    # Many at a time: on a busy machine most of a case's time is waiting for its informers.
    done = subprocess.run([JUDGE, "--jobs", "8"], input=lines, capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def ours(case: Case, manner: str = "once") -> Verdict:
    """What bayplan says; a surprise is a verdict too."""
    try:
        if manner == "again":
            return over_and_over(case, default_registry())
        feed = as_events if manner == "stream" else feed_in_order
        return verdict_of(case, default_registry(), feed=feed)
    except BayplanError as error:
        return {"id": case["id"], "error": str(error)}
    except Exception as error:  # noqa: BLE001 - that it raised is what is to be reported
        return {
            "id": case["id"],
            "error": f"raised {type(error).__name__}: {error}",
            "raised": True,
        }


@dataclass
class Tally:
    """What a run found."""

    suites: Counter[str] = field(default_factory=Counter)
    #: How the verdicts came out, to see that all ways are travelled.
    ways: Counter[str] = field(default_factory=Counter)
    differing: list[tuple[Case, list[str]]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.suites += other.suites
        self.ways += other.ways
        self.differing += other.differing


def compare(cases: Sequence[Case], manner: str = "once") -> Tally:
    """Ask both about these cases."""
    tally = Tally()
    for case, want in zip(cases, judge(cases), strict=True):
        got = ours(case, manner)
        tally.suites[case["suite"]] += 1
        found = differences_or_errors(want, got)
        way = way_of(want)
        if found and any(not differences_or_errors(other, got) for other in judge([case] * AGAIN)):
            found, way = [], "luck"
        tally.ways[way] += 1
        if found:
            tally.differing.append((case, found))
    return tally


def way_of(verdict: Verdict) -> str:
    """How a verdict came out."""
    if "not found" in verdict.get("error", ""):
        return "unprepared"
    if "error" in verdict:
        return "error"
    for field_name, way in (
        ("scores", "feasible"),
        ("preempted", "preempted"),
        ("preFilter", "preFilter"),
    ):
        if verdict.get(field_name):
            return way
    return "nowhere"


def chunks(arguments: argparse.Namespace) -> Iterator[list[Case]]:
    suites = tuple(arguments.suite or ())
    # Equals are kept in the order in which they came, and in a stream they come in another one.
    apart = arguments.manner != "once"
    for start in range(arguments.start, arguments.start + arguments.cases, CHUNK):
        stop = min(start + CHUNK, arguments.start + arguments.cases)
        yield [
            make_case(arguments.seed, number, suites, apart=apart) for number in range(start, stop)
        ]


def show_case(name: str) -> int:
    """Print one case, and both verdicts."""
    suite, seed, number = name.replace("-odd", "-").rsplit("-", 2)
    case = make_case(int(seed), int(number))
    if case["suite"] != suite:
        case = make_case(int(seed), int(number), (suite,))
    want, got = judge([case])[0], ours(case)
    for part in (case, want, got):
        print(json.dumps(part))
    found = differences_or_errors(want, got)
    print("\n".join(found))
    return bool(found)


def verify() -> int:
    """Have kube-scheduler's code repeat the verdicts that the conformance cases came with: is the judge right?"""
    cases, expected = read_recorded("cases"), read_recorded("expected")
    wrong = [
        want["id"]
        for want, got in zip(expected, judge(cases), strict=True)
        if differences_to_accepted(want, got)
    ]
    print(f"{len(cases)} cases, {len(wrong)} repeated otherwise", *wrong[:10])
    return bool(wrong)


def read_recorded(name: str) -> list[Verdict]:
    """A file of the conformance cases."""
    with gzip.open(ROOT / "tests" / "conformance" / "data" / f"{name}.jsonl.gz") as file:
        return [json.loads(line) for line in file]


def differences_to_accepted(want: Verdict, got: Verdict) -> list[str]:
    """Both list every outcome of preemption that counts."""
    if got.get("preempted") and len(got["preempted"]) > 1:
        got = got | {"preempted": got["preempted"][:1]}
    return differences_or_errors(want, got)


def record(cases: Sequence[Case], path: Path) -> None:
    """Write cases and kube-scheduler's verdicts, as the conformance tests read them.

    A few of every way in which each suite's cases come out; none that luck decides.
    """
    rounds = [judge(cases) for _ in range(3)]
    kept: list[tuple[Case, Verdict]] = []
    seen: Counter[tuple[str, str]] = Counter()
    for case, want, *others in zip(cases, *rounds, strict=True):
        way = way_of(want)
        seen[case["suite"], way] += 1
        if way != "unprepared" and seen[case["suite"], way] <= EACH and others == [want, want]:
            kept.append((case, want))
    for name, lines in zip(("cases", "expected"), zip(*kept, strict=True), strict=True):
        target = path.with_name(f"{path.name}-{name}.jsonl.gz")
        with gzip.GzipFile(target, "wb", mtime=0) as file:
            file.writelines(json.dumps(line).encode() + b"\n" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--start", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--suite", action="append", choices=sorted(SUITES), help="only this one (may be repeated)"
    )
    parser.add_argument(
        "--manner",
        choices=MANNERS,
        default="once",
        help="stream: objects arrive as a disorderly stream of events; again: and bayplan is asked all the time",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--print", type=int, default=10, dest="shown", help="differing cases to print"
    )
    parser.add_argument("--save", type=Path, help="file for the cases that differ")
    parser.add_argument(
        "--verify", action="store_true", help="check kube-scheduler's code with the recorded cases"
    )
    parser.add_argument("--case", help="show one case and both verdicts on it")
    parser.add_argument(
        "--record",
        type=Path,
        help="write the cases and kube-scheduler's verdicts to files of this name",
    )
    arguments = parser.parse_args()
    build_judge()
    if arguments.verify:
        return verify()
    if arguments.case:
        return show_case(arguments.case)
    if arguments.record:
        record([case for chunk in chunks(arguments) for case in chunk], arguments.record)
        return 0
    total = Tally()
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for tally in pool.map(partial(compare, manner=arguments.manner), chunks(arguments)):
            total.add(tally)
    for case, found in total.differing[: arguments.shown]:
        print(f"-- {case['id']}", *(line[:300] for line in found[:4]), sep="\n   ")
    if arguments.save:
        arguments.save.write_text("".join(json.dumps(case) + "\n" for case, _ in total.differing))
    print(f"seed {arguments.seed}: {total.suites.total()} cases, {len(total.differing)} differ")
    print("differing:", dict(Counter(case["suite"] for case, _ in total.differing)))
    print("suites:", dict(total.suites))
    print("ways:", dict(total.ways))
    return bool(total.differing)


if __name__ == "__main__":
    sys.exit(main())
