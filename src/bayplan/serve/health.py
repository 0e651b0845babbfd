"""Health checks, worded as Kubernetes' components word them.

``/healthz``, ``/livez`` and ``/readyz`` each have a list of checks; ``?verbose`` lists them, ``?exclude=name`` leaves one out,
``/readyz/name`` is one alone. The list is public, so that it names what fails and withholds why, except from those who were
asked who they are. (upstream: apiserver/pkg/server/healthz/healthz.go)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bayplan.telemetry.log import get_logger

_log: Final = get_logger(__name__)

#: What is wrong, or None.
Probe = Callable[[], "str | None"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that should be well."""

    name: str
    probe: Probe
    #: Whether the page fails with it; if not, it is a note for people.
    counts: bool = True

    def failure(self) -> str | None:
        """What is wrong; a probe that raises is wrong itself."""
        try:
            return self.probe()
        except Exception as error:  # noqa: BLE001 - a check must not take the page down
            return f"{type(error).__name__}: {error}"


PING: Final = Check("ping", lambda: None)


@dataclass(frozen=True, slots=True)
class Health:
    """What is asked about at each of the three paths."""

    healthz: Sequence[Check] = ()
    livez: Sequence[Check] = ()
    readyz: Sequence[Check] = ()

    def by_path(self) -> dict[str, Sequence[Check]]:
        """The checks of each path; where there are none, that an answer comes is all."""
        lists = {"/healthz": self.healthz, "/livez": self.livez, "/readyz": self.readyz}
        return {path: checks or (PING,) for path, checks in lists.items()}


def page(
    path: str, checks: Iterable[Check], query: Mapping[str, Sequence[str]], *, reveal: bool = False
) -> tuple[int, str]:
    """Status and text of a path with all its checks; ``reveal`` tells why one fails."""
    name = path.strip("/")
    excluded = set(query.get("exclude", ()))
    unknown = set(excluded)
    lines, failed = [], []
    for check in checks:
        if check.name in excluded:
            unknown.discard(check.name)
            lines.append(f"[+]{check.name} excluded: ok\n")
            continue
        wrong = check.failure()
        if wrong is None:
            lines.append(f"[+]{check.name} ok\n")
            continue
        if not check.counts:
            lines.append(f"warn: {check.name}: {wrong if reveal else 'reason withheld'}\n")
            continue
        failed.append(f"[-]{check.name} failed: {wrong}\n")
        lines.append(failed[-1] if reveal else f"[-]{check.name} failed: reason withheld\n")
    if unknown:
        quoted = ",".join(f'"{each}"' for each in sorted(unknown))
        lines.append(f"warn: some health checks cannot be excluded: no matches for {quoted}\n")
    if failed:
        if debug := _log.v(2):
            debug.info("Health check failed", path=path, failed="".join(failed))
        return 500, f"{''.join(lines)}{name} check failed\n"
    if "verbose" not in query:
        return 200, "ok"
    return 200, f"{''.join(lines)}{name} check passed\n"


def single(check: Check) -> tuple[int, str]:
    """Status and text of one check alone. Who may ask for it may know why it fails."""
    wrong = check.failure()
    return (200, "ok") if wrong is None else (500, f"internal server error: {wrong}\n")
