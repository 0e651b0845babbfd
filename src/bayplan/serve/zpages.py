"""``/flagz`` and ``/statusz``, as Kubernetes' components serve them: text for people, ``config.k8s.io`` objects for programs.

A program asks with ``Accept: application/json;as=Statusz;v=v1beta1;g=config.k8s.io``; JSON without that, and any other type, is
refused, as there (compared with kube-scheduler 1.36.4 in ``tests/e2e/test_zpages.py``). Put together by ``app``, asked by
``serve.server``. (upstream: apiserver/pkg/server/flagz and statusz; gates ComponentFlagz and ComponentStatusz)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import yaml

from bayplan.serve.refusal import RefusedError

if TYPE_CHECKING:
    from bayplan.clock import Clock

FLAGZ: Final = "/flagz"
STATUSZ: Final = "/statusz"

_COMPONENT: Final = "bayplan"
_GROUP: Final = "config.k8s.io"
#: Those that are deprecated.
_VERSIONS: Final = {"v1alpha1": True, "v1beta1": False}
_STRUCTURED: Final = ("application/json", "application/yaml")
_TEXT: Final = "text/plain"
_PLAIN: Final = ("text/plain", "text/*", "*/*")
_HEAD: Final = (
    "\n{component} {page}\n"
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees "
    "and is for debugging purposes only.\n"
)


class Answer(NamedTuple):
    """A page that can be sent."""

    body: bytes
    content_type: str
    #: Of the header ``Warning``; empty: none.
    warning: str = ""


class _Wanted(NamedTuple):
    """A type that a caller takes."""

    media_type: str
    version: str = ""


@dataclass(frozen=True, slots=True)
class ZPages:
    """What there is to see of one process."""

    clock: Clock
    #: Seconds since 1970.
    started: float
    binary_version: str
    python_version: str
    #: Of Kubernetes, ``1.36``.
    emulation_version: str
    #: Flags and their values; None: the page is switched off.
    flags: Mapping[str, str] | None = None
    #: First segments of what else is served; None: the page is switched off.
    paths: Sequence[str] | None = field(default=None)

    def page(self, path: str, accept: str) -> Answer | None:
        """One of the pages; None: it is none of them, or switched off.

        Raises:
            RefusedError: 406, the caller takes nothing that there is.
        """
        if path == FLAGZ and self.flags is not None:
            return self._answer("Flagz", {"flags": dict(sorted(self.flags.items()))}, accept)
        if path == STATUSZ and self.paths is not None:
            return self._answer("Statusz", self._status(self.paths), accept)
        return None

    def _status(self, paths: Sequence[str]) -> dict[str, Any]:
        started = datetime.fromtimestamp(self.started, UTC)
        return {
            "startTime": started.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "uptimeSeconds": max(0, int(self.clock.now() - self.started)),
            "binaryVersion": self.binary_version,
            "emulationVersion": self.emulation_version,
            "paths": sorted(paths),
        }

    def _answer(self, kind: str, said: dict[str, Any], accept: str) -> Answer:
        wanted = _negotiated(accept, kind)
        if wanted.media_type == _TEXT:
            head = _HEAD.format(component=_COMPONENT, page=kind.lower())
            lines = self._flag_lines(said) if kind == "Flagz" else self._status_lines(said)
            text = head + "".join(f"{line}\n" for line in lines)
            return Answer(text.encode(), f"{_TEXT}; charset=utf-8")
        version = wanted.version
        obj = {
            "kind": kind,
            "apiVersion": f"{_GROUP}/{version}",
            "metadata": {"name": _COMPONENT},
            **said,
        }
        content_type = f"{wanted.media_type};g={_GROUP};v={version};as={kind}"
        warning = ""
        if _VERSIONS[version]:
            page = kind.lower()
            warning = f'299 - "This version of the {page} endpoint is deprecated. Please use a newer version."'
        if wanted.media_type == "application/yaml":
            return Answer(yaml.safe_dump(obj).encode(), content_type, warning)
        return Answer(msgspec.json.encode(obj) + b"\n", content_type, warning)

    def _flag_lines(self, said: dict[str, Any]) -> Iterator[str]:
        return (f"{name}={value}" for name, value in said["flags"].items())

    def _status_lines(self, said: dict[str, Any]) -> Iterator[str]:
        started = datetime.fromtimestamp(self.started, UTC)
        up = said["uptimeSeconds"]
        yield ""
        yield f"Started: {started:%a %b} {started.day:2} {started:%H:%M:%S} UTC {started.year}"
        yield f"Up: {up // 3600} hr {up // 60 % 60:02} min {up % 60:02} sec"
        yield f"Python version: {self.python_version}"
        yield f"Binary version: {self.binary_version}"
        yield f"Emulation version: {self.emulation_version}"
        yield f"Paths: {' '.join(said['paths'])}"


def _negotiated(accept: str, kind: str) -> _Wanted:
    if not accept.strip():
        return _Wanted(_TEXT)
    for media_type, parameters in _accepted(accept):
        if media_type in _PLAIN:
            return _Wanted(_TEXT)
        asked = (parameters.get("as"), parameters.get("g"), parameters.get("v", ""))
        if media_type in _STRUCTURED and asked[:2] == (kind, _GROUP) and asked[2] in _VERSIONS:
            return _Wanted(media_type, asked[2])
    types = ", ".join((*_STRUCTURED, _TEXT))
    raise RefusedError(406, f"only the following media types are accepted: {types}")


def _accepted(accept: str) -> list[tuple[str, dict[str, str]]]:
    """The types of an Accept header with their parameters, the most wanted first."""
    found = []
    for each in accept.split(","):
        media_type, *pairs = (part.strip() for part in each.split(";"))
        parameters = {name: value for name, _, value in (pair.partition("=") for pair in pairs)}
        try:
            quality = float(parameters.get("q", "1"))
        except ValueError:
            quality = 0.0
        found.append((quality, media_type, parameters))
    found.sort(key=lambda one: -one[0])
    return [(media_type, parameters) for _, media_type, parameters in found]
