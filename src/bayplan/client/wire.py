"""HTTP/1.1 answers, read from bytes in pieces of any size. Pure: no socket, no waiting.

Fed by ``client.connection`` with whatever arrives; asked by it for the status, the few header fields that matter, and the
body, which a stream takes away piece by piece.
"""

from __future__ import annotations

import re
from typing import Final

#: The most that the lines before a body, or between its chunks, may take up.
_HEAD_LIMIT: Final = 64 * 1024
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.([01]) (\d{3})(?: [^\r\n]*)?\r\n")
_SIZE_LINE: Final = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?", re.DOTALL)
_END_OF_HEAD: Final = b"\r\n\r\n"


class NotHttp(ValueError):
    """What arrived is no answer in HTTP, or too large a one."""


# What comes next. Plain numbers: looking up the members of an enum took a fifth of the time of a short answer.
_HEAD: Final = 0
_LENGTH: Final = 1
_CHUNK_SIZE: Final = 2
_CHUNK: Final = 3
_CHUNK_END: Final = 4
_TRAILER: Final = 5
_UNTIL_CLOSE: Final = 6
_NOTHING: Final = 7


class Answer:
    """One answer at a time; ``begin`` makes ready for the next."""

    __slots__ = (
        "_at",
        "_body_limit",
        "_left",
        "_pending",
        "_without_body",
        "body",
        "keep_alive",
        "retry_after_s",
        "status",
    )

    def __init__(self, body_limit: int) -> None:
        self._body_limit = body_limit
        self._pending = b""
        self.begin()

    def begin(self, *, without_body: bool = False) -> None:
        """Make ready for an answer; one to HEAD or CONNECT has no body whatever its fields say."""
        self._at = _HEAD
        self._left = 0
        self._without_body = without_body
        #: 0 until the head is there.
        self.status = 0
        self.body = bytearray()
        #: Whether the connection can be used again.
        self.keep_alive = True
        self.retry_after_s = 0.0

    @property
    def has_begun(self) -> bool:
        """Whether anything has come."""
        return bool(self.status or self._pending)

    @property
    def is_complete(self) -> bool:
        return self._at == _NOTHING

    def take(self) -> bytes:
        """The body as far as it has come and was not taken yet."""
        piece = bytes(self.body)
        self.body.clear()
        return piece

    def close(self) -> bool:
        """The other side has closed. Whether the answer is complete with that."""
        if self._at == _UNTIL_CLOSE:
            self._at = _NOTHING
        self.keep_alive = False
        return self.is_complete

    def feed(self, data: bytes) -> None:
        """Read on; raises ``NotHttp``."""
        if self._pending:
            data = self._pending + data
            self._pending = b""
        at, end = 0, len(data)
        while at < end:
            if self._at == _LENGTH or self._at == _CHUNK:
                size = min(self._left, end - at)
                self._add(data[at : at + size])
                at += size
                self._left -= size
                if not self._left:
                    self._at = _NOTHING if self._at == _LENGTH else _CHUNK_END
            elif self._at == _UNTIL_CLOSE:
                self._add(data[at:])
                return
            elif self._at == _NOTHING:
                # Nobody asked for more: whatever this is, the next answer would be misread.
                self.keep_alive = False
                return
            else:
                after = self._line_or_head(data, at)
                if not after:
                    if end - at > _HEAD_LIMIT:
                        raise NotHttp("the header fields are too long")
                    self._pending = data[at:]
                    return
                at = after

    def _line_or_head(self, data: bytes, at: int) -> int:
        """Read a head, or a line between chunks; where it ends, 0 if its end has not come yet."""
        if self._at == _HEAD:
            stop = data.find(_END_OF_HEAD, at)
            if stop < 0:
                return 0
            self._read_head(data[at : stop + 2])
            return stop + 4
        stop = data.find(b"\r\n", at)
        if stop < 0:
            return 0
        line = data[at:stop]
        if self._at == _CHUNK_SIZE:
            found = _SIZE_LINE.fullmatch(line)
            if found is None:
                raise NotHttp(f"a chunk of size {line[:20]!r}")
            self._left = int(found[1], 16)
            self._at = _CHUNK if self._left else _TRAILER
        elif self._at == _CHUNK_END:
            if line:
                raise NotHttp("a chunk that is longer than it says")
            self._at = _CHUNK_SIZE
        elif not line:  # the empty line after the trailers
            self._at = _NOTHING
        return stop + 2

    def _read_head(self, head: bytes) -> None:
        found = _STATUS_LINE.match(head)
        if found is None:
            raise NotHttp(f"an answer that begins with {head[:20]!r}")
        self.status = int(found[2])
        if self.status < 200:
            self.status = 0  # "continue" and the like: the answer proper follows
            return
        # Most answers have eight fields, of which at most four are read: searching is cheaper than splitting.
        fields = head.lower()
        self.keep_alive = found[1] == b"1"
        if b"\r\nconnection:" in fields:
            connection = _field(fields, b"\r\nconnection:")
            self.keep_alive |= b"keep-alive" in connection
            self.keep_alive &= b"close" not in connection
        if b"\r\nretry-after:" in fields:
            asked = _field(fields, b"\r\nretry-after:")
            # The other form is a date; no API server sends it.
            self.retry_after_s = float(asked) if asked.isdigit() and len(asked) < 10 else 1.0
        self._left = 0
        if self._without_body or self.status in (204, 304):
            self._at = _NOTHING
        elif b"chunked" in _field(fields, b"\r\ntransfer-encoding:"):
            self._at = _CHUNK_SIZE
        elif b"\r\ncontent-length:" in fields:
            self._left = _length(fields)
            self._at = _LENGTH if self._left else _NOTHING
        else:
            self.keep_alive = False
            self._at = _UNTIL_CLOSE

    def _add(self, piece: bytes) -> None:
        self.body += piece
        if len(self.body) > self._body_limit:
            raise NotHttp(f"a body of more than {self._body_limit} bytes")


def _field(fields: bytes, name: bytes) -> bytes:
    """The value of a field, empty if there is none."""
    at = fields.find(name)
    if at < 0:
        return b""
    at += len(name)
    return fields[at : fields.index(b"\r\n", at)].strip()


def _length(fields: bytes) -> int:
    name = b"\r\ncontent-length:"
    value = _field(fields, name)
    said_once = fields.count(name) == 1
    if not (said_once and value.isdigit() and len(value) < 16):
        raise NotHttp(f"a body of length {value[:20]!r}")
    return int(value)


class Lines:
    """A stream of bytes cut into lines; one that is too long is left out."""

    __slots__ = ("_begun", "_limit", "_skipping", "skipped")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._begun = bytearray()
        self._skipping = False
        #: Lines that were too long.
        self.skipped = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are complete now, without empty ones."""
        if not self._begun and not self._skipping and data.endswith(b"\n"):
            found = data.split(b"\n")  # mostly an event is a chunk is a read
        else:
            *found, rest = data.split(b"\n")
            if found:
                found[0] = bytes(self._begun) + found[0]
                self._begun.clear()
                if self._skipping:
                    del found[0]
                    self._skipping = False
            if not self._skipping:
                self._begun += rest
                if len(self._begun) > self._limit:
                    self._begun.clear()
                    self._skipping = True
                    self.skipped += 1
        return [line for line in found if line]

    @property
    def is_between(self) -> bool:
        """Whether the last line is complete."""
        return not self._begun and not self._skipping
