"""The log: one line per message whatever is in it, in klog's form or as JSON, without secrets."""

from __future__ import annotations

import io
import json
import logging
import warnings
from collections.abc import Iterator
from typing import Literal

import pytest

from bayplan.telemetry import log
from bayplan.telemetry.redaction import Secret


class Written:
    """What has been logged."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    def lines(self) -> list[str]:
        return self.stream.getvalue().splitlines()

    def line(self) -> str:
        (line,) = self.lines()
        return line


@pytest.fixture
def written() -> Iterator[Written]:
    root = logging.getLogger()
    handlers, level, raising = list(root.handlers), root.level, logging.raiseExceptions
    yield Written()
    root.handlers[:] = handlers
    log.set_verbosity(0)
    root.setLevel(level)
    logging.raiseExceptions = raising
    logging.captureWarnings(capture=False)


def set_up(written: Written, fmt: Literal["text", "json"], level: int = 0) -> log.Logger:
    log.setup(level, fmt, written.stream)
    return log.get_logger("bayplan.somewhere")


def test_text_is_in_klog_s_form(written: Written) -> None:
    set_up(written, "text").info("Bound", pod="default/web", attempts=3, first=True, node=None)
    head, _, rest = written.line().partition("] ")
    assert head.startswith("I")
    assert ":" in head.rpartition(" ")[2]
    assert rest == '"Bound" pod="default/web" attempts=3 first=true node=null'


def test_json_has_kubernetes_fields(written: Written) -> None:
    logger = set_up(written, "json")
    logger.info("Bound", pod="default/web")
    logger.error("Failed", ValueError("no"), pod="default/web")
    info, error = map(json.loads, written.lines())
    assert {key: info[key] for key in ("msg", "v", "pod")} == {
        "msg": "Bound",
        "v": 0,
        "pod": "default/web",
    }
    assert info["caller"].startswith("telemetry/test_log.py:")
    assert (error["err"], "v" in error) == ("no", False)


@pytest.mark.parametrize("fmt", ["text", "json"])
def test_no_text_forges_a_line(written: Written, fmt: Literal["text", "json"]) -> None:
    evil = 'x\nI0101 00:00:00.0 1 a.py:1] "All is well"\r\u2028\u202e\x1b[2J'
    set_up(written, fmt).info(evil, pod=evil, labels={evil: [evil]})
    raw = written.stream.getvalue()
    assert raw.count("\n") == 1
    assert raw.rstrip("\n").isprintable()


@pytest.mark.parametrize("fmt", ["text", "json"])
def test_no_secret_is_written(written: Written, fmt: Literal["text", "json"]) -> None:
    logger = set_up(written, fmt)
    logger.info(
        "Asked with Bearer abcdefgh12345",
        token="t0ken",
        given=Secret("s3cret"),
        body=b"binary",
        user={"password": "hunter2"},
    )
    for secret in ("abcdefgh12345", "t0ken", "s3cret", "binary", "hunter2"):
        assert secret not in written.line()


def test_details_cost_nothing_until_they_are_wanted(written: Written) -> None:
    logger = set_up(written, "json", level=2)
    assert logger.v(3) is None
    details = logger.v(2)
    assert details is not None
    details.info("Judged")
    assert json.loads(written.line())["v"] == 2
    log.set_verbosity(3)
    assert logger.v(3) is not None


def test_fields_that_are_bound_come_with_every_message(written: Written) -> None:
    logger = set_up(written, "json").bind(pod="default/web").bind(profile="p")
    logger.warning("Odd", node="n")
    entry = json.loads(written.line())
    assert (entry["pod"], entry["profile"], entry["node"]) == ("default/web", "p", "n")


def test_a_traceback_cannot_pass_for_messages(written: Written) -> None:
    logger = set_up(written, "text")
    try:
        int("first\nI0101 00:00:00.0 1 a.py:1] forged password=hunter2")
    except ValueError as error:
        logger.exception("Broke", error)  # noqa: TRY401 - our own logger wants it
    first, *rest = written.lines()
    assert first.startswith("E")
    assert all(line.startswith("\t") for line in rest[:-1])
    assert rest[-1] == " >"
    assert "hunter2" not in written.stream.getvalue()


def test_a_value_that_cannot_be_shown_costs_nothing(written: Written) -> None:
    class Bad:
        def __str__(self) -> str:
            raise RuntimeError

    set_up(written, "text").info("Odd", value=Bad(), long="x" * 100_000)
    assert "<Bad that cannot be shown: RuntimeError>" in written.line()
    assert len(written.line()) < 10_000


def test_other_libraries_write_in_the_same_form(written: Written) -> None:
    set_up(written, "json")
    logging.getLogger("aiohttp.server").warning("hello %s", "you")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    first, second = map(json.loads, written.lines())
    assert (first["msg"], first["logger"]) == ("hello you", "aiohttp.server")
    assert second["logger"] == "py.warnings"
