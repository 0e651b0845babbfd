"""Texts of Kubernetes events, word for word, and never longer than the API server takes."""

from __future__ import annotations

import pytest

from bayplan.telemetry import events
from bayplan.telemetry.events import EventText


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            events.scheduled("ns", "p", "n"),
            EventText("Normal", "Scheduled", "Binding", "Successfully assigned ns/p to n"),
        ),
        (
            events.failed_scheduling("0/1 nodes are available: 1 Too many pods."),
            EventText(
                "Warning",
                "FailedScheduling",
                "Scheduling",
                "0/1 nodes are available: 1 Too many pods.",
            ),
        ),
        (
            events.skipped_deleting("ns", "p"),
            EventText(
                "Warning",
                "FailedScheduling",
                "Scheduling",
                "skip schedule deleting pod: ns/p",
            ),
        ),
        (
            events.preempted("Preempted by pod 1 on node n"),
            EventText("Normal", "Preempted", "Preempting", "Preempted by pod 1 on node n"),
        ),
        (
            events.leading("me"),
            EventText("Normal", "LeaderElection", "LeaderElection", "me became leader"),
        ),
        (
            events.by_plugin("Odd", "well", warning=True),
            EventText("Warning", "Odd", "Scheduling", "well"),
        ),
    ],
    ids=lambda value: value.reason if isinstance(value, EventText) else "",
)
def test_texts(text: EventText, expected: EventText) -> None:
    assert text == expected


def test_a_note_that_just_fits_stays() -> None:
    assert events.truncate("x" * 1024) == "x" * 1024


def test_a_longer_one_is_cut_with_a_mark() -> None:
    cut = events.truncate("x" * 1025)
    assert (len(cut), cut[-5:]) == (1024, "x ...")


@pytest.mark.parametrize("extra", range(4))
def test_no_character_is_cut_in_half(extra: int) -> None:
    cut = events.truncate("x" * extra + "字" * 400)
    assert len(cut.encode()) <= 1024
    assert set(cut) <= set("x字 .")
