"""Modules of plugin files: found in their directory, compiled from the text that is there now, one set per generation.

A running scheduler loads plugin files again when they change. The new classes live beside the old ones, in modules of their
own: a pod that waits at Permit keeps the code that reserved for it. Nothing is taken from ``__pycache__``, whose second-old
times could pass an old text off as the new one.

Used by ``framework.registry`` alone.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import sysconfig
import types
from collections.abc import Sequence
from hashlib import sha256
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any, Final, NoReturn

_PREFIX: Final = "bayplan_plugin_dir_"


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles the file every time."""

    def path_stats(self, path: Any) -> NoReturn:
        # Without times the import system neither reads nor writes bytecode.
        raise OSError(f"{path}: no bytecode is kept")


class _Finder(MetaPathFinder):
    """Finds the files of a plugin directory, and those of packages in it."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(_PREFIX) or not path:
            return None
        name = fullname.rpartition(".")[2]
        for folder in map(Path, path):
            package, file = folder / name / "__init__.py", folder / f"{name}.py"
            if package.is_file():
                return _spec(fullname, package, [str(package.parent)])
            if file.is_file():
                return _spec(fullname, file)
        return None


_FINDER: Final = _Finder()


def package_of(directory: Path, generation: int) -> str:
    """The name of an empty package that stands for the directory, so that its files can import each other."""
    resolved = str(directory.resolve())
    number = sha256(resolved.encode()).hexdigest()[:12]
    name = f"{_PREFIX}{number}" + (f"_g{generation}" if generation > 1 else "")
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    if name not in sys.modules:
        module = types.ModuleType(name)
        module.__path__ = [resolved]
        sys.modules[name] = module
    return name


def file_of(module_name: str) -> Path | None:
    """The file of a module that is the user's own to edit: not bayplan's, not installed, not Python's."""
    if module_name.partition(".")[0] == "bayplan":
        return None
    try:
        spec = importlib.util.find_spec(module_name)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.has_location or not (spec.origin or "").endswith(".py"):
        return None
    path = Path(spec.origin or "")
    kept = {sysconfig.get_path(kind) for kind in ("purelib", "platlib", "stdlib")}
    return None if any(path.is_relative_to(folder) for folder in kept) else path


def load_again(module_name: str, path: Path, generation: int) -> types.ModuleType:
    """The module of a file, compiled from what the file says now and kept apart from earlier ones.

    What it imports is not loaded again.
    """
    name = f"{module_name}__g{generation}"
    if name in sys.modules:
        return sys.modules[name]
    spec = _spec(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def drop(names: Sequence[str], generation: int) -> None:
    """Forget the modules of a generation: its packages by name, and whatever was loaded again for it."""
    if generation == 1:
        return
    end = f"__g{generation}"
    for name in list(sys.modules):
        if name.endswith(end) or name in names or name.partition(".")[0] in names:
            del sys.modules[name]


def _spec(
    name: str, path: Path, inside: list[str] | None = None
) -> importlib.machinery.ModuleSpec | None:
    return importlib.util.spec_from_file_location(
        name, path, loader=_Loader(name, str(path)), submodule_search_locations=inside
    )
