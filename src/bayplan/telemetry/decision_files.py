"""Decision records in files: written in batches, begun anew when large or old, the oldest deleted; and read again.

Written by ``runtime.decision_log``, read by whoever has questions later. One record is one attempt; the fields are in
docs/logging.md. The suffix of the path says the format:

* ``.jsonl``: a JSON object per line. A line that was torn by a crash is skipped when read, and costs no other.
* ``.parquet``: columns, some ten times smaller (extra ``bayplan[parquet]``). A file can be read once it is complete: until then
  it is called ``….part``, and a crash loses it.

A file that is complete is called ``decisions-20261119T233000.jsonl``, by the time at which it ended.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from bayplan.errors import BayplanError

Record = Mapping[str, Any]

JSON_LINES: Final = ".jsonl"
PARQUET: Final = ".parquet"


class NoParquet(BayplanError):
    """Parquet is asked for and cannot be had."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is kept."""

    #: A file that is larger is complete, and so is one that was begun so long ago.
    file_bytes: int = 100 << 20
    file_age_s: float = 86_400.0
    #: Complete files; the oldest beyond that are deleted.
    files: int = 10


class DecisionFile(Protocol):
    """One of the formats. Nothing here is called from two threads at once."""

    def write(self, records: Sequence[Record], now: float) -> None:
        """Append; ``now``: seconds since 1970. Raises ``OSError``."""

    def close(self, now: float) -> None:
        """Nothing more will come. Raises ``OSError``."""


def open_decisions(path: Path, limits: Limits) -> DecisionFile:
    """The file for a path.

    Raises:
        NoParquet: that extra is not installed.
    """
    if path.suffix == PARQUET:
        return ParquetDecisions(path, limits)
    return JsonDecisions(path, limits)


class JsonDecisions:
    """JSON lines."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self._path = path
        self._limits = limits
        self._file: Any = None
        self._began = 0.0
        self._bytes = 0

    def write(self, records: Sequence[Record], now: float) -> None:
        lines = b"".join(msgspec.json.encode(record) + b"\n" for record in records)
        self._open(now)
        if self._bytes and (
            self._bytes + len(lines) > self._limits.file_bytes
            or now - self._began >= self._limits.file_age_s
        ):
            self._file.close()
            self._file = None
            _complete(self._path, self._path, now, self._limits.files)
            self._open(now)
        self._file.write(lines)
        self._bytes += len(lines)

    def close(self, now: float) -> None:
        del now
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self, now: float) -> None:
        if self._file is not None and self._path.exists():
            return
        if self._file is not None:  # somebody has moved it away
            self._file.close()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("ab", buffering=0)
        self._bytes = self._file.tell()
        # Of a file that another process has begun only the last change is known.
        self._began = self._path.stat().st_mtime if self._bytes else now
        if self._bytes and not _ends_in_newline(self._path):
            self._file.write(b"\n")


class ParquetDecisions:
    """Parquet, a row group per batch."""

    def __init__(self, path: Path, limits: Limits) -> None:
        try:
            import pyarrow.parquet
        except ImportError as error:
            raise NoParquet(
                f"record.file {path}: Parquet needs the extra bayplan[parquet]; or name it .jsonl"
            ) from error
        self._arrow: Any = pyarrow
        self._path = path
        self._part = path.with_name(f"{path.name}.part")
        self._limits = limits
        self._writer: Any = None
        self._began = 0.0

    def write(self, records: Sequence[Record], now: float) -> None:
        if self._writer is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = self._arrow.parquet.ParquetWriter(self._part, self._schema())
            self._began = now
        rows = [_row(record) for record in records]
        self._writer.write_table(self._arrow.Table.from_pylist(rows, schema=self._schema()))
        large = self._part.stat().st_size > self._limits.file_bytes
        if large or now - self._began >= self._limits.file_age_s:
            self.close(now)

    def close(self, now: float) -> None:
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.close()
            _complete(self._part, self._path, now, self._limits.files)

    def _schema(self) -> Any:
        types = {str: "string", int: "int64", float: "float64"}
        arrow = self._arrow
        fields = [(name, arrow.type_for_alias(types[kind])) for name, kind in _COLUMNS.items()]
        return arrow.schema(fields)


#: The columns of a Parquet file: the fields of a record, those with parts as JSON.
_COLUMNS: Final[Mapping[str, type]] = {
    "v": int,
    "time": str,
    "pod": str,
    "uid": str,
    "profile": str,
    "attempt": int,
    "result": str,
    "node": str,
    "message": str,
    "plugins": str,
    "waited": float,
    "deciding": float,
    "seconds": float,
    "nodes": int,
    "feasible": int,
    "score": int,
    "equals": int,
    "scores": str,
    "nominatedNode": str,
    "victims": str,
}
_PARTS: Final = ("plugins", "scores", "victims")


def _row(record: Record) -> dict[str, Any]:
    return {
        name: msgspec.json.encode(value).decode() if name in _PARTS else value
        for name, value in record.items()
        if name in _COLUMNS
    }


# --- files that are complete --------------------------------------------------------------------------------------------


def _complete(file: Path, path: Path, now: float, most: int) -> None:
    """Give a file the name of a complete one, and delete those that are too many."""
    when = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%S")
    begins = f"{path.stem}-{when}"
    of_this_second = [one for one in complete_files(path) if one.name.startswith(begins)]
    name = begins
    if of_this_second:
        # A name that was deleted meanwhile must not come back: it would be taken for the oldest.
        last = of_this_second[-1].name.removesuffix(path.suffix).removeprefix(begins)
        name = f"{begins}.{int(last.removeprefix('.') or 0) + 1:06}"
    os.replace(file, path.with_name(f"{name}{path.suffix}"))
    for old in complete_files(path)[:-most]:
        old.unlink(missing_ok=True)


def complete_files(path: Path) -> list[Path]:
    """Oldest first."""
    found = path.parent.glob(f"{path.stem}-*T*{path.suffix}")
    # "…00.000001.jsonl" is younger than "…00.jsonl".
    return sorted(found, key=lambda file: file.name.removesuffix(path.suffix))


def _ends_in_newline(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


# --- reading ------------------------------------------------------------------------------------------------------------


def read_decisions(path: Path) -> Iterator[dict[str, Any]]:
    """All records that were written to this path, oldest first; what cannot be read is left out.

    Raises:
        NoParquet: the extra is not installed.
    """
    files = complete_files(path)
    if path.suffix == PARQUET:
        for file in files:
            yield from _read_parquet(file)
        return
    for file in [*files, path]:
        if file.exists():
            yield from _read_lines(file)


def _read_lines(file: Path) -> Iterator[dict[str, Any]]:
    with file.open("rb") as lines:
        for line in lines:
            try:
                record = msgspec.json.decode(line)
            except msgspec.MsgspecError:
                continue
            if isinstance(record, dict):
                yield record


def _read_parquet(file: Path) -> Iterator[dict[str, Any]]:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise NoParquet(f"{file}: reading Parquet needs the extra bayplan[parquet]") from error
    arrow: Any = pyarrow
    for row in arrow.parquet.read_table(file).to_pylist():
        record = {name: value for name, value in row.items() if value is not None}
        yield {
            name: msgspec.json.decode(value) if name in _PARTS else value
            for name, value in record.items()
        }
