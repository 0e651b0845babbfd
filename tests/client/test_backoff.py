"""Waits that grow, and begin again after a quiet time."""

from __future__ import annotations

import random

from bayplan.client.backoff import Backoff, Pace


def test_waits_double_up_to_the_longest() -> None:
    backoff = Backoff(random.Random(1), Pace(jitter=0.0))
    assert [backoff.next(0.0) for _ in range(8)] == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]


def test_after_two_quiet_minutes_it_begins_again() -> None:
    backoff = Backoff(random.Random(1), Pace(jitter=0.0))
    assert [backoff.next(now) for now in (0.0, 100.0, 219.0, 340.0)] == [0.8, 1.6, 3.2, 0.8]


def test_a_wait_is_stretched_by_up_to_its_length() -> None:
    waits = [Backoff(random.Random(seed)).next(0.0) for seed in range(50)]
    assert all(0.8 <= wait <= 1.6 for wait in waits)
    assert len(set(waits)) == 50


def test_once_things_work_it_begins_again() -> None:
    backoff = Backoff(random.Random(1), Pace(jitter=0.0))
    backoff.next(0.0)
    backoff.reset()
    assert backoff.next(1.0) == 0.8
