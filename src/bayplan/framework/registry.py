"""Where plugins are found: by name among those known, by ``module:Class``, by entry point, or in a plugin directory.

Filled by ``app`` and by ``config.load`` (which adds what a file names); read by the configuration and by the profile,
which turn names into plugins. What cannot be loaded is a ``ConfigError``: it is a file's or a package's mistake.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final

from bayplan.errors import ConfigError, Problem
from bayplan.framework.plugin import Plugin
from bayplan.framework.plugin_files import drop, file_of, load_again, package_of

#: Under this name packages publish plugins: the key is the plugin's name, the value is ``module:Class``.
ENTRY_POINTS: Final = "bayplan.plugins"


class Registry:
    """Plugin classes by name."""

    def __init__(self, plugins: Iterable[type[Plugin]] = (), *, generation: int = 1) -> None:
        """``generation``: plugin files are loaded once in each."""
        self.generation = generation
        #: Directories and single files whose text the plugins came from.
        self.directories: list[Path] = []
        self.files: list[Path] = []
        self._classes: dict[str, type[Plugin]] = {}
        #: Published by packages and not imported yet.
        self._published: dict[str, EntryPoint] = {}
        #: References that a plugin of the same name takes the place of.
        self._offered: dict[str, str] = {}
        #: Packages that stand for plugin directories.
        self._directories: list[str] = []
        for plugin in plugins:
            self.add(plugin)

    def add(self, plugin: type[Plugin]) -> None:
        """Make a plugin known; a second class of the same name is refused."""
        known = self._classes.get(plugin.name)
        if plugin.name in self._published or (known is not None and known is not plugin):
            raise ValueError(f"a plugin named {plugin.name} already exists")
        self._classes[plugin.name] = plugin

    def offer(self, name: str, reference: str) -> None:
        """Make a plugin known by ``module:Class``, imported when it is first asked for.

        Anybody's plugin of the same name takes its place. A class of another name goes by this one too.
        """
        self._offered[name] = reference

    def get(self, name: str) -> type[Plugin] | None:
        """The class of that name, or None. Imports it where it comes from an entry point."""
        if name in self._published:
            entry = self._published[name]
            plugin = self._plugin(f"entry point {name} ({entry.value})", entry.value)
            if plugin.name != name:
                raise _error(
                    f"entry point {name} ({entry.value}) holds a plugin named {plugin.name}"
                )
            del self._published[name]
            self.add(plugin)
        if name not in self._classes and name in self._offered:
            reference = self._offered[name]
            plugin = self._plugin(reference, reference)
            # Not among the others' classes: one that comes later still takes its place.
            return plugin if plugin.name == name else type(name, (plugin,), {"name": name})
        return self._classes.get(name)

    def __contains__(self, name: str) -> bool:
        return name in self._classes or name in self._published or name in self._offered

    def __iter__(self) -> Iterator[str]:
        return iter({**self._classes, **self._published, **self._offered})

    def load(self, reference: str) -> type[Plugin]:
        """The plugin that ``module:Class`` names, known by its own name from now on."""
        plugin = self._plugin(reference, reference)
        try:
            self.add(plugin)
        except ValueError as error:
            raise _error(f"cannot use {reference}: {error}") from error
        return plugin

    def add_entry_points(self, found: Iterable[EntryPoint] | None = None) -> None:
        """Make known what installed packages publish; each is imported when it is first asked for."""
        for entry in entry_points(group=ENTRY_POINTS) if found is None else found:
            if entry.name in self._classes or entry.name in self._published:
                raise _error(
                    f"entry point {entry.name} ({entry.value}): "
                    f"a plugin named {entry.name} already exists"
                )
            self._published[entry.name] = entry

    def add_directory(self, directory: Path) -> list[type[Plugin]]:
        """Make known the plugins in the directory's ``*.py`` files; all that fail are named in one error.

        A file that begins with an underscore holds no plugins, but others may import it (``from . import _prices``).
        """
        if not directory.is_dir():
            raise _error(f"{directory} is not a directory")
        self.directories.append(directory)
        package = package_of(directory, self.generation)
        if package not in self._directories:
            self._directories.append(package)
        plugins: list[type[Plugin]] = []
        problems: list[Problem] = []
        for path in sorted(directory.glob("*.py")):
            if path.name.startswith((".", "_")):
                continue
            try:
                plugins += self.add_file(path)
            except ConfigError as error:
                problems += error.problems
        if problems:
            raise ConfigError(problems)
        return plugins

    def add_file(self, path: Path) -> list[type[Plugin]]:
        """Make known the plugins of one file; files beside it may be imported by it."""
        try:
            found = _plugins_in(_import(f"{package_of(path.parent, self.generation)}.{path.stem}"))
            for plugin in found:
                self.add(plugin)
        except ConfigError as error:
            raise ConfigError(
                [Problem("", f"{path}: {problem.message}") for problem in error.problems]
            ) from error
        except ValueError as error:
            raise _error(f"{path}: {error}") from error
        return found

    def load_object(self, reference: str) -> Any:
        """What ``module:name`` names; the module may be a file of a plugin directory."""
        module_name, _, name = reference.partition(":")
        found: Any = None
        for package in self._directories:
            directory = Path(sys.modules[package].__path__[0])
            if (directory / f"{module_name}.py").is_file():
                found = _import(f"{package}.{module_name}")
                break
        else:
            found = self._module(module_name)
        for part in name.split("."):
            try:
                found = getattr(found, part)
            except AttributeError as error:
                raise _error(f"cannot load {reference}: {error}") from error
        return found

    def _module(self, name: str) -> types.ModuleType:
        """A module that is on Python's path; a file of the user's own is loaded once in each generation."""
        file = file_of(name)
        if file is None:
            return _import(name)
        self.files.append(file)
        if self.generation == 1:
            return _import(name)
        try:
            return load_again(name, file, self.generation)
        except (Exception, SystemExit) as error:
            raise _error(f"cannot import {name}: {_describe(error)}") from error

    def drop(self) -> None:
        """Forget the modules of this generation: nobody will make instances of its classes any more."""
        drop(self._directories, self.generation)

    def _plugin(self, label: str, reference: str) -> type[Plugin]:
        found = self.load_object(reference)
        if not (isinstance(found, type) and issubclass(found, Plugin)):
            raise _error(f"{label} is not a plugin class")
        return found


def _error(message: str) -> ConfigError:
    return ConfigError([Problem("", message)])


def _import(name: str) -> types.ModuleType:
    importlib.invalidate_caches()  # a file may be newer than the last look into its directory
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # a file that wants the process to end is refused, too
        raise _error(f"cannot import {name.rpartition('.')[2]}: {_describe(error)}") from error


def _describe(error: BaseException) -> str:
    """What went wrong and, in the user's own file, where."""
    text = f"{type(error).__name__}: {error}"
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or "importlib" in trace.tb_frame.f_code.co_filename:
        return text
    return f"{text} (line {trace.tb_lineno} of {trace.tb_frame.f_code.co_filename})"


def _plugins_in(module: types.ModuleType) -> list[type[Plugin]]:
    """Plugin classes that the module itself defines, not those it imports or keeps to itself."""
    return [
        value
        for name, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, Plugin)
        and value.__module__ == module.__name__
        and not name.startswith("_")
        and value.points()
    ]
