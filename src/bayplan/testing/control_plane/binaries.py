"""Where the programs of a control plane are: kube-apiserver, etcd and what goes with them.

Read by ``plane`` when it starts something, and by test suites that want to skip what cannot run. The order is the one that
users of envtest know: ``KUBEBUILDER_ASSETS`` when it is set, else what ``make kube`` built.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bayplan.errors import BinariesMissing

ETCD = "etcd"
API_SERVER = "kube-apiserver"
SCHEDULER = "kube-scheduler"
CONTROLLER_MANAGER = "kube-controller-manager"
KUBECTL = "kubectl"

#: Without these there is no API to talk to; each of the others is asked for by name.
ESSENTIAL = (ETCD, API_SERVER)

HOW_TO_GET = "run `make kube`, or set KUBEBUILDER_ASSETS to a folder that has them"


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder that holds at least etcd and kube-apiserver."""

    folder: Path

    def has(self, name: str) -> bool:
        """Whether program ``name`` is there and may be run."""
        return _runnable(self.folder / name)

    def path(self, name: str) -> Path:
        """Program ``name``; raises ``BinariesMissing`` where the folder lacks it."""
        if not self.has(name):
            raise BinariesMissing(f"no {name} in {self.folder}: {HOW_TO_GET}")
        return self.folder / name


def find_binaries(
    env: Mapping[str, str] = os.environ, working_folder: Path | None = None
) -> Binaries:
    """The programs to use, or ``BinariesMissing`` with the one line that says how to get them.

    ``.kube/bin`` is looked for in ``working_folder`` (default: the current one) and in the folders above it.
    """
    assets = env.get("KUBEBUILDER_ASSETS", "")
    if assets:
        folder = Path(assets)
        missing = _missing(folder)
        if missing:
            raise BinariesMissing(
                f"KUBEBUILDER_ASSETS is {assets}, where there is no {' and no '.join(missing)}: "
                "name another folder, or unset it and run `make kube`"
            )
        return Binaries(folder)
    start = (working_folder or Path.cwd()).resolve()
    for place in (start, *start.parents):
        folder = place / ".kube" / "bin"
        if not _missing(folder):
            return Binaries(folder)
    raise BinariesMissing(f"no {' and no '.join(ESSENTIAL)}: {HOW_TO_GET}")


def _missing(folder: Path) -> list[str]:
    return [name for name in ESSENTIAL if not _runnable(folder / name)]


def _runnable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
