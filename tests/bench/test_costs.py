from __future__ import annotations

import os

from bayplan.bench.costs import Cost, cost_of


def test_this_process_has_cost_something() -> None:
    before = cost_of(os.getpid())
    assert before.rss_mb > 1
    assert before.cpu_s > 0
    since = cost_of(os.getpid()).since(before)
    assert since.cpu_s >= 0
    assert since.rss_mb >= before.rss_mb


def test_a_process_that_is_gone() -> None:
    assert cost_of(2**22 + 1) == Cost()
