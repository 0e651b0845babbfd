"""What is known of objects, and nothing more kept than that."""

from __future__ import annotations

from bayplan.client.known import Known


def test_objects_come_change_and_go() -> None:
    known = Known()
    known.put("ns", "a", ("u1", "1"))
    known.put("ns", "a", ("u1", "2"))
    known.put("", "node", ("u2", "3"))
    assert len(known) == 2
    assert known.get("ns", "a") == ("u1", "2")
    assert known.get("ns", "b") is known.get("other", "a") is None
    assert list(known.names()) == [("ns", "a"), ("", "node")]
    assert known.drop("ns", "a") == ("u1", "2")
    assert known.drop("ns", "a") is None
    assert list(known.names()) == [("", "node")]
    assert len(known) == 1


def test_names_can_be_gone_through_while_they_change() -> None:
    known = Known()
    for number in range(10):
        known.put("ns", str(number), ("u", "1"))
    for namespace, name in known.names():
        known.drop(namespace, name)
    assert len(known) == 0
