"""Answers read from bytes: whatever pieces they come in, the same comes out; and what is no HTTP is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.client.wire import Answer, Lines, NotHttp

LIMIT = 1_000_000


def read(data: bytes, cuts: list[int] | None = None, *, limit: int = LIMIT) -> Answer:
    """The answer in some bytes, fed in pieces that end at ``cuts``."""
    answer = Answer(limit)
    at = 0
    for cut in [*sorted(cuts or []), len(data)]:
        if cut > at:
            answer.feed(data[at:cut])
            at = cut
    return answer


def test_a_body_of_known_length() -> None:
    answer = read(b"HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello")
    assert (answer.status, bytes(answer.body), answer.is_complete) == (201, b"hello", True)
    assert answer.keep_alive


def test_a_body_in_chunks_with_extensions_and_trailers() -> None:
    answer = read(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nX-Sum: 1\r\n\r\n"
    )
    assert (bytes(answer.body), answer.is_complete, answer.keep_alive) == (b"hello!", True, True)


def test_a_body_until_the_end_is_complete_with_the_end() -> None:
    answer = read(b"HTTP/1.1 200 OK\r\n\r\nall of it")
    assert not answer.is_complete
    assert answer.close()
    assert bytes(answer.body) == b"all of it"


def test_an_end_in_the_middle_of_a_body_does_not_make_it_complete() -> None:
    answer = read(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel")
    assert not answer.close()


@pytest.mark.parametrize(
    ("head", "status"),
    [
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", 204, id="no content"),
        pytest.param(
            b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304, id="unchanged"
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, id="length zero"),
    ],
)
def test_answers_without_a_body(head: bytes, status: int) -> None:
    answer = read(head)
    assert (answer.status, bytes(answer.body), answer.is_complete) == (status, b"", True)


def test_an_answer_to_head_has_no_body_whatever_its_length() -> None:
    answer = Answer(LIMIT)
    answer.begin(without_body=True)
    answer.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
    assert answer.is_complete


def test_continue_is_no_answer_yet() -> None:
    answer = read(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
    assert (answer.status, bytes(answer.body)) == (200, b"x")


@pytest.mark.parametrize(
    ("head", "kept"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nConnection: close\r\n", False, id="said so"),
        pytest.param(b"HTTP/1.1 200 OK\r\nconnection: Close\r\n", False, id="in another case"),
        pytest.param(b"HTTP/1.0 200 OK\r\n", False, id="old"),
        pytest.param(b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n", True, id="old but kept"),
        pytest.param(b"HTTP/1.1 200 OK\r\n", True, id="as usual"),
    ],
)
def test_whether_the_connection_is_kept(head: bytes, kept: bool) -> None:
    assert read(head + b"Content-Length: 0\r\n\r\n").keep_alive is kept


def test_bytes_that_nobody_asked_for_end_the_connection() -> None:
    answer = read(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK\r\n")
    assert (answer.is_complete, answer.keep_alive) == (True, False)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        pytest.param(b"7", 7.0, id="seconds"),
        pytest.param(b"Wed, 21 Oct 2026 07:28:00 GMT", 1.0, id="a date"),
        pytest.param(b"-5", 1.0, id="nonsense"),
    ],
)
def test_retry_after(value: bytes, seconds: float) -> None:
    answer = read(b"HTTP/1.1 429 Slow\r\nRetry-After: " + value + b"\r\nContent-Length: 0\r\n\r\n")
    assert answer.retry_after_s == seconds


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"SSH-2.0-OpenSSH\r\n\r\n", id="another protocol"),
        pytest.param(b"HTTP/1.1 2000 OK\r\n\r\n", id="a status of four digits"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", id="negative length"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 1e3\r\n\r\n", id="length no number"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", id="two lengths"
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", id="negative chunk"
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello", id="0x5 as a size"
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n", id="long chunk"
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\nA: " + b"x" * 70_000, id="head without end"),
    ],
)
def test_what_is_no_http_is_refused(data: bytes) -> None:
    with pytest.raises(NotHttp):
        read(data)


def test_a_body_that_is_too_large_is_refused() -> None:
    with pytest.raises(NotHttp, match="more than 10 bytes"):
        read(b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world", limit=10)


bodies = st.binary(max_size=60)


@st.composite
def answers(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """An answer in some form, and its body."""
    body = draw(bodies)
    if draw(st.booleans()):
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body), body
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(body) - 1)), max_size=4)))
    pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True) if body[a:b]]
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%b0\r\n\r\n" % chunks, body


@given(answers(), st.lists(st.integers(0, 200), max_size=30))
def test_any_pieces_give_the_same_answer(made: tuple[bytes, bytes], cuts: list[int]) -> None:
    data, body = made
    answer = read(data, [min(cut, len(data)) for cut in cuts])
    assert (answer.status, bytes(answer.body), answer.is_complete) == (200, body, True)
    assert answer.keep_alive


@given(st.binary(max_size=300))
def test_no_bytes_do_anything_but_be_refused(data: bytes) -> None:
    answer = Answer(100)
    try:
        answer.feed(b"HTTP/1.1 200 OK\r\n" + data)
        answer.feed(data)
    except NotHttp:
        return
    assert len(answer.body) <= 100


# --- lines -------------------------------------------------------------------------------------------------------------


@given(st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"")), max_size=8), st.data())
def test_any_pieces_give_the_same_lines(lines: list[bytes], data: st.DataObject) -> None:
    text = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    splitter = Lines(100)
    found = []
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        found += splitter.feed(text[start:end])
    assert found == [line for line in lines if line]
    assert splitter.is_between


def test_a_line_that_is_too_long_is_left_out_and_the_next_one_is_read() -> None:
    splitter = Lines(5)
    found = [line for piece in (b"ab", b"cdef", b"gh\ni", b"j\n") for line in splitter.feed(piece)]
    assert (found, splitter.skipped) == ([b"ij"], 1)


def test_a_line_that_was_begun_is_not_given_out() -> None:
    splitter = Lines(100)
    assert splitter.feed(b"whole\nbeg") == [b"whole"]
    assert not splitter.is_between
    assert splitter.feed(b"un\n") == [b"begun"]
