"""The custom resources that bayplan ships in deploy/crds, and the form in which older manifests write a PodGroup.

A cluster of this package has them from the start; an API without ``install`` is one where nobody has applied them. The
older form, ``scheduling.k8s.io/v1alpha1``, is in a group that kube-apiserver keeps for itself, so it can be served here
alone: as another name of the same objects.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from bayplan.embedded.customs import SHELF, kinds_of

if TYPE_CHECKING:
    from bayplan.embedded.kinds import Kind
    from bayplan.embedded.store import Store

POD_GROUPS: Final = "podgroups.scheduling.x-k8s.io"

_FORMER_GROUP: Final = "scheduling.k8s.io"


def definition_files() -> Path:
    """The folder of the definitions: beside the package if it is installed, else in the checkout."""
    installed = Path(__file__).parents[1] / "deploy" / "crds"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "deploy" / "crds"


def definitions() -> list[dict[str, Any]]:
    """All of them."""
    texts = [file.read_text(encoding="utf-8") for file in sorted(definition_files().glob("*.yaml"))]
    return [document for text in texts for document in yaml.safe_load_all(text) if document]


def install(store: Store) -> None:
    """Define what is not defined yet, and serve PodGroups under their former name too."""
    for definition in definitions():
        name = definition["metadata"]["name"]
        if not store.find(SHELF, name):
            store.create(SHELF, definition)
        if name == POD_GROUPS:
            for kind in kinds_of(definition):
                store.kinds.add(_former(kind))


def _former(kind: Kind) -> Kind:
    return replace(kind, group=_FORMER_GROUP, short_names=(), storage=kind.shelf)
