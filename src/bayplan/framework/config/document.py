"""A YAML or JSON file as plain values that remember their lines.

Reads the events of libyaml one by one instead of letting PyYAML build objects: that gives a line to every value, the
meaning that Kubernetes gives to words (``scalars``), and a bound on depth and size before anything large exists. Fed
with text by ``load``; the values go to ``decode``, the lines to ``report``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from bayplan.errors import Problem
from bayplan.framework.config.paths import Path, render
from bayplan.framework.config.scalars import resolve, resolve_tagged

MAX_BYTES: Final = 1 << 20
#: Values in one file, those that an alias stands for counted each time: a bomb is refused, not built.
MAX_VALUES: Final = 100_000
MAX_DEPTH: Final = 100

_COLLECTION_TAGS: Final = (None, "!", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map")

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(slots=True)
class Node:
    """One value of a document. Aliases share it, so a tree of these may be smaller than what it says."""

    value: Any
    line: int
    #: How many values it stands for, with aliases written out.
    size: int = 1
    #: The line where each entry begins (that of its key, in a mapping), and the entry.
    children: dict[str | int, tuple[int, Node]] = field(default_factory=dict)
    #: The text of a scalar, for use as a key: ``y: 1`` is about "y", whatever ``y`` means as a value.
    text: str | None = None

    def line_of(self, path: Path) -> int:
        """The line of ``path``, or of the last part of it that is written down."""
        node, line = self, self.line
        for part in path:
            if part not in node.children:
                break
            line, node = node.children[part]
        return line


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come yet."""

    node: Node
    anchor: str | None
    #: In a mapping: the key that waits for its value, with its line.
    key: tuple[str, int] | None = None
    #: Values of ``<<``, in the order written.
    merges: list[Node] = field(default_factory=list)


class _Unreadable(Exception):
    def __init__(self, problem: Problem) -> None:
        self.problem = problem


def read_documents(text: str) -> tuple[list[Node], list[Problem]]:
    """The documents of a file that say anything, and what is wrong with the YAML itself."""
    reader = _Reader()
    try:
        return list(reader.documents(text)), reader.problems
    except _Unreadable as stop:
        return [], [*reader.problems, stop.problem]


