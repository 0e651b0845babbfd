"""Keeping objects on disk: a file of JSON lines that is read at start and appended to with every write.

::

    {"format": 1}
    {"shelf": "pods", "object": {...}}
    {"shelf": "pods", "gone": "default/web", "version": 17}

At start, and when it has grown to several times what is alive, the file is written anew with one line per object. A last
line that is cut off, as a crash leaves it, is dropped; any other damage is an error that names the line. What is written
has reached the operating system when the client has its answer, so it survives this process, though not a power cut.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import msgspec

from bayplan.embedded.objects import Object, decode, encode, key_of, metadata
from bayplan.errors import DecodeError

if TYPE_CHECKING:
    from bayplan.embedded.entries import Entry
    from bayplan.embedded.shelves import Shelves

_FORMAT: Final = 1
_NAME: Final = "objects.jsonl"
#: Lines beyond those of living objects before the file is written anew.
_SLACK: Final = 20_000


class State:
    """The file of one store."""

    def __init__(self, folder: Path, shelves: Shelves) -> None:
        """Load what the file holds, and append to it from now on.

        Raises:
            DecodeError: the file is damaged, or in use by another process.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / _NAME
        self._shelves = shelves
        self._lock = _lock(folder / "lock")
        self._lines = 0
        try:
            alive, version = _read(self.path)
        except DecodeError:
            self._lock.close()
            raise
        for (name, _), obj in alive.items():
            shelves.load(name, obj)
        # A version that was given out is never given out again, even if its object is gone.
        shelves.version = max(shelves.version, version)
        shelves.forget()
        self._file = self._rewrite()
        shelves.journal = self.write

    def close(self) -> None:
        """Let another process have it."""
        self._shelves.journal = None
        self._file.close()
        self._lock.close()

    def write(self, shelf: str, entry: Entry, gone: bool) -> None:  # noqa: FBT001 - see Journal
        """Append one write."""
        if gone:
            line = encode({"shelf": shelf, "gone": entry.key, "version": entry.version})
        else:
            line = _line(shelf, entry)
        self._file.write(line + b"\n")
        self._file.flush()
        self._lines += 1
        if self._lines > _SLACK and self._lines > 4 * sum(len(one) for one in self._shelves):
            self._file.close()
            self._file = self._rewrite(but=(shelf, entry, gone))

    def _rewrite(self, but: tuple[str, Entry, bool] | None = None) -> IO[bytes]:
        """Write the file anew and open it for appending; ``but`` is a write that no shelf has seen yet."""
        draft = self.path.with_suffix(".new")
        with draft.open("wb") as file:
            file.write(encode({"format": _FORMAT, "version": self._shelves.version}) + b"\n")
            for shelf in self._shelves:
                file.writelines(_line(shelf.name, one) + b"\n" for one in shelf.entries.values())
            if but is not None:
                name, entry, gone = but
                last: Any = {"shelf": name, "gone": entry.key, "version": entry.version}
                file.write((encode(last) if gone else _line(name, entry)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.path)
        self._lines = 0
        return self.path.open("ab")


def _line(shelf: str, entry: Entry) -> bytes:
    return b'{"shelf":' + encode(shelf) + b',"object":' + entry.raw + b"}"


def _lock(path: Path) -> IO[bytes]:
    file = path.open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise DecodeError(
            "another process keeps its objects here", path=str(path.parent)
        ) from error
    return file


def _read(path: Path) -> tuple[dict[tuple[str, str], Object], int]:
    """The objects that are alive at the end of a file, by shelf and key, and the last version.

    Raises:
        DecodeError: a line cannot be read.
    """
    alive: dict[tuple[str, str], Object] = {}
    if not path.exists():
        return alive, 0
    lines = path.read_bytes().split(b"\n")
    # What a complete line leaves behind its end is empty; anything else was cut off.
    lines.pop()
    version = 0
    for number, raw in enumerate(lines, 1):
        try:
            line = decode(raw)
            if number == 1:
                version = _checked_head(line)
                continue
            shelf = line["shelf"]
            if "gone" in line:
                alive.pop((shelf, line["gone"]), None)
                version = max(version, int(line["version"]))
                continue
            meta = metadata(line["object"])
            key = key_of(meta.get("namespace") or "", meta["name"])
            # Written again: it goes to the end, as versions do.
            alive.pop((shelf, key), None)
            alive[shelf, key] = line["object"]
        except (msgspec.DecodeError, KeyError, TypeError, ValueError) as error:
            where = f"{path}, line {number}"
            raise DecodeError(
                f"cannot be read ({error}); delete the file to begin anew", path=where
            ) from error
    return alive, version


def _checked_head(line: Object) -> int:
    """The version in a first line."""
    if line.get("format") != _FORMAT:
        raise ValueError(f"format {line.get('format')}, wanted {_FORMAT}")
    return int(line["version"])
