"""A cluster in files: what ``kubectl get nodes,pods,… -A -o json`` (or ``-o yaml``) prints, or a directory of such files.

Read by ``explain``. Everything that a case can hold is decoded; other kinds are counted and left out; an object that
cannot be read is reported with its file and path, and the rest goes on. A case file is a dump, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from bayplan.errors import BayplanError, DecodeError
from bayplan.framework.policy_text import holds_policies
from bayplan.model.decode import UnknownKind, class_of, decode_as
from bayplan.model.meta import KubeObject, ObjectMeta
from bayplan.model.pod import Pod, PodStatus
from bayplan.model.policy import PriorityClass, ResourceQuota
from bayplan.model.scheduling_policy import ConfigMap
from bayplan.model.workloads import Deployment, ReplicaSet, StatefulSet
from bayplan.sim.cases import LISTS
from bayplan.sim.documents import Unreadable, documents

STDIN: Final = "-"
SUFFIXES: Final = (".json", ".yaml", ".yml")

#: What is kept, by class: the field of a case that holds it.
_FIELDS: Final[dict[type, str]] = {kind: field for field, kind in LISTS.items()}


class DumpError(BayplanError):
    """A dump that cannot be used at all."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something in a dump that cannot be read."""

    file: str
    #: From 1.
    document: int
    #: Inside the document; empty where the document itself is at fault.
    path: str
    message: str
    #: The object, ``Pod default/web``, where it is known.
    obj: str = ""

    def __str__(self) -> str:
        where = f"{self.file}, document {self.document}" if self.document > 1 else self.file
        return ": ".join(part for part in (where, self.obj, self.path, self.message) if part)


@dataclass(slots=True)
class Dump:
    """The objects of a cluster."""

    #: By field of a case, then by namespace/name; where an object comes twice, the last one.
    objects: dict[str, dict[str, KubeObject]] = field(
        default_factory=lambda: {name: {} for name in LISTS}
    )
    #: What says why pods do not exist: no cluster keeps these.
    quotas: dict[str, ResourceQuota] = field(default_factory=dict)
    deployments: dict[str, Deployment] = field(default_factory=dict)
    #: How many objects were left out, by kind.
    skipped: Counter[str] = field(default_factory=Counter)
    troubles: list[Trouble] = field(default_factory=list)
    #: The pod to place and the configuration, where the dump is a case.
    case_pod: str = ""
    config: Any = None

    def pods(self) -> dict[str, KubeObject]:
        """Pods by namespace/name."""
        return self.objects["pods"]

    @property
    def priority_classes(self) -> dict[str, PriorityClass]:
        """Priority classes by name."""
        classes = self.objects["priorityclasses"].items()
        return {name: found for name, found in classes if isinstance(found, PriorityClass)}

    def workload(self, key: str) -> Deployment | ReplicaSet | StatefulSet | None:
        """The controller of that name."""
        sets = (self.objects["statefulsets"].get(key), self.objects["replicasets"].get(key))
        for found in (self.deployments.get(key), *sets):
            if isinstance(found, Deployment | ReplicaSet | StatefulSet):
                return found
        return None

    def everything(self) -> Iterator[KubeObject]:
        """All objects that a cluster keeps, in the order of a case: nodes before pods."""
        for by_key in self.objects.values():
            yield from by_key.values()


def read_dump(path: Path, stdin: IO[bytes] | None = None) -> Dump:
    """The objects in a file, in the files of a directory and below it, or (``-``) in ``stdin``.

    Raises:
        DumpError: there is nothing to read.
    """
    dump = Dump()
    for name, data in _sources(path, stdin, dump):
        _Reader(dump, name).read(data)
    return dump


