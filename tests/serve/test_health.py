"""Health pages, word for word as kube-scheduler's."""

from __future__ import annotations

from bayplan.serve.health import Check, Health, page, single

WELL = Check("leaderElection", lambda: None)
ILL = Check("sched-handler-sync", lambda: "handlers are not fully synchronized")


def broken() -> str | None:
    raise OSError("disk on fire")


def test_all_is_well() -> None:
    assert page("/healthz", [WELL], {}) == (200, "ok")


def test_all_is_well_and_somebody_wants_to_see_it() -> None:
    text = "[+]leaderElection ok\nhealthz check passed\n"
    assert page("/healthz", [WELL], {"verbose": [""]}) == (200, text)


def test_a_check_that_fails_is_named_and_no_more() -> None:
    assert page("/readyz", [WELL, ILL], {}) == (
        500,
        "[+]leaderElection ok\n[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n",
    )


def test_who_is_known_learns_why() -> None:
    _, text = page("/readyz", [ILL], {}, reveal=True)
    assert "[-]sched-handler-sync failed: handlers are not fully synchronized\n" in text


def test_a_check_can_be_left_out() -> None:
    query = {"exclude": ["sched-handler-sync"], "verbose": [""]}
    assert page("/readyz", [WELL, ILL], query) == (
        200,
        "[+]leaderElection ok\n[+]sched-handler-sync excluded: ok\nreadyz check passed\n",
    )


def test_leaving_out_what_is_not_there_is_remarked_on() -> None:
    _, text = page("/livez", [WELL], {"exclude": ["b", "a"], "verbose": [""]})
    assert 'warn: some health checks cannot be excluded: no matches for "a","b"\n' in text


def test_a_note_fails_nothing() -> None:
    note = Check("data:load", lambda: "OSError: refused", counts=False)
    assert page("/readyz", [WELL, note], {}) == (200, "ok")
    _, text = page("/readyz", [note], {"verbose": [""]})
    assert text == "warn: data:load: reason withheld\nreadyz check passed\n"
    _, text = page("/readyz", [note], {"verbose": [""]}, reveal=True)
    assert text == "warn: data:load: OSError: refused\nreadyz check passed\n"


def test_one_check_alone_says_why() -> None:
    assert single(WELL) == (200, "ok")
    assert single(ILL) == (500, "internal server error: handlers are not fully synchronized\n")


def test_a_check_that_raises_has_failed() -> None:
    assert single(Check("disk", broken)) == (500, "internal server error: OSError: disk on fire\n")


def test_where_nothing_is_checked_an_answer_is_enough() -> None:
    checks = Health(readyz=[ILL]).by_path()
    assert [check.name for check in checks["/livez"]] == ["ping"]
    assert checks["/readyz"] == [ILL]
