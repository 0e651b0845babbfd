"""A package with a plugin, a test, a configuration and something to try it on: what ``bayplan new-plugin`` writes.

The files are in ``template``, with the names as ``$class_name`` and the like. Called by ``cli.new_plugin``.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from typing import Final

from bayplan import __version__
from bayplan.errors import BayplanError

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
#: A template's name ends so, lest tools take it for a source file of ours.
_SUFFIX: Final = ".txt"


@dataclass(frozen=True, slots=True)
class Names:
    """One name in the spellings that are needed."""

    #: ``RackPower``: the plugin, as profiles write it.
    class_name: str
    #: ``rack_power``: the package.
    module: str
    #: ``rack-power``: the folder and the distribution.
    project: str


def names_of(text: str) -> Names:
    """``RackPower``, ``rack-power`` and ``rack_power`` all mean the same.

    Raises:
        BayplanError: where no class can be called so.
    """
    words = _WORDS.findall(text) if _NAME.fullmatch(text) else []
    if not words:
        raise BayplanError(
            f"{text!r} is no name for a plugin: use letters and digits, as in RackPower"
        )
    lower = [word.lower() for word in words]
    module = "_".join(lower)
    if keyword.iskeyword(module) or module == "bayplan":
        raise BayplanError(f"{text!r} is no name for a plugin: a package cannot be called {module}")
    class_name = text if text[0].isupper() and text.isalnum() else "".join(w.title() for w in lower)
    return Names(class_name, module, "-".join(lower))


def write(names: Names, parent: Path) -> list[Path]:
    """Write the package into a new folder of ``parent``; the files written.

    Raises:
        FileExistsError: where there is something already.
    """
    folder = parent / names.project
    folder.mkdir(parents=True)
    values = {
        "class_name": names.class_name,
        "module": names.module,
        "project": names.project,
        "version": __version__,
    }
    written = []
    for relative, template in _templates(files("bayplan.kit") / "template"):
        path = folder / relative.replace("MODULE", names.module).removesuffix(_SUFFIX)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Template(template).substitute(values), encoding="utf-8")
        written.append(path)
    return written


def _templates(place: Traversable, prefix: str = "") -> list[tuple[str, str]]:
    found = []
    for entry in sorted(place.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            found += _templates(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(_SUFFIX):
            found.append((f"{prefix}{entry.name}", entry.read_text(encoding="utf-8")))
    return found