class _Reader:
    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._open: list[_Open] = []
        self._anchors: dict[str, Node] = {}
        self._root: Node | None = None
        self._count = 0

    def documents(self, text: str) -> Iterator[Node]:
        for event in self._events(text):
            if isinstance(event, yaml.DocumentStartEvent):
                self._root, self._anchors = None, {}
            elif isinstance(event, yaml.DocumentEndEvent):
                if self._root is not None and self._root.value is not None:
                    yield self._root
            elif isinstance(event, yaml.CollectionStartEvent):
                self._begin(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._end(event)
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event)
            elif isinstance(event, yaml.ScalarEvent):
                self._scalar(event)

    def _events(self, text: str) -> Iterator[yaml.Event]:
        data = text.encode(errors="surrogatepass")
        if len(data) > MAX_BYTES:
            raise _Unreadable(Problem("", f"the file is larger than {MAX_BYTES} bytes"))
        try:
            yield from yaml.parse(data, Loader=_LOADER)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark is not None else None
            message = ", ".join(part for part in (error.context, error.problem) if part)
            raise _Unreadable(Problem(self._here(), f"yaml: {message}", line)) from error
        except yaml.reader.ReaderError as error:
            line = data[: error.position].count(b"\n") + 1
            raise _Unreadable(Problem("", f"yaml: {error.reason}", line)) from error

    def _here(self) -> str:
        path: list[str | int] = []
        for frame in self._open:
            if isinstance(frame.node.value, list):
                path.append(len(frame.node.value))
            elif frame.key is not None:
                path.append(frame.key[0].lstrip("\0"))
        return render(tuple(path))

    def _complain(self, message: str, event: yaml.Event) -> None:
        self.problems.append(Problem(self._here(), message, _line(event)))

    def _refuse(self, message: str, event: yaml.Event) -> _Unreadable:
        return _Unreadable(Problem(self._here(), message, _line(event)))

    def _grow(self, size: int, message: str, event: yaml.Event) -> None:
        self._count += size
        if self._count > MAX_VALUES:
            raise self._refuse(message, event)

    def _begin(self, event: yaml.CollectionStartEvent) -> None:
        self._grow(1, f"the file holds more than {MAX_VALUES} values", event)
        if len(self._open) >= MAX_DEPTH:
            raise self._refuse(f"nested deeper than {MAX_DEPTH} levels", event)
        if event.tag not in _COLLECTION_TAGS:
            self._complain(f"the tag {event.tag} is not allowed here", event)
        empty: Any = [] if isinstance(event, yaml.SequenceStartEvent) else {}
        self._open.append(_Open(Node(empty, _line(event)), event.anchor))

    def _end(self, event: yaml.CollectionEndEvent) -> None:
        frame = self._open.pop()
        self._merge(frame, event)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = frame.node
        self._put(frame.node, event)

    def _alias(self, event: yaml.AliasEvent) -> None:
        node = self._anchors.get(event.anchor or "")
        if node is None:
            inside = any(frame.anchor == event.anchor for frame in self._open)
            says = f"anchor '{event.anchor}' value contains itself"
            raise self._refuse(
                says if inside else f"unknown anchor '{event.anchor}' referenced", event
            )
        self._grow(node.size, "document contains excessive aliasing", event)
        self._put(node, event)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        self._grow(1, f"the file holds more than {MAX_VALUES} values", event)
        value: Any = event.value
        try:
            if event.tag is not None:
                value = resolve_tagged(event.tag, event.value)
            elif event.implicit[0]:
                value = resolve(event.value)
        except ValueError as error:
            self._complain(str(error), event)
        node = Node(value, _line(event), text=event.value)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        self._put(node, event, plain=event.implicit[0])

    def _put(self, node: Node, event: yaml.Event, *, plain: bool = False) -> None:
        """A finished value goes where it belongs: the root, the next item, a key or the value of a key."""
        if not self._open:
            self._root = node
            return
        frame = self._open[-1]
        frame.node.size += node.size
        line = _line(event) if isinstance(event, yaml.AliasEvent) else node.line
        if isinstance(frame.node.value, list):
            frame.node.children[len(frame.node.value)] = (line, node)
            frame.node.value.append(node.value)
        elif frame.key is None:
            self._key(frame, node, event, merge=plain and node.text == "<<")
        else:
            key, key_line = frame.key
            if key == _MERGE:
                frame.merges.append(node)
            elif key not in frame.node.children:
                frame.node.children[key] = (key_line, node)
                frame.node.value[key] = node.value
            frame.key = None

    def _key(self, frame: _Open, node: Node, event: yaml.Event, *, merge: bool) -> None:
        text = _MERGE if merge else node.text
        if text is None:
            self._complain("a key has to be a word, not a list or a mapping", event)
            text = ""
        frame.key = (text, _line(event))
        if text in frame.node.children:
            self._complain(f'key "{text}" already set in map', event)

    def _merge(self, frame: _Open, event: yaml.Event) -> None:
        """``<<`` adds the entries of other mappings; what is written here wins, then what is merged first."""
        for merged in frame.merges:
            sources = [child for _, child in merged.children.values()]
            for source in sources if isinstance(merged.value, list) else [merged]:
                if not isinstance(source.value, dict):
                    self._complain("map merge requires map or sequence of maps as the value", event)
                    continue
                for key, child in source.children.items():
                    if key not in frame.node.children:
                        frame.node.children[key] = child
                        frame.node.value[key] = child[1].value


#: Stands for a plain ``<<``; no YAML text can hold this character.
_MERGE: Final = "\0<<"


def _line(event: yaml.Event) -> int:
    return int(event.start_mark.line) + 1 if event.start_mark is not None else 0
