"""``bayplan evaluate``: verdicts on the cases of a file, one JSON object per line, or a table for people."""

from __future__ import annotations

import gzip
import sys
import traceback
import zlib
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import IO, Any, cast

import click
import msgspec

from bayplan.errors import BayplanError, PluginError
from bayplan.framework.registry import ENTRY_POINTS
from bayplan.model.decode import decode_as, describe
from bayplan.model.pod import Pod
from bayplan.plugins import default_registry
from bayplan.sim.cases import verdict_of


@click.command()
@click.argument(
    "cases", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
)
@click.option("--table", is_flag=True, help="Print a table for people instead of JSON lines.")
def evaluate(cases: Path, *, table: bool) -> None:
    """Print a verdict for each case in CASES (JSON lines, also gzipped; - for stdin).

    A case that cannot be evaluated gives {"id": …, "error": …}, and the rest goes on.
    """
    judge = _Judge()
    verdicts = (judge.verdict(line, number) for number, line in enumerate(_lines(cases), 1))
    if table:
        from bayplan.cli.verdict_table import print_verdicts

        print_verdicts(verdicts)
        return
    encode = msgspec.json.Encoder().encode
    for verdict in verdicts:
        sys.stdout.buffer.write(encode(verdict) + b"\n")


def _lines(path: Path) -> Iterator[bytes]:
    with _open(path) as stream:
        try:
            for line in stream:
                if line.strip():
                    yield line
        except (OSError, EOFError, zlib.error) as error:  # a damaged file; what came before is told
            raise click.ClickException(f"{path}: {error}") from error


def _open(path: Path) -> IO[bytes]:
    if str(path) == "-":
        return sys.stdin.buffer
    return cast("IO[bytes]", gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


class _Judge:
    def __init__(self) -> None:
        self._published = list(entry_points(group=ENTRY_POINTS))
        self._has_failed = False

    def verdict(self, line: bytes, number: int) -> dict[str, Any]:
        """The verdict on a case, or what is wrong with it."""
        name: Any = f"line {number}"
        case: Any = None
        try:
            case = msgspec.json.decode(line)
            if not isinstance(case, dict):
                return {"id": name, "error": "a case is a JSON object"}
            name = case.get("id", name)
            registry = default_registry()  # of its own: a case may bring plugins
            registry.add_entry_points(self._published)
            return verdict_of(case, registry)
        except PluginError as error:
            return {"id": name, "error": f"{describe(decode_as(Pod, case['pod']))}: {error}"}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return {"id": name, "error": f"line {number} is not JSON: {error}"}
        except BayplanError as error:
            return {"id": name, "error": str(error)}
        except Exception as error:  # noqa: BLE001 - a fault of ours in one case costs no other its verdict
            self._tell(error)
            return {"id": name, "error": f"internal error: {type(error).__name__}: {error}"}

    def _tell(self, error: Exception) -> None:
        """Where the first such fault lies; the others are likely to be the same."""
        if not self._has_failed:
            self._has_failed = True
            traceback.print_exception(error)
