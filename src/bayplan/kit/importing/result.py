"""A file from elsewhere, imported: what it was, what it is now, and what bayplan itself says of that.

Called by ``cli.import_config``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import yaml

from bayplan.errors import ConfigError, Problem
from bayplan.framework.config import load_config_objects, own, types
from bayplan.framework.config.document import read_documents
from bayplan.framework.config.legacy import LEGACY_VERSIONS
from bayplan.kit.importing.draft import Draft, Row, Verdict
from bayplan.kit.importing.profiles import import_profiles
from bayplan.kit.importing.shapes import mapping, sequence
from bayplan.kit.importing.volcano import import_volcano, is_volcano

if TYPE_CHECKING:
    from bayplan.framework.registry import Registry

_WANTED: Final = (
    "it is neither a KubeSchedulerConfiguration (kube-scheduler, scheduler-plugins) nor a volcano-scheduler.conf "
    "(actions, tiers), nor a ConfigMap that holds one"
)


@dataclass(frozen=True, slots=True)
class Imported:
    """The configuration as ours."""

    #: Whose it was.
    source: str
    documents: list[dict[str, Any]]
    rows: tuple[Row, ...]

    @property
    def text(self) -> str:
        """The file to write."""
        return "---\n".join(
            yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
            for document in self.documents
        )

    @property
    def is_whole(self) -> bool:
        """Whether nothing was lost."""
        return all(row.verdict is not Verdict.NONE for row in self.rows)


def import_config(text: str, registry: Registry, source: str = "") -> Imported:
    """What a file comes to.

    Raises:
        ConfigError: where it is no configuration, or what comes of it cannot be loaded.
    """
    nodes, problems = read_documents(text)
    if problems:
        raise ConfigError(problems, source)
    draft, whose = Draft(), ""
    for content in _contents([node.value for node in nodes]):
        if content.get("kind") == own.KIND:
            sequence(content.get("providers"), "providers")
            draft.own = dict(content)
        elif whose:
            continue
        elif is_volcano(content):
            import_volcano(content, draft)
            whose = "Volcano"
        elif content.get("kind") == types.KIND:
            import_profiles(content, draft, registry)
            whose = "kube-scheduler"
    if not whose:
        raise ConfigError([Problem("", _WANTED)], source)
    warnings = load_config_objects(draft.documents, registry, source=source).warnings
    if draft.written_for in LEGACY_VERSIONS:
        # What its own release did otherwise is told where it is read as what it was.
        old = [{**draft.scheduler, "apiVersion": draft.written_for}, *draft.documents[1:]]
        warnings = load_config_objects(old, registry, source=source).warnings
    for warning in warnings:
        draft.say(Verdict.CHANGED, warning.partition(": ")[0], "", warning.partition(": ")[2])
    return Imported(whose, draft.documents, tuple(draft.rows))


def _contents(documents: list[Any]) -> Iterator[Mapping[str, Any]]:
    """The documents, and those that ConfigMaps among them hold."""
    for document in documents:
        if not isinstance(document, Mapping):
            continue
        yield document
        if document.get("kind") == "ConfigMap":
            for inner in mapping(document.get("data"), "data").values():
                nodes, _ = read_documents(str(inner))
                yield from _contents([node.value for node in nodes])
        if document.get("kind") == "List":
            yield from _contents(sequence(document.get("items"), "items"))
