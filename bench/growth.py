"""How the cost of a pod grows with the number of nodes: ``python -m bench.growth``, the engine alone, every node looked at.

One JSON line per row and size, each in a process of its own; at the end a plot of them all, ``docs/growth.svg``, both axes
logarithmic. ``CLOCK=cpu`` as in ``bench.engine``. A grey line shows what growing in proportion to the nodes would be.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from bench.engine import times_of
from bench.workloads import workloads

ROWS = ("basic", "spread", "affinity", "antiaffinity", "distinct")
SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
#: Enough for a median; with a thousand pods on a thousand nodes hosts do not run out for anti-affinity.
PODS = 900
#: The first pods of a class make what the next ones find.
WARM_UP = 100

PLOT = Path(__file__).parents[1] / "docs" / "growth.svg"
_COLOURS = ("#1f77b4", "#2ca02c", "#d62728", "#9467bd", "#ff7f0e")
_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 720, 420, 70, 20, 130, 50

#: Microseconds by number of nodes.
Line = Mapping[int, float]


def main() -> None:
    """Run every row at every size and draw the plot."""
    if len(sys.argv) == 4 and sys.argv[1] == "--cell":
        print(_cell(sys.argv[2], int(sys.argv[3])))
        return
    found: dict[str, dict[int, float]] = {row: {} for row in ROWS}
    for row in ROWS:
        for size in SIZES:
            cell = [sys.executable, "-m", "bench.growth", "--cell", row, str(size)]
            answer = subprocess.run(cell, check=True, capture_output=True, text=True)
            found[row][size] = float(answer.stdout)
            line = {"row": row, "nodes": size, "p50_us": found[row][size]}
            print(json.dumps(line), flush=True)
    PLOT.write_text("\n".join(draw(found)) + "\n", encoding="utf-8")


def _cell(row: str, size: int) -> float:
    """The median time of a pod, in microseconds."""
    workload = workloads()[row]
    before = min(workload.before, 5_000) if row != "antiaffinity" else 0
    sized = replace(workload, nodes=size, pods=PODS, before=before, checked=False)
    return round(median(times_of(sized)[WARM_UP:]) * 1e6, 1)


def draw(found: Mapping[str, Line]) -> Iterator[str]:
    """The lines of an SVG."""
    sizes = sorted({size for line in found.values() for size in line})
    highest = max(max(line.values()) for line in found.values())
    lowest = min(min(line.values()) for line in found.values())
    decades = range(math.floor(math.log10(lowest)), math.ceil(math.log10(highest)) + 1)

    def x(size: int) -> float:
        share = math.log(size / sizes[0]) / math.log(sizes[-1] / sizes[0])
        return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(microseconds: float) -> float:
        share = (math.log10(microseconds) - decades[0]) / (decades[-1] - decades[0])
        return round(_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM), 1)

    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="sans-serif" font-size="12">'
    )
    yield f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>'
    for size in sizes:
        yield f'<text x="{x(size)}" y="{_HEIGHT - 30}" text-anchor="middle">{size:,}</text>'
    for decade in decades:
        level = y(10.0**decade)
        yield f'<path d="M{_LEFT} {level}H{_WIDTH - _RIGHT}" stroke="#dddddd"/>'
        yield f'<text x="{_LEFT - 8}" y="{level + 4}" text-anchor="end">{10**decade:,} µs</text>'
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    yield f'<text x="{middle}" y="{_HEIGHT - 10}" text-anchor="middle">nodes</text>'
    start = 10.0 ** decades[0]
    steepest = [size for size in sizes if start * size / sizes[0] <= 10.0 ** decades[-1]]
    points = [(x(size), y(start * size / sizes[0])) for size in steepest]
    yield _path(points, "#aaaaaa", dashed=True)
    yield f'<text x="{points[-1][0] + 6}" y="{points[-1][1] + 4}" fill="#888888">in proportion</text>'
    for (name, line), colour in zip(found.items(), _COLOURS, strict=False):
        points = [(x(size), y(line[size])) for size in sorted(line)]
        yield _path(points, colour)
        yield f'<text x="{points[-1][0] + 6}" y="{points[-1][1] + 4}" fill="{colour}">{name}</text>'
    yield "</svg>"


def _path(points: Sequence[tuple[float, float]], colour: str, *, dashed: bool = False) -> str:
    way = "L".join(f"{x} {y}" for x, y in points)
    dashes = ' stroke-dasharray="4 4"' if dashed else ""
    return f'<path d="M{way}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'


if __name__ == "__main__":
    main()