def _sources(path: Path, stdin: IO[bytes] | None, dump: Dump) -> Iterator[tuple[str, bytes]]:
    if str(path) == STDIN and stdin is not None:
        yield "<stdin>", stdin.read()
        return
    if not path.is_dir():
        try:
            yield str(path), path.read_bytes()
        except OSError as error:
            raise DumpError(f"{path}: {error.strerror or error}") from error
        return
    files = sorted(p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
    if not files:
        raise DumpError(f"{path}: no {', '.join(SUFFIXES)} files in it or below it")
    for file in files:
        try:
            yield str(file), file.read_bytes()
        except OSError as error:
            dump.troubles.append(Trouble(str(file), 1, "", error.strerror or str(error)))


class _Reader:
    """Reads one file into a dump."""

    def __init__(self, dump: Dump, file: str) -> None:
        self._dump = dump
        self._file = file
        self._document = 0

    def read(self, data: bytes) -> None:
        try:
            for value in documents(data, yaml_only=self._file.lower().endswith((".yaml", ".yml"))):
                self._document += 1
                self._take(value, "")
        except Unreadable as error:
            self._document += 1
            self._complain("", str(error))

    def _complain(self, path: str, message: str, obj: str = "") -> None:
        trouble = Trouble(self._file, max(self._document, 1), path, message, obj)
        self._dump.troubles.append(trouble)

    def _take(self, value: Any, path: str, version: str = "", kind: str = "") -> None:
        """An object or a list of them; ``version`` and ``kind`` are those of the list around it."""
        if isinstance(value, list):
            self._take_all(value, path)
            return
        if not isinstance(value, Mapping):
            self._complain(path, f"expected an object, got {type(value).__name__}")
            return
        version, kind = value.get("apiVersion") or version, value.get("kind") or kind
        if not isinstance(version, str) or not isinstance(kind, str):
            self._complain(path, "apiVersion and kind have to be text")
        elif kind.endswith("List") and isinstance(value.get("items"), list):
            inner = kind.removesuffix("List")
            self._take_all(value["items"], _join(path, "items"), version if inner else "", inner)
        elif not kind and isinstance(value.get("nodes"), list) and "pod" in value:
            self._take_case(value, path)
        else:
            self._keep(value, path, version, kind)

    def _take_all(self, items: list[Any], path: str, version: str = "", kind: str = "") -> None:
        for i, item in enumerate(items):
            self._take(item, f"{path}[{i}]", version, kind)

    def _take_case(self, case: Mapping[str, Any], path: str) -> None:
        if self._dump.case_pod:
            self._complain(path, "a second case; explain looks at one, so put it into a file alone")
            return
        for name, cls in LISTS.items():
            for i, item in enumerate(case.get(name) or ()):
                self._decode(cls, item, _join(path, f"{name}[{i}]"))
        if not case.get("queued"):
            self._forget_queued()
        pod = self._decode(Pod, case["pod"], _join(path, "pod"))
        if pod is not None:
            self._dump.case_pod = pod.key
        self._dump.config = case.get("config")

    def _forget_queued(self) -> None:
        """Of pods with a promised node a conformance case knows no more than the name: see ``sim.cases``."""
        pods = self._dump.objects["pods"]
        for key, pod in pods.items():
            if isinstance(pod, Pod) and not pod.spec.node_name:
                meta = ObjectMeta(name=pod.name, namespace=pod.namespace, uid=pod.uid)
                status = PodStatus(nominated_node_name=pod.status.nominated_node_name)
                pods[key] = Pod(metadata=meta, status=status)

    def _keep(self, raw: Mapping[str, Any], path: str, version: str, kind: str) -> None:
        try:
            cls = class_of(version, kind)
        except UnknownKind:
            if kind:
                self._dump.skipped[kind] += 1
            else:
                self._complain(path, "an object without a kind")
            return
        self._decode(cls, raw, path)

    def _decode(self, cls: type[KubeObject], raw: Any, path: str) -> KubeObject | None:
        if not isinstance(raw, Mapping):
            self._complain(path, f"expected an object, got {type(raw).__name__}")
            return None
        try:
            obj = decode_as(cls, raw)
        except DecodeError as error:
            self._complain(_join(path, error.path), error.message, error.obj)
            return None
        if not obj.name:
            self._complain(_join(path, "metadata.name"), "an object without a name", obj.kind)
            return None
        field = _FIELDS.get(cls)
        if field is not None and (not isinstance(obj, ConfigMap) or holds_policies(obj)):
            self._dump.objects[field][obj.key] = obj
        elif isinstance(obj, ResourceQuota):
            self._dump.quotas[obj.key] = obj
        elif isinstance(obj, Deployment):
            self._dump.deployments[obj.key] = obj
        else:
            self._dump.skipped[obj.kind] += 1
        return obj


def _join(path: str, more: str) -> str:
    if not path or not more or more.startswith("["):
        return path + more
    return f"{path}.{more}"
