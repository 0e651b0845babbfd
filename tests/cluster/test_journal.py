from __future__ import annotations

import pytest

from bayplan.cluster import journal as module
from bayplan.cluster.changes import CLUSTER_WIDE, ROW_LOCAL, Reads
from bayplan.cluster.journal import Journal


def test_what_came_since_a_position() -> None:
    journal = Journal()
    journal.row_changed(1, Reads.LABELS)
    position = journal.end
    journal.row_changed(2, Reads.USAGE)
    journal.row_changed(1, Reads.TAINTS)
    assert journal.since(position) == ([2, 1], [Reads.USAGE, Reads.TAINTS])
    assert journal.since(journal.end) == ([], [])


def test_positions_survive_trimming_and_one_that_is_too_old_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "KEEP", 4)
    journal = Journal()
    start = journal.end
    for row in range(8):
        journal.row_changed(row, Reads.USAGE)
    recent = journal.end
    journal.row_changed(8, Reads.USAGE)
    assert journal.since(start) is None
    assert journal.since(recent) == ([8], [Reads.USAGE])
    assert journal.end == recent + 1


def test_topics_have_versions_of_their_own() -> None:
    journal = Journal()
    both = Reads.STORAGE | Reads.NAMESPACES
    before = journal.versions(both)
    journal.topic_changed(Reads.NAMESPACES | Reads.LABELS)
    after = journal.versions(both)
    assert len(after) == 2
    assert after != before
    assert journal.versions(Reads.STORAGE) == (0,)
    assert journal.versions(Reads.LABELS) == (), "what lives in a row is no topic"


def test_every_kind_of_change_is_of_a_row_or_cluster_wide_or_of_the_attempt() -> None:
    for kind in Reads:
        places = bool(kind & ROW_LOCAL), bool(kind & CLUSTER_WIDE), kind is Reads.FEASIBLE
        assert sum(places) == 1, kind
