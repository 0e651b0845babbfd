"""The files that a configuration comes from, and whether they have changed.

A change counts once it has stood still for one look: somebody who is half-way through writing a file is given time.
Asked by ``reloader`` now and then; a look costs some microseconds per file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

#: Name, time, size and number of each file.
Fingerprint = frozenset[tuple[str, int, int, int]]


class Sources:
    """Files and directories of plugins."""

    def __init__(self, files: Iterable[Path], directories: Iterable[Path] = ()) -> None:
        self.files = frozenset(files)
        self.directories = frozenset(directories)

    def __or__(self, other: Sources) -> Sources:
        return Sources(self.files | other.files, self.directories | other.directories)

    def fingerprint(self) -> Fingerprint:
        """What the files are now; symbolic links are followed, as ConfigMaps are mounted by them."""
        return frozenset(_looked_at(path) for path in {*self.files, *self._plugin_files()})

    def _plugin_files(self) -> Iterator[Path]:
        for directory in self.directories:
            yield from directory.glob("*.py")
            for package in directory.glob("*/__init__.py"):
                yield from package.parent.rglob("*.py")


class Watch:
    """Looks again and again."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        #: As they were when they were last taken over, or refused.
        self._known = sources.fingerprint()
        #: As they were at the last look, where that was something new.
        self._seen: Fingerprint | None = None

    def know(self, sources: Sources, fingerprint: Fingerprint) -> None:
        """These files have been read as they were then."""
        self.sources, self._known, self._seen = sources, fingerprint, None

    def changed(self) -> bool:
        """Whether there is something new that stands still."""
        found = self.sources.fingerprint()
        if found == self._known:
            self._seen = None
            return False
        stands_still, self._seen = found == self._seen, found
        return stands_still


def _looked_at(path: Path) -> tuple[str, int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return (str(path), 0, 0, 0)
    return (str(path), found.st_mtime_ns, found.st_size, found.st_ino)
