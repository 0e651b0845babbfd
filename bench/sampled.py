"""``bayplan`` under a sampler: ``python -m bench.sampled OUT run …``; where its CPU time went is in OUT at the end.

Started by ``bench.stages``. A timer counts the process' CPU time, and every two milliseconds of it the stack is looked at: what
was being done follows from the innermost frame that says so.
"""

from __future__ import annotations

import atexit
import json
import signal
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Final

PERIOD_S: Final = 0.002

#: Parts of paths, and what is done there; the first that is found in a file's path counts. None: whoever called says more.
STAGES: Final[tuple[tuple[str, str | None], ...]] = (
    ("importlib", "starting: imports"),
    ("asyncio/sslproto", "sockets and TLS"),
    ("/ssl.py", "sockets and TLS"),
    ("asyncio/selector_events", "sockets and TLS"),
    ("/selectors.py", "event loop"),
    ("asyncio/", "event loop"),
    ("bayplan/client/decoding", "watch: decode"),
    ("bayplan/client/stream", "watch: decode"),
    ("bayplan/client/informer", "watch: decode"),
    ("bayplan/client/delivery", "watch: decode"),
    ("bayplan/runtime/ingest", "watch: columns and queue"),
    ("bayplan/queueing", "queue"),
    ("bayplan/cycle", "decide"),
    ("bayplan/plugins", "decide"),
    ("bayplan/runtime/reporting", "events and conditions"),
    ("bayplan/runtime/bind", "binding"),
    ("bayplan/runtime/eviction", "evictions"),
    ("bayplan/runtime", "loop"),
    ("bayplan/client", "requests"),
    ("bayplan/app", "starting: assembly, and the rest"),
)
OTHER: Final = "starting: assembly, and the rest"


def stage_of(frame: FrameType | None) -> str:
    """What is being done, by the innermost frame that says so."""
    while frame is not None:
        path = frame.f_code.co_filename
        for part, stage in STAGES:
            if part in path:
                if stage is not None:
                    return stage
                break
        frame = frame.f_back
    return OTHER


def main() -> None:
    """Run bayplan's command line and note, when it ends, what was sampled."""
    out = Path(sys.argv.pop(1))
    samples: Counter[str] = Counter()

    def look(_number: int, frame: FrameType | None) -> None:
        samples[stage_of(frame)] += 1

    def finish() -> None:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        out.write_text(json.dumps(samples), encoding="utf-8")

    atexit.register(finish)
    signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, PERIOD_S, PERIOD_S)
    from bayplan.cli import main as bayplan

    bayplan()


if __name__ == "__main__":
    main()
